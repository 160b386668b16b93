/* Functions of libkilter_progress.so that a running program may call. The program need not be linked to the library: it finds both
 * functions with dlsym(RTLD_DEFAULT, "kilter_progress_enable"), which returns NULL if the library is not preloaded. */
#ifndef KILTER_PROGRESS_H
#define KILTER_PROGRESS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Lets the thread make progress (on != 0) or holds it back (on == 0), as MPI_Pcontrol(1) and MPI_Pcontrol(0) do. Returns the
 * state before, 1 or 0, or -1 if no thread runs. */
int kilter_progress_enable(int on);

/* Counts of this process since MPI_Init. */
struct kilter_progress_counts {
    unsigned long long begun;          /* non-blocking operations begun */
    unsigned long long outstanding;    /* those of them that no call has completed yet */
    unsigned long long wakeups;        /* times the thread was woken from sleep */
    unsigned long long probes;         /* calls with which it made progress */
    unsigned long long active_us;      /* microseconds awake, up to the last time it fell asleep */
    unsigned long long cpu_us;         /* microseconds of processor time, up to the last time it fell asleep */
};

/* Fills counts and returns 0. Returns -1 if no thread runs or has run. */
int kilter_progress_counts(struct kilter_progress_counts *counts);

#ifdef __cplusplus
}
#endif

#endif
