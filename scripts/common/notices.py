"""Licences of what Kilter is made of, from `cargo metadata`.

    scripts/notices            prints the notices of the crates that are part of what is installed, with their licences' texts
    scripts/notices --check    says what is wrong: a licence that does not fit, none, or a crate in two versions; status 1 then

Compatible with Kilter's own (MIT or Apache-2.0) are licences that ask for no more than a notice. The advisories of RustSec are no
registry's, and not looked at: run `cargo audit` where its database can be had.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Permissive licences, by their SPDX names.
ALLOWED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-1-Clause", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "ISC", "MIT",
    "MIT-0", "Unicode-3.0", "Unicode-DFS-2016", "Unlicense", "Zlib",
}

# Crates that are there in several versions, and why nothing is done about it.
SEVERAL = json.loads((ROOT / "scripts/common/several-versions.json").read_text())


def metadata():
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    for offline in (["--offline"], []):
        done = subprocess.run(command + offline, cwd=ROOT, capture_output=True, text=True)
        if done.returncode == 0:
            return json.loads(done.stdout)
    sys.exit(f"notices: `{' '.join(command)}` failed:\n{done.stderr}")


def fits(expression):
    """Whether some choice that an SPDX expression leaves is allowed. A slash is an old way to write OR."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def either():
        found = both()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            found = both() or found
        return found

    def both():
        found = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            found = one() and found
        return found

    def one():
        token = tokens.pop(0) if tokens else ""
        if token == "(":
            found = either()
            if tokens:
                tokens.pop(0)
            return found
        if tokens[:1] == ["WITH"]:
            token = " ".join([token, tokens.pop(0), tokens.pop(0)])
        return token in ALLOWED

    return either() and not tokens


def check(packages):
    wrong = []
    versions = {}
    for package in packages:
        name = f"{package['name']} {package['version']}"
        versions.setdefault(package["name"], []).append(package["version"])
        if not package["license"]:
            wrong.append(f"{name} says no licence in its Cargo.toml")
        elif not fits(package["license"]):
            wrong.append(f"{name} has the licence {package['license']}; allowed: {', '.join(sorted(ALLOWED))}")
    for name, several in versions.items():
        if len(several) > 1 and name not in SEVERAL:
            wrong.append(f"{name} is there as {' and '.join(sorted(several))}: use one, or give the reason in scripts/common/several-versions.json")
    for name in SEVERAL:
        if len(versions.get(name, [])) < 2:
            wrong.append(f"{name} is there once: take it out of scripts/common/several-versions.json")
    return wrong


def shipped(graph):
    """Crates whose code is in what is installed: the workspace's, and what they need to run, on this platform."""
    nodes = {node["id"]: node for node in graph["resolve"]["nodes"]}
    left, found = [package for package in graph["workspace_members"] if "kilter-tests" not in package], set()
    while left:
        package = left.pop()
        if package in found:
            continue
        found.add(package)
        for dependency in nodes[package]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                left.append(dependency["pkg"])
    return found


def notices(graph):
    members, ships = set(graph["workspace_members"]), shipped(graph)
    packages = [package for package in graph["packages"] if package["id"] in ships and package["id"] not in members]
    texts = {}
    print("Kilter contains these crates, each under its licence. The texts of the licences follow.\n")
    for package in sorted(packages, key=lambda package: (package["name"], package["version"])):
        where = package["repository"] or f"https://crates.io/crates/{package['name']}"
        print(f"{package['name']} {package['version']}: {package['license']}; {where}")
        folder = pathlib.Path(package["manifest_path"]).parent
        files = (file for file in folder.iterdir() if re.match(r"(?i)(licen[cs]e|copying|notice|unlicense)", file.name))
        for file in sorted(file for file in files if file.is_file()):
            text = file.read_text(errors="replace").strip()
            texts.setdefault(text, []).append(f"{package['name']} {package['version']} ({file.name})")
    for text, users in texts.items():
        print("\n" + "-" * 100 + "\n" + "\n".join(users) + "\n" + "-" * 100 + "\n\n" + text)


def main():
    graph = metadata()
    if sys.argv[1:] == ["--check"]:
        members = set(graph["workspace_members"])
        wrong = check([package for package in graph["packages"] if package["id"] not in members])
        print("\n".join(wrong) or "every licence fits, and no crate is there twice without a reason")
        sys.exit(1 if wrong else 0)
    if sys.argv[1:]:
        sys.exit(f"notices: unknown argument `{sys.argv[1]}`; allowed: --check")
    notices(graph)


if __name__ == "__main__":
    main()
