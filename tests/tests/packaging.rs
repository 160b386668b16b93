//! `scripts/package`: recipes say what the repository says, their tools read them, and the tarball needs no network.

use std::path::{Path, PathBuf};
use std::process::Command;

use kilter_tests::{in_path, left_out, root, run, script};

/// The folder of the recipes.
fn recipes() -> PathBuf {
    root().join("configs/packaging")
}

/// The version that Cargo.toml gives to all crates.
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Output of Python for a program and arguments.
fn python(program: &str, arguments: &[&Path]) -> String {
    let output = run(Command::new("python3").arg("-c").arg(program).args(arguments), &[0]);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn recipes_are_what_the_repository_says() {
    run(script("package").args(["--recipes", "--check"]), &[0]);
}

fn rpmspec_reads_the_spec() {
    if !in_path("rpmspec") {
        left_out("no rpmspec; Debian has it in `rpm`");
        return;
    }
    let spec = recipes().join("kilter.spec");
    let parsed = run(
        Command::new("rpmspec")
            .args(["--parse", "--define", "mpicc /opt/mpi/bin/mpicc"])
            .arg(spec),
        &[0],
    );
    assert!(parsed.stderr.is_empty(), "{}", String::from_utf8_lossy(&parsed.stderr));
    let parsed = String::from_utf8_lossy(&parsed.stdout);
    for words in [
        &format!("\nVersion:        {}\n", version()),
        "\nBuildRequires:  clang-devel\n",
        "\nMPICC=/opt/mpi/bin/mpicc scripts/build ",
    ] {
        assert!(parsed.contains(words), "`{words}` is not in\n{parsed}");
    }
}

fn easybuild_reads_its_file() {
    let has_easybuild = Command::new("python3")
        .args(["-c", "import easybuild.easyblocks"])
        .output();
    if !has_easybuild.is_ok_and(|output| output.status.success()) {
        left_out("no EasyBuild for python3; PyPI has it as easybuild-framework and easybuild-easyblocks");
        return;
    }
    // Its own reader of files, and the parameters that it knows.
    let program = "import sys
from easybuild.tools.config import init_build_options
init_build_options({'silent': True})
from easybuild.easyblocks.generic.configuremake import ConfigureMake
from easybuild.framework.easyconfig.default import DEFAULT_CONFIG
from easybuild.framework.easyconfig.parser import EasyConfigParser
read = EasyConfigParser(sys.argv[1]).get_config_dict()
print(read['name'], read['version'], [name for name in read if name not in {**DEFAULT_CONFIG, **ConfigureMake.extra_options()}])";
    let file = recipes().join(format!("kilter-{}-gompi-2025b.eb", version()));
    assert_eq!(python(program, &[&file]), format!("kilter {} []\n", version()));
}

/// Spack is on no registry: a stand-in of its package module notes what the recipe says.
fn the_recipe_of_spack_names_version_and_needs() {
    let program = "import sys, types
said = []
spack = types.ModuleType('spack.package')
for name in ('license', 'version', 'depends_on'):
    setattr(spack, name, lambda *words, _name=name, **more: said.append(' '.join([_name, *words, *map(str, more.values())])))
generic = types.ModuleType('generic')
generic.Package = type('Package', (), {})
for name in ('spack', 'spack_repo', 'spack_repo.builtin', 'spack_repo.builtin.build_systems'):
    sys.modules[name] = types.ModuleType(name)
sys.modules |= {'spack.package': spack, 'spack_repo.builtin.build_systems.generic': generic}
recipe = {}
exec(compile(open(sys.argv[1]).read(), sys.argv[1], 'exec'), recipe)
print(recipe['Kilter'].url.rsplit('/', 1)[1], *said, sep='\\n')";
    let said = python(
        program,
        &[&recipes().join("spack_repo/kilter/packages/kilter/package.py")],
    );
    for words in [
        &format!("kilter-{}.tar.gz", version()),
        &format!("version {}", version()),
        "depends_on mpi",
        concat!("depends_on rust@", env!("CARGO_PKG_RUST_VERSION"), ": build"),
        "depends_on llvm+clang build",
    ] {
        assert!(said.lines().any(|line| line == words), "`{words}` is not in\n{said}");
    }
}

fn the_tarball_has_every_crate_and_its_recipes_the_checksum() {
    if std::env::var_os("KILTER_PACKAGE").is_none() {
        left_out("two hundred crates are packed, a minute beside other tests; KILTER_PACKAGE=1 runs it");
        return;
    }
    if !root().join(".git").exists() {
        left_out("sources are those of a commit, and this is no clone of the repository");
        return;
    }
    let out = tempfile::tempdir().unwrap();
    let packaged = script("package").arg("--out").arg(out.path()).output().unwrap();
    let said = String::from_utf8_lossy(&packaged.stderr);
    assert!(packaged.status.success(), "{said}");
    let name = format!("kilter-{}", version());
    let tarball = out.path().join(format!("{name}.tar.gz"));
    let sum = run(Command::new("sha256sum").arg(&tarball), &[0]);
    let sum = String::from_utf8_lossy(&sum.stdout)[..64].to_owned();
    for recipe in [
        format!("{name}-gompi-2025b.eb"),
        "spack_repo/kilter/packages/kilter/package.py".to_owned(),
    ] {
        let text = std::fs::read_to_string(out.path().join(&recipe)).unwrap();
        assert!(text.contains(&sum), "{recipe} does not have {sum}:\n{text}");
    }
    run(
        Command::new("tar").arg("-xzf").arg(&tarball).arg("-C").arg(out.path()),
        &[0],
    );
    // A cargo that has fetched nothing so far, and may not.
    let metadata = run(
        Command::new("cargo")
            .args(["metadata", "--format-version", "1", "--offline", "--locked"])
            .env("CARGO_HOME", out.path().join("cargo-home"))
            .current_dir(out.path().join(&name)),
        &[0],
    );
    let metadata = String::from_utf8_lossy(&metadata.stdout);
    assert!(metadata.contains(&format!("{name}/vendor/libsqlite3-sys-")));
}

kilter_tests::cases![
    recipes_are_what_the_repository_says,
    rpmspec_reads_the_spec,
    easybuild_reads_its_file,
    the_recipe_of_spack_names_version_and_needs,
    the_tarball_has_every_crate_and_its_recipes_the_checksum,
];
