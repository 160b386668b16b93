/* Every way to begin an operation and every way to complete it, on two ranks: after each, the counts of libkilter_progress.so must
 * balance. Without the argument "counts" it then checks that the thread probes only while an operation is under way and progress is
 * enabled.
 * Prints "OK". */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kilter_progress.h"

enum { COUNT = 16, MANY = 100, TAG = 5 };
typedef unsigned long long number;

static int (*get)(struct kilter_progress_counts *);
static int rank, peer;
static int out[MANY * COUNT], in[MANY * COUNT];

static void fail(const char *what, number is, number should) {
    fprintf(stderr, "WRONG on rank %d: %s: %llu instead of %llu\n", rank, what, is, should);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static struct kilter_progress_counts counts(void) {
    struct kilter_progress_counts counts;
    if (get(&counts) != 0) {
        fail("counts", 0, 1);
    }
    return counts;
}

static void outstanding(number should, const char *what) {
    const number is = counts().outstanding;
    if (is != should) {
        fail(what, is, should);
    }
}

static void pause_us(long us) {
    const struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

/* Completes n requests, in one of eight ways. */
static void complete(int way, int n, MPI_Request *requests) {
    int flag = 0, index, done, some[MANY + 2];
    for (int left = n; left > 0;) {
        switch (way) {
        case 0:
            MPI_Wait(&requests[--left], MPI_STATUS_IGNORE);
            break;
        case 1:
            MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
            left = 0;
            break;
        case 2:
            MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
            left = index == MPI_UNDEFINED ? 0 : left;
            break;
        case 3:
            MPI_Waitsome(n, requests, &done, some, MPI_STATUSES_IGNORE);
            left = done == MPI_UNDEFINED ? 0 : left;
            break;
        case 4:
            MPI_Test(&requests[left - 1], &flag, MPI_STATUS_IGNORE);
            left -= flag ? 1 : 0;
            break;
        case 5:
            MPI_Testall(n, requests, &flag, MPI_STATUSES_IGNORE);
            left = flag ? 0 : left;
            break;
        case 6:
            MPI_Testany(n, requests, &index, &flag, MPI_STATUS_IGNORE);
            left = flag && index == MPI_UNDEFINED ? 0 : left;
            break;
        default:
            MPI_Testsome(n, requests, &done, some, MPI_STATUSES_IGNORE);
            left = done == MPI_UNDEFINED ? 0 : left;
        }
    }
}

static void point_to_point(int way, MPI_Request idle) {
    for (int kind = 0; kind < 4; kind++) {
        /* A null request and an inactive persistent one are among them. */
        MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, idle, MPI_REQUEST_NULL};
        MPI_Irecv(in, COUNT, MPI_INT, peer, TAG, MPI_COMM_WORLD, &requests[0]);
        outstanding(1, "a receive");
        MPI_Barrier(MPI_COMM_WORLD);
        int (*send[])(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) = {MPI_Isend, MPI_Issend, MPI_Ibsend,
                                                                                             MPI_Irsend};
        send[kind](out, COUNT, MPI_INT, peer, TAG, MPI_COMM_WORLD, &requests[3]);
        outstanding(2, "a send");
        complete(way, 4, requests);
        outstanding(0, "all complete");
        complete(way, 4, requests);
        outstanding(0, "complete already");
    }
}

static void persistent(int way) {
    MPI_Request pair[2];
    MPI_Recv_init(in, COUNT, MPI_INT, peer, TAG, MPI_COMM_WORLD, &pair[0]);
    MPI_Send_init(out, COUNT, MPI_INT, peer, TAG, MPI_COMM_WORLD, &pair[1]);
    outstanding(0, "not started");
    MPI_Start(&pair[0]);
    MPI_Start(&pair[1]);
    outstanding(2, "started");
    complete(way, 2, pair);
    outstanding(0, "not active any more");
    complete(way, 2, pair);
    MPI_Startall(2, pair);
    outstanding(2, "started together");
    /* Freed while active: no call will complete it. */
    MPI_Request_free(&pair[1]);
    outstanding(1, "freed");
    complete(way, 1, pair);
    MPI_Request_free(&pair[0]);
    outstanding(0, "freed when not active");
    MPI_Barrier(MPI_COMM_WORLD);
}

static void collectives(void) {
    const int ones[2] = {1, 1}, offsets[2] = {0, 1}, bytes[2] = {0, sizeof(int)};
    const MPI_Aint at[2] = {0, sizeof(int)};
    const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    const int two = 2, wrap = 1;
    int to[24][4];
    MPI_Comm comm = MPI_COMM_WORLD, ring;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &two, &wrap, 0, &ring);
    MPI_Request r[24];
    int n = 0;
    MPI_Ibarrier(comm, &r[n]), n++;
    MPI_Ibcast(to[n], 1, MPI_INT, 0, comm, &r[n]), n++;
    MPI_Igather(out, 1, MPI_INT, to[n], 1, MPI_INT, 0, comm, &r[n]), n++;
    MPI_Igatherv(out, 1, MPI_INT, to[n], ones, offsets, MPI_INT, 0, comm, &r[n]), n++;
    MPI_Iscatter(out, 1, MPI_INT, to[n], 1, MPI_INT, 0, comm, &r[n]), n++;
    MPI_Iscatterv(out, ones, offsets, MPI_INT, to[n], 1, MPI_INT, 0, comm, &r[n]), n++;
    MPI_Iallgather(out, 1, MPI_INT, to[n], 1, MPI_INT, comm, &r[n]), n++;
    MPI_Iallgatherv(out, 1, MPI_INT, to[n], ones, offsets, MPI_INT, comm, &r[n]), n++;
    MPI_Ialltoall(out, 1, MPI_INT, to[n], 1, MPI_INT, comm, &r[n]), n++;
    MPI_Ialltoallv(out, ones, offsets, MPI_INT, to[n], ones, offsets, MPI_INT, comm, &r[n]), n++;
    MPI_Ialltoallw(out, ones, bytes, types, to[n], ones, bytes, types, comm, &r[n]), n++;
    MPI_Ireduce(out, to[n], 1, MPI_INT, MPI_SUM, 0, comm, &r[n]), n++;
    MPI_Iallreduce(out, to[n], 1, MPI_INT, MPI_SUM, comm, &r[n]), n++;
    MPI_Ireduce_scatter(out, to[n], ones, MPI_INT, MPI_SUM, comm, &r[n]), n++;
    MPI_Ireduce_scatter_block(out, to[n], 1, MPI_INT, MPI_SUM, comm, &r[n]), n++;
    MPI_Iscan(out, to[n], 1, MPI_INT, MPI_SUM, comm, &r[n]), n++;
    MPI_Iexscan(out, to[n], 1, MPI_INT, MPI_SUM, comm, &r[n]), n++;
    MPI_Ineighbor_allgather(out, 1, MPI_INT, to[n], 1, MPI_INT, ring, &r[n]), n++;
    MPI_Ineighbor_allgatherv(out, 1, MPI_INT, to[n], ones, offsets, MPI_INT, ring, &r[n]), n++;
    MPI_Ineighbor_alltoall(out, 1, MPI_INT, to[n], 1, MPI_INT, ring, &r[n]), n++;
    MPI_Ineighbor_alltoallv(out, ones, offsets, MPI_INT, to[n], ones, offsets, MPI_INT, ring, &r[n]), n++;
    MPI_Ineighbor_alltoallw(out, ones, at, types, to[n], ones, at, types, ring, &r[n]), n++;
    outstanding((number)n, "non-blocking collectives");
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
    outstanding(0, "complete collectives");
    MPI_Comm_free(&ring);
}

