/* Polls of known numbers at one place for each function, where they ask for several things in turn: requests, communicators, something that is not there,
 * nothing at all. With an argument two threads poll at the same time. MPI_Testall and MPI_Testsome are called as often as MPI_Testany, and MPI_Improbe as
 * MPI_Iprobe where that does not fail. Prints how often each function was called, and "OK". */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { MANY = 3000 };
enum { TEST, TESTANY, WORLD, OWN, LONELY, TWIN, FAILED, KINDS };

static MPI_Request never[2];
static int message[2];
static _Thread_local long calls[KINDS], requests[KINDS];

static int count(int kind, int asked, int flag) {
    calls[kind]++;
    requests[kind] += asked;
    return flag;
}

/* Not put into their callers: all polls of a function come from one place. */
__attribute__((noinline)) static int test(MPI_Request *request) {
    int flag;
    MPI_Test(request, &flag, MPI_STATUS_IGNORE);
    return flag;
}

/* A bit for each function that found something. */
__attribute__((noinline)) static int tests(int asked, MPI_Request *list) {
    int index, indices[2], any, all, some;
    MPI_Testany(asked, list, &index, &any, MPI_STATUS_IGNORE);
    MPI_Testall(asked, list, &all, MPI_STATUSES_IGNORE);
    MPI_Testsome(asked, list, &some, indices, MPI_STATUSES_IGNORE);
    return any | all << 1 | (some != 0) << 2;
}

__attribute__((noinline)) static int probe(int from, MPI_Comm comm) {
    int flag = 0;
    return MPI_Iprobe(from, 99, comm, &flag, MPI_STATUS_IGNORE) ? -1 : flag;
}

__attribute__((noinline)) static int improbe(int from, MPI_Comm comm) {
    int flag = 0;
    MPI_Message found;
    return MPI_Improbe(from, 99, comm, &flag, &found, MPI_STATUS_IGNORE) ? -1 : flag;
}

/* Polls that find nothing. */
static int polls(int number, int asked, int kind, MPI_Comm comm) {
    int found = 0;
    for (int i = 0; i < number; i++) {
        found |= count(TEST, 1, test(&never[i % 2]));
        found |= count(TESTANY, asked, tests(asked, never));
        found |= count(kind, 0, probe(MPI_ANY_SOURCE, comm)) | improbe(MPI_ANY_SOURCE, comm);
    }
    return found;
}

/* The library calls it within a test, so that its poll is not counted. */
static int query(void *state, MPI_Status *status) {
    (void)state;
    test(&never[0]);
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}
static int release(void *state) {
    (void)state;
    return MPI_SUCCESS;
}
static int cancel(void *state, int complete) {
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

static MPI_Request complete(void) {
    MPI_Request request;
    MPI_Grequest_start(query, release, cancel, NULL, &request);
    MPI_Grequest_complete(request);
    return request;
}

/* Polls between which something is found, is no operation, fails, or is not counted. */
static int alone(int rank) {
    int wrong = polls(MANY, 2, WORLD, MPI_COMM_WORLD) | polls(MANY, 1, OWN, MPI_COMM_SELF);
    for (int i = 0; i < 20; i++) {
        wrong |= polls(300, 1 + i % 2, i % 2 ? OWN : WORLD, i % 2 ? MPI_COMM_SELF : MPI_COMM_WORLD);
        MPI_Request request = complete(), none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, one[2] = {never[0], complete()};
        wrong |= !count(TEST, 1, test(&request));
        wrong |= request != MPI_REQUEST_NULL || !count(TEST, 1, test(&request));
        /* The first function takes what is complete. */
        wrong |= count(TESTANY, 2, tests(2, one)) != 1 || count(TESTANY, 2, tests(2, none)) != 7;
        wrong |= count(FAILED, 0, probe(99, MPI_COMM_WORLD)) != -1;
        MPI_Pcontrol(0);
        wrong |= test(&never[0]) | tests(1, never) | probe(MPI_ANY_SOURCE, MPI_COMM_SELF) | improbe(MPI_ANY_SOURCE, MPI_COMM_SELF);
        MPI_Pcontrol(1);
    }
    /* The second one may get the handle of the first. */
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &comm);
    wrong |= polls(MANY, 1, LONELY, comm);
    MPI_Comm_free(&comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    wrong |= polls(MANY, 1, TWIN, comm);
    MPI_Comm_free(&comm);
    return wrong;
}

static long threads_calls[2][KINDS], threads_requests[2][KINDS];

static void *beside(void *argument) {
    const int thread = (int)(intptr_t)argument;
    const int wrong = polls(MANY, 1 + thread, thread ? OWN : WORLD, thread ? MPI_COMM_SELF : MPI_COMM_WORLD);
    for (int kind = 0; kind < KINDS; kind++) {
        threads_calls[thread][kind] = calls[kind];
        threads_requests[thread][kind] = requests[kind];
    }
    return (void *)(intptr_t)wrong;
}

int main(int argc, char **argv) {
    int rank, provided, wrong = 0;
    MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 2; i++) MPI_Irecv(&message[i], 1, MPI_INT, 0, 7, MPI_COMM_SELF, &never[i]);
    if (argc == 1) {
        wrong = alone(rank);
    } else if (provided < MPI_THREAD_MULTIPLE) {
        if (rank == 0) puts("NO THREADS");
    } else {
        pthread_t threads[2];
        for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, beside, (void *)(intptr_t)i);
        for (int i = 0; i < 2; i++) {
            void *found;
            pthread_join(threads[i], &found);
            wrong |= found != NULL;
            for (int kind = 0; kind < KINDS; kind++) {
                calls[kind] += threads_calls[i][kind];
                requests[kind] += threads_requests[i][kind];
            }
        }
    }
    MPI_Pcontrol(0);
    for (int i = 0; i < 2; i++) MPI_Cancel(&never[i]);
    MPI_Waitall(2, never, MPI_STATUSES_IGNORE);
    long all_calls[KINDS], all_requests[KINDS];
    MPI_Reduce(calls, all_calls, KINDS, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(requests, all_requests, KINDS, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    if (rank == 0) {
        for (int kind = 0; kind < KINDS; kind++) printf("%ld %ld\n", all_calls[kind], all_requests[kind]);
        puts(wrong ? "WRONG" : "OK");
    }
    MPI_Finalize();
    return 0;
}
