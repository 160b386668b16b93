/* Buffers that the CPU cannot touch, at addresses that a stand-in of a GPU's runtime claims.
 *
 * With RUNTIME: the runtime. With AWARE: an object preloaded behind the drop-in that makes the library
 * accept such buffers, as builds for GPUs do. Otherwise the program: argv[1] is the runtime, which rank 1 alone loads; without it no call has such a
 * buffer. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#define BEGIN ((char *)0x5a0000000000)
#define BYTES 4096

#if defined(RUNTIME)

/* CUDA_SUCCESS with CU_MEMORYTYPE_DEVICE, or CUDA_ERROR_INVALID_VALUE. */
int cuPointerGetAttribute(void *data, int attribute, uint64_t address)
{
    const uint64_t begin = (uint64_t)(uintptr_t)BEGIN;
    if (attribute != 2 || address < begin || address >= begin + BYTES)
        return 1;
    *(unsigned int *)data = 2;
    return 0;
}

#elif defined(AWARE)

#include <mpi.h>

typedef int allreduce(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

int PMPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    allreduce *next = (allreduce *)dlsym(RTLD_NEXT, "PMPI_Allreduce");
    const int device = (const char *)send >= BEGIN && (const char *)send < BEGIN + BYTES;
    if (device)
        mprotect(BEGIN, BYTES, PROT_READ | PROT_WRITE);
    int code = next(send, recv, count, type, op, comm);
    if (device)
        mprotect(BEGIN, BYTES, PROT_NONE);
    return code;
}

#else

#include <mpi.h>

static int wrong;

/* The sum of the ranks' numbers, each rank's from `send`. */
static void sum(const double *send, int size)
{
    double recv[16];
    MPI_Allreduce(send, recv, 16, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 16; i++)
        wrong |= recv[i] != size * (size + 1) / 2.0;
}

int main(int argc, char **argv)
{
    int rank, size;
    double host[16];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double *device = mmap(BEGIN, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    wrong = (char *)device != BEGIN;
    for (int i = 0; i < 16 && !wrong; i++)
        host[i] = device[i] = rank + 1;
    wrong |= mprotect(BEGIN, BYTES, PROT_NONE) != 0;
    if (argc > 1 && rank == 1 && !dlopen(argv[1], RTLD_NOW)) {
        fprintf(stderr, "%s\n", dlerror());
        wrong = 1;
    }
    sum(host, size);
    if (argc > 1)
        sum(rank == 1 ? device : host, size);
    sum(host, size);
    MPI_Reduce(rank ? &wrong : MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_BOR, 0, MPI_COMM_WORLD);
    if (rank == 0)
        puts(wrong ? "WRONG" : "OK");
    MPI_Finalize();
    return wrong;
}

#endif