static void others(void) {
    MPI_Request pair[2], none;
    MPI_Message message;
    MPI_Isend(out, COUNT, MPI_INT, peer, TAG, MPI_COMM_WORLD, &pair[0]);
    MPI_Mprobe(peer, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(in, COUNT, MPI_INT, &message, &pair[1]);
    outstanding(2, "a matched receive");
    MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
    MPI_Isend(out, COUNT, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &pair[0]);
    MPI_Irecv(in, COUNT, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &pair[1]);
    MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
    outstanding(0, "messages to nobody");

    /* Cancelling completes nothing. */
    MPI_Irecv(in, COUNT, MPI_INT, peer, TAG, MPI_COMM_WORLD, &pair[0]);
    MPI_Cancel(&pair[0]);
    outstanding(1, "cancelled");
    MPI_Wait(&pair[0], MPI_STATUS_IGNORE);
    outstanding(0, "cancelled and complete");

    /* Requests that begin uncounted, such as one-sided ones, are not counted on completion either. */
    MPI_Irecv(in, COUNT, MPI_INT, peer, TAG, MPI_COMM_WORLD, &pair[0]);
    int *memory;
    MPI_Win window;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_lock_all(0, window);
    MPI_Rput(&rank, 1, MPI_INT, peer, 0, 1, MPI_INT, window, &none);
    outstanding(1, "a one-sided operation");
    MPI_Wait(&none, MPI_STATUS_IGNORE);
    outstanding(1, "a complete one-sided operation");
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Comm copy;
    MPI_Comm_idup(MPI_COMM_WORLD, &copy, &none);
    MPI_Wait(&none, MPI_STATUS_IGNORE);
    outstanding(1, "a duplicate");
    MPI_Comm_free(&copy);
    MPI_Send(out, COUNT, MPI_INT, peer, TAG, MPI_COMM_WORLD);
    MPI_Wait(&pair[0], MPI_STATUS_IGNORE);
    outstanding(0, "after what is not counted");

    MPI_Request many[2 * MANY];
    for (int way = 0; way < 8; way++) {
        for (int i = 0; i < MANY / 2; i++) {
            MPI_Irecv(&in[i * COUNT], COUNT, MPI_INT, peer, TAG, MPI_COMM_WORLD, &many[2 * i]);
            MPI_Isend(&out[i * COUNT], COUNT, MPI_INT, peer, TAG, MPI_COMM_WORLD, &many[2 * i + 1]);
        }
        outstanding(MANY, "many");
        complete(way, MANY, many);
        outstanding(0, "many complete");
    }
#if MPI_VERSION >= 4
    MPI_Request r[6];
    MPI_Isendrecv(out, 1, MPI_INT, peer, TAG, in, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[0]);
    MPI_Isendrecv_replace(&in[COUNT], 1, MPI_INT, peer, TAG, peer, TAG, MPI_COMM_WORLD, &r[1]);
    MPI_Irecv_c(&in[2 * COUNT], 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[2]);
    MPI_Isend_c(out, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[3]);
    MPI_Iallreduce_c(out, &in[3 * COUNT], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[4]);
    MPI_Allreduce_init(out, &in[4 * COUNT], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r[5]);
    outstanding(5, "operations of MPI 4");
    MPI_Start(&r[5]);
    outstanding(6, "a persistent collective");
    MPI_Waitall(6, r, MPI_STATUSES_IGNORE);
    MPI_Request_free(&r[5]);
    outstanding(0, "complete operations of MPI 4");
#endif
}

/* True if the thread does anything within so many microseconds. */
static int moves(long us) {
    const struct kilter_progress_counts before = counts();
    pause_us(us);
    const struct kilter_progress_counts after = counts();
    return after.probes != before.probes || after.wakeups != before.wakeups;
}

static void comes_to_rest(const char *what) {
    for (int i = 0; moves(30000); i++) {
        if (i == 100) {
            fail(what, 1, 0);
        }
    }
}

static void keeps_moving(const char *what) {
    for (int i = 0; !moves(10000); i++) {
        if (i == 500) {
            fail(what, 0, 1);
        }
    }
}

/* Context switches of the thread, from the kernel. */
static number switches(void) {
    number sum = 0;
    int found = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        char path[300], line[200];
        snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
        FILE *status = fopen(path, "r");
        int is_it = 0;
        while (status && fgets(line, sizeof line, status)) {
            number value;
            is_it |= strcmp(line, "Name:\tkilter-progress\n") == 0;
            if (is_it && (sscanf(line, "voluntary_ctxt_switches: %llu", &value) == 1 ||
                          sscanf(line, "nonvoluntary_ctxt_switches: %llu", &value) == 1)) {
                sum += value;
                found = 1;
            }
        }
        if (status) {
            fclose(status);
        }
    }
    closedir(tasks);
    if (!found) {
        fail("context switches", 0, 1);
    }
    return sum;
}

