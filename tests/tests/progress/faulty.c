/* A library that is preloaded behind libkilter_progress.so and fails as the variable FAULT says: "test" (an error in the thread's
 * third probe), "level" (no MPI_THREAD_MULTIPLE). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_t program;

__attribute__((constructor)) static void begin(void) { program = pthread_self(); }

static int fails(const char *how) {
    const char *fault = getenv("FAULT");
    return fault && strcmp(fault, how) == 0;
}

int PMPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    static int probes;
    if (!pthread_equal(pthread_self(), program) && ++probes > 2) {
        if (fails("test")) {
            return MPI_ERR_OTHER;
        }
    }
    int (*test)(MPI_Request *, int *, MPI_Status *) = dlsym(RTLD_NEXT, "PMPI_Test");
    return test(request, flag, status);
}

int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    int (*init)(int *, char ***, int, int *) = dlsym(RTLD_NEXT, "PMPI_Init_thread");
    const int code = init(argc, argv, required, provided);
    if (fails("level")) {
        *provided = MPI_THREAD_SERIALIZED;
    }
    return code;
}
