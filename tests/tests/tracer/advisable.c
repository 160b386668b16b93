/* A program with everything that `kilter advise` has advice on in a trace, each in a function of its name. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <time.h>

enum { COUNT = 16, MOST_RANKS = 64, TAG = 7, NEVER_SENT = 8 };

static int rank, size;
static MPI_Comm comm;
static double own[COUNT], all[COUNT * MOST_RANKS], result[COUNT * MOST_RANKS];

static double begin;

/* Half a second, and as long as the run so far: on a busy machine ranks wait long elsewhere, too, and the longest wait is the place that is named. */
static void late(void) {
  const double run = MPI_Wtime() - begin, seconds = run > 0.5 ? run : 0.5;
  struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&time, NULL);
}

/* `to` knows from then on that this rank waits for it: ranks need not run at the same time. */
static void comes(int to) { MPI_Send(NULL, 0, MPI_INT, to, TAG, comm); }
static void wait_for(int from) { MPI_Recv(NULL, 0, MPI_INT, from, TAG, comm, MPI_STATUS_IGNORE); }

static void late_sender(void) {
  if (rank == 0) {
    wait_for(1);
    late();
    MPI_Send(own, COUNT, MPI_DOUBLE, 1, TAG, comm);
  }
  if (rank == 1) {
    comes(0);
    MPI_Recv(own, COUNT, MPI_DOUBLE, 0, TAG, comm, MPI_STATUS_IGNORE);
  }
}

static void late_receiver(void) {
  if (rank == 2) {
    comes(3);
    MPI_Ssend(own, COUNT, MPI_DOUBLE, 3, TAG, comm);
  }
  if (rank == 3) {
    wait_for(2);
    late();
    MPI_Recv(own, COUNT, MPI_DOUBLE, 2, TAG, comm, MPI_STATUS_IGNORE);
  }
}

static void joinable(void) {
  for (int number = 0; number < 2000; number++) {
    if (rank == 0) MPI_Send(&own[number % COUNT], 1, MPI_DOUBLE, 1, TAG, comm);
  }
  for (int number = 0; number < 2000; number++) {
    if (rank == 1) MPI_Recv(own, 1, MPI_DOUBLE, 0, TAG, comm, MPI_STATUS_IGNORE);
  }
}

static void bcasts_in_turn(void) {
  for (int root = 0; root < size; root++) MPI_Bcast(&all[root * COUNT], COUNT, MPI_DOUBLE, root, comm);
}

static void gathers_in_turn(void) {
  for (int root = 0; root < size; root++) MPI_Gather(&all[root * COUNT], COUNT, MPI_DOUBLE, result, COUNT, MPI_DOUBLE, root, comm);
}

static void reduces_in_turn(void) {
  for (int root = 0; root < size; root++) MPI_Reduce(&all[root * COUNT], result, COUNT, MPI_DOUBLE, MPI_SUM, root, comm);
}

static void reduce_then_bcast(void) {
  MPI_Reduce(own, result, COUNT, MPI_DOUBLE, MPI_SUM, 0, comm);
  MPI_Bcast(result, COUNT, MPI_DOUBLE, 0, comm);
}

static void gather_then_bcast(void) {
  MPI_Gather(own, COUNT, MPI_DOUBLE, all, COUNT, MPI_DOUBLE, 1, comm);
  MPI_Bcast(all, size * COUNT, MPI_DOUBLE, 1, comm);
}

static void reduce_then_scatter(void) {
  MPI_Reduce(all, result, size * COUNT, MPI_DOUBLE, MPI_SUM, 0, comm);
  MPI_Scatter(result, COUNT, MPI_DOUBLE, own, COUNT, MPI_DOUBLE, 0, comm);
}

static void barriers(void) {
  for (int number = 0; number < 20; number++) {
    MPI_Barrier(comm);
    MPI_Allreduce(own, result, COUNT, MPI_DOUBLE, MPI_SUM, comm);
  }
}

static void polls(void) {
  for (int number = 0, found = 0; number < 20000; number++) {
    if (rank == 0) MPI_Iprobe(1, NEVER_SENT, comm, &found, MPI_STATUS_IGNORE);
  }
}

static void wild_cards(void) {
  for (int number = 0; number < 200; number++) {
    if (rank == 3) MPI_Send(own, 1, MPI_DOUBLE, 2, TAG, comm);
    if (rank == 2) MPI_Recv(own, 1, MPI_DOUBLE, MPI_ANY_SOURCE, TAG, comm, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  comm = MPI_COMM_WORLD;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (size < 4 || size > MOST_RANKS) MPI_Abort(comm, 1);
  begin = MPI_Wtime();
  void (*parts[])(void) = {joinable, bcasts_in_turn, gathers_in_turn, reduces_in_turn,
                           reduce_then_bcast, gather_then_bcast, reduce_then_scatter, barriers, polls, wild_cards, late_sender, late_receiver};
  for (unsigned part = 0; part < sizeof parts / sizeof *parts; part++) {
    parts[part]();
    /* So that nothing follows what the part before did. */
    MPI_Scan(own, result, 1, MPI_DOUBLE, MPI_SUM, comm);
  }
  MPI_Finalize();
  return 0;
}
