"""The test programs that cargo has built, run without it: as many at once as there are processors, where `cargo test` runs one.

    test_programs.py list                    reads what `cargo build --message-format=json` prints, and writes the LIST
    test_programs.py path LIST NAME          says where a program is
    test_programs.py run LIST --but NAMES    runs all others, whose names are not among NAMES, with commas between them

Each runs in the folder of its package, as cargo would have it, and what it printed is shown when it has ended. Many test programs have one test that
takes most of their time, or one processor for all of them, and leave the others without work.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def built(messages):
    """The programs, those of `tests/` first: they take longest, and what is short fills the gaps at the end."""
    programs = []
    for line in messages:
        message = json.loads(line)
        if message.get("executable") and message["profile"]["test"]:
            target = message["target"]
            folder = str(Path(message["manifest_path"]).parent)
            own = "test" in target["kind"]
            programs.append({"name": target["name"], "folder": folder, "path": message["executable"], "own": own})
    return sorted(programs, key=lambda program: not program["own"])


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def path(programs, name):
    found = [program["path"] for program in programs if program["name"] == name]
    if len(found) != 1:
        sys.exit(f"test_programs: {len(found)} test programs are called `{name}`; wanted is one")
    return found[0]


def run(programs, but):
    """Runs them, and gives the number of those that failed."""
    unknown = but - {program["name"] for program in programs}
    if unknown:
        sys.exit(f"test_programs: no test program is called {', '.join(sorted(unknown))}")
    printing = threading.Lock()

    def one(program):
        with subprocess.Popen(
            [program["path"]],
            cwd=program["folder"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as running:
            printed = running.stdout.read()
            _, status, used = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
        with printing:
            print(f"     Running {program['path']}: {used.ru_utime + used.ru_stime:.1f} s of a processor", flush=True)
            sys.stdout.buffer.write(printed)
            sys.stdout.buffer.flush()
        return None if running.returncode == 0 else f"{program['path']} ended with {running.returncode}"

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        failed = [failure for failure in pool.map(one, [p for p in programs if p["name"] not in but]) if failure]
    for failure in failed:
        print(f"test_programs: {failure}", file=sys.stderr)
    return len(failed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list")
    for name in ["path", "run"]:
        commands.add_parser(name).add_argument("list", type=read)
    commands.choices["path"].add_argument("name")
    commands.choices["run"].add_argument("--but", default=set(), type=lambda names: set(names.split(",")))
    given = parser.parse_args()
    if given.command == "list":
        json.dump(built(sys.stdin), sys.stdout, indent=1)
    elif given.command == "path":
        print(path(given.list, given.name))
    else:
        sys.exit(1 if run(given.list, given.but) else 0)


if __name__ == "__main__":
    main()
