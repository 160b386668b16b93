/* Ends while an operation is under way: by "abort", by "exit" (without MPI_Finalize), else by MPI_Finalize, after two children: one that
 * ends at once, and one that runs another program. With "where" it first prints the CPUs of the progress thread. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kilter_progress.h"

static void pause_ms(long ms) {
    const struct timespec moment = {0, ms * 1000000};
    nanosleep(&moment, NULL);
}

/* Waits until the thread, if there is one, has made two probes, and a little longer. */
static void let_it_begin(void) {
    int (*get)(struct kilter_progress_counts *) = (int (*)(struct kilter_progress_counts *))dlsym(RTLD_DEFAULT, "kilter_progress_counts");
    struct kilter_progress_counts counts;
    for (int i = 0; i < 5000 && get && get(&counts) == 0 && counts.probes < 2; i++) {
        pause_ms(1);
    }
    pause_ms(50);
}

/* Reads a file in /proc about a thread of this process and gives the rest of the line that begins with `begin`; empty if there is none. */
static void about_thread(const char *thread, const char *file, const char *begin, char *line, int size) {
    char path[300];
    snprintf(path, sizeof path, "/proc/self/task/%s/%s", thread, file);
    FILE *stream = fopen(path, "r");
    while (stream && fgets(line, size, stream)) {
        if (strncmp(line, begin, strlen(begin)) == 0) {
            line[strcspn(line, "\n")] = 0;
            memmove(line, line + strlen(begin), strlen(line + strlen(begin)) + 1);
            fclose(stream);
            return;
        }
    }
    line[0] = 0;
    if (stream) {
        fclose(stream);
    }
}

/* Prints the CPUs that the progress thread may run on. */
static void print_cpus(void) {
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *entry; threads && (entry = readdir(threads));) {
        char line[400];
        about_thread(entry->d_name, "comm", "", line, sizeof line);
        if (strcmp(line, "kilter-progress") == 0) {
            about_thread(entry->d_name, "status", "Cpus_allowed_list:\t", line, sizeof line);
            printf("CPUS %s\n", line);
        }
    }
    if (threads) {
        closedir(threads);
    }
}

int main(int argc, char **argv) {
    const char *ending = argc > 1 ? argv[1] : "";
    int value = 0;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Recv_init(&value, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &request);
    MPI_Start(&request);
    let_it_begin();
    if (strcmp(ending, "where") == 0) {
        print_cpus();
    }
    if (strcmp(ending, "abort") == 0) {
        MPI_Abort(MPI_COMM_WORLD, 7);
    }
    if (strcmp(ending, "exit") == 0) {
        exit(5);
    }
    for (int runs = 0; runs < 2; runs++) {
        const pid_t child = fork();
        int status = -1;
        if (child == 0) {
            if (runs) {
                execlp("true", "true", (char *)NULL);
            }
            exit(0);
        }
        waitpid(child, &status, 0);
        printf("CHILD %d\n", status);
    }
    /* The operation is left to MPI_Finalize. */
    MPI_Finalize();
    printf("OK\n");
    return 0;
}
