"""Recipes for package managers, written from what the repository says of itself.

    packaging.py DIRECTORY            writes them there
    packaging.py DIRECTORY SHA256     the same for a tarball with this checksum
    packaging.py DIRECTORY --check    says which of those there are not what would be written; status 1 then

Version, licence and least release of Rust are those of Cargo.toml, the description is the command's, what is needed is in
configs/packaging/packages.tsv.
"""

import pathlib
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTE = "Written by scripts/package: change what it is written from, not this."

# The generation of EasyBuild's toolchains whose Rust and Clang are named in the table.
TOOLCHAIN = ("gompi", "2025b")

# Needs of the build; libraries of MPI are the site's choice.
BUILD = ["compiler", "libclang", "clang-headers", "pkg-config", "python", "rust"]

SPEC = """\
# {note}
#
#   rpmbuild -bb kilter.spec --define 'mpicc /opt/openmpi/bin/mpicc'      for the library of that compiler; mpicc in PATH without it
%{{!?mpicc: %global mpicc mpicc}}
# Debug information stays in the files: a trace of a worker names lines.
%global debug_package %{{nil}}
# The MPI library is a module's, which no package brings; what jobs load is nobody else's to link.
%global __requires_exclude ^lib(mpi|mpich|open-pal|open-rte)[.]so
%global __provides_exclude_from ^%{{_prefix}}/libexec/kilter/.*$

Name:           kilter
Version:        {version}
Release:        1%{{?dist}}
Summary:        {summary}
License:        {license}
Source0:        kilter-%{{version}}.tar.gz
{requires}
%description
{description}

%prep
%autosetup

%build
MPICC=%{{mpicc}} scripts/build --offline --locked

%install
scripts/install --prefix %{{buildroot}}%{{_prefix}}
# Manual pages are compressed later.
sed -e 's|^|%{{_prefix}}/|' -e '\\|/share/man/|s|$|*|' %{{buildroot}}%{{_prefix}}/share/kilter/installed-files >files

%files -f files
"""

SPACK = """\
# {note}
#
# spack repo add .../configs/packaging/spack_repo/kilter, then spack install kilter ^openmpi in the directory of the tarball.

import os

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class Kilter(Package):
    \"\"\"{description}\"\"\"

    # `scripts/package` makes it.
    manual_download = True
    url = f"file://{{os.getcwd()}}/kilter-{version}.tar.gz"

    license("{license}")

    version("{version}"{checksum})

    depends_on("c", type="build")
{requires}
    depends_on("mpi")

    def setup_build_environment(self, env):
        env.set("MPICC", self.spec["mpi"].mpicc)
        env.set("LIBCLANG_PATH", self.spec["llvm"].prefix.lib)
        env.set("CARGO_HOME", join_path(self.stage.path, "cargo-home"))

    def install(self, spec, prefix):
        Executable("scripts/build")("--offline", "--locked")
        Executable("scripts/install")("--prefix", prefix)
"""

EASYBUILD = """\
# {note}
#
# eb --robot {file}, with the tarball in the same directory. A module for each MPI library: change the toolchain.

easyblock = 'ConfigureMake'

name = 'kilter'
version = '{version}'

homepage = '(none)'
description = \"\"\"{description}\"\"\"

toolchain = {{'name': '{toolchain[0]}', 'version': '{toolchain[1]}'}}

sources = [SOURCELOWER_TAR_GZ]
{checksum}
builddependencies = [
{requires}
]

skipsteps = ['configure']

prebuildopts = 'export MPICC=mpicc LIBCLANG_PATH=$EBROOTCLANG/lib && '
build_cmd = 'scripts/build --offline --locked'
install_cmd = 'scripts/install --prefix %(installdir)s'

sanity_check_paths = {{
    'files': ['bin/kilter', 'share/man/man1/kilter.1'],
    'dirs': ['libexec/kilter'],
}}
sanity_check_commands = ['kilter --version']

moduleclass = 'perf'
"""


def needs():
    """The table: packages by need and column."""
    lines = (ROOT / "configs/packaging/packages.tsv").read_text().splitlines()
    head = next(line for line in lines if line.startswith("# need\t")).removeprefix("# ").split("\t")
    rows = (dict(zip(head, line.split("\t"), strict=True)) for line in lines if not line.startswith("#"))
    return {row["need"]: row for row in rows}


def of(table, column):
    """What a build needs by the names of a column."""
    return [package for need in BUILD if table[need][column] != "-" for package in table[need][column].split()]


def recipes(sha256=None):
    """Texts of the recipes by their paths."""
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    description = tomllib.loads((ROOT / "tuner/Cargo.toml").read_text())["package"]["description"]
    table = needs()
    wanted = f"rust@{workspace['rust-version']}:"
    if table["rust"]["spack"] != wanted:
        sys.exit(f"package: Cargo.toml needs {wanted}, but configs/packaging/packages.tsv says {table['rust']['spack']}: change the table")
    # One spec for dnf and zypper: either name where they differ.
    pairs = zip(of(table, "dnf"), of(table, "zypper"), strict=True)
    rpm = [f"({dnf} or {zypper})" if dnf != zypper else dnf for dnf, zypper in pairs]
    common = {"note": NOTE, "version": workspace["version"], "license": workspace["license"], "description": description + "."}
    file = f"kilter-{workspace['version']}-{'-'.join(TOOLCHAIN)}.eb"
    modules = (module.split("/") for module in of(table, "easybuild"))
    return {
        "kilter.spec": SPEC.format(
            **common, summary=description, requires="".join(f"BuildRequires:  {package}\n" for package in rpm)
        ),
        file: EASYBUILD.format(
            **common,
            file=file,
            toolchain=TOOLCHAIN,
            checksum=f"checksums = ['{sha256}']\n" if sha256 else "",
            requires="\n".join(f"    ('{name}', '{version}')," for name, version in modules),
        ),
        "spack_repo/kilter/repo.yaml": f"# {NOTE}\nrepo:\n  namespace: kilter\n  api: v2.0\n",
        "spack_repo/kilter/packages/kilter/package.py": SPACK.format(
            **common,
            checksum=f', sha256="{sha256}"' if sha256 else "",
            requires="\n".join(f'    depends_on("{spec}", type="build")' for spec in of(table, "spack") if spec != "gcc"),
        ),
    }


def main():
    directory, *rest = map(str, sys.argv[1:])
    directory = pathlib.Path(directory)
    check = rest == ["--check"]
    stale = []
    for name, text in recipes(None if check or not rest else rest[0]).items():
        path = directory / name
        if check:
            if not path.is_file() or path.read_text() != text:
                stale.append(name)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    if check:
        # A recipe of an older version is one that nobody would write any more.
        stale += [path.name for path in directory.glob("*.eb") if path.name not in recipes()]
        for name in stale:
            print(f"package: {directory / name} is not what the repository says: run scripts/package --recipes", file=sys.stderr)
    sys.exit(1 if stale else 0)


main()