static void thread(void) {
    int (*enable)(int) = (int (*)(int))dlsym(RTLD_DEFAULT, "kilter_progress_enable");
    comes_to_rest("probes while nothing is under way");
    const number before = switches();
    pause_us(100000);
    if (switches() != before) {
        fail("switches to a thread that has nothing to do", switches(), before);
    }
    MPI_Request request;
    MPI_Irecv(in, COUNT, MPI_INT, peer, TAG, MPI_COMM_WORLD, &request);
    keeps_moving("probes while a receive is under way");
    MPI_Pcontrol(0);
    comes_to_rest("probes after MPI_Pcontrol(0)");
    MPI_Pcontrol(1);
    keeps_moving("probes after MPI_Pcontrol(1)");
    if (enable(0) != 1 || enable(0) != 0) {
        fail("kilter_progress_enable", 1, 0);
    }
    comes_to_rest("probes after kilter_progress_enable(0)");
    enable(1);
    keeps_moving("probes after kilter_progress_enable(1)");
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    comes_to_rest("probes after the receive");
}

int main(int argc, char **argv) {
    int provided, level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Query_thread(&level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = 1 - rank;
    if (provided != MPI_THREAD_FUNNELED || level != MPI_THREAD_FUNNELED) {
        fail("the thread level", (number)provided, MPI_THREAD_FUNNELED);
    }
    get = (int (*)(struct kilter_progress_counts *))dlsym(RTLD_DEFAULT, "kilter_progress_counts");
    if (get == NULL) {
        fail("libkilter_progress.so", 0, 1);
    }
    outstanding(0, "the start");
    MPI_Request idle;
    MPI_Recv_init(in, COUNT, MPI_INT, peer, TAG + 1, MPI_COMM_WORLD, &idle);
    char buffer[8 * (COUNT * sizeof(int) + MPI_BSEND_OVERHEAD)];
    MPI_Buffer_attach(buffer, sizeof buffer);
    for (int way = 0; way < 8; way++) {
        point_to_point(way, idle);
        persistent(way);
    }
    int size;
    void *detached;
    MPI_Buffer_detach(&detached, &size);
    collectives();
    others();
    if (argc < 2 || strcmp(argv[1], "counts") != 0) {
        thread();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("OK\n");
    }
    /* The idle request is left to MPI_Finalize. */
    MPI_Finalize();
    return 0;
}
