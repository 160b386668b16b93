"""What a run of the tests ignored, and why.

    ignored.py LOG              lists it, from what `cargo test` printed
    ignored.py LOG ALLOWED      fails if something is ignored that the file ALLOWED does not name

A line of ALLOWED is `TEST: REASON`; TEST may have `*` in it.
"""

import fnmatch
import re
import sys

# libtest says `test NAME ... ignored, REASON`, libtest-mimic `test NAME ... ignored (REASON)`.
LINE = re.compile(r"^test (.+?) +\.\.\. ignored(?:, (.*)| \((.*)\))?$")


def ignored(log):
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            found = LINE.match(line.rstrip("\n"))
            if found:
                yield found[1], found[2] or found[3] or "no reason is given"


def allowed(path):
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            test, colon, reason = line.partition(": ")
            if not colon or not reason.strip():
                sys.exit(f"{path}:{number}: `{line}` has no reason; write `TEST: REASON`")
            yield test


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    found = list(ignored(sys.argv[1]))
    for test, reason in found:
        print(f"ignored: {test}: {reason}")
    print(f"{len(found)} tests are ignored" if found else "no test is ignored")
    if len(sys.argv) == 2:
        return
    patterns = list(allowed(sys.argv[2]))
    forbidden = [test for test, _ in found if not any(fnmatch.fnmatchcase(test, pattern) for pattern in patterns)]
    if forbidden:
        print(f"not allowed here, as {sys.argv[2]} does not name them: {', '.join(forbidden)}")
        print("install what they miss (`scripts/setup --tests`), or name them there with the reason")
        sys.exit(1)


if __name__ == "__main__":
    main()
