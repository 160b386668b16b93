# Written by scripts/package: change what it is written from, not this.
#
# spack repo add .../configs/packaging/spack_repo/kilter, then spack install kilter ^openmpi in the directory of the tarball.

import os

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class Kilter(Package):
    """Verifies and tunes the performance guidelines of MPI libraries."""

    # `scripts/package` makes it.
    manual_download = True
    url = f"file://{os.getcwd()}/kilter-0.1.0.tar.gz"

    license("MIT OR Apache-2.0")

    version("0.1.0")

    depends_on("c", type="build")
    depends_on("llvm+clang", type="build")
    depends_on("pkgconf", type="build")
    depends_on("python", type="build")
    depends_on("rust@1.89:", type="build")
    depends_on("mpi")

    def setup_build_environment(self, env):
        env.set("MPICC", self.spec["mpi"].mpicc)
        env.set("LIBCLANG_PATH", self.spec["llvm"].prefix.lib)
        env.set("CARGO_HOME", join_path(self.stage.path, "cargo-home"))

    def install(self, spec, prefix):
        Executable("scripts/build")("--offline", "--locked")
        Executable("scripts/install")("--prefix", prefix)
