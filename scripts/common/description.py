"""Prints a description of an MPI library in which fewer fixes compete, for `--library-description`.

    description.py openmpi-4.1 --without-algorithms             its settings alone
    description.py openmpi-5.0 --settings coll_han_priority     of its settings of whole launches these alone, and its algorithms
    description.py mpich-4.0 --settings ''                      its algorithms alone

The end-to-end tests and `scripts/benchmark-clusters` take theirs from here.
"""

import re
import sys
import tomllib
from pathlib import Path

LIBRARIES = Path(__file__).resolve().parent.parent.parent / "configs" / "libraries"


def stop(words):
    sys.exit(f"description: {words}")


def text_of(library):
    file = LIBRARIES / f"{library}.toml"
    if not file.exists():
        known = ", ".join(sorted(one.stem for one in LIBRARIES.glob("*.toml")))
        stop(f"there is no description `{library}`; known: {known}")
    return file.read_text()


def inherited(description):
    """Names of parameters that come from the description that it is like."""
    if "like" not in description:
        return []
    base = tomllib.loads(text_of(description["like"]))
    names = inherited(base) + [row["name"] for row in base.get("parameters", [])]
    gone = description.get("without", [])
    for old, new in description.get("rename", {}).items():
        names = [name.replace(old, new) for name in names]
    own = [row["name"] for row in description.get("parameters", [])]
    return [name for name in names if name not in gone + own]


def with_settings(text, wanted):
    description = tomllib.loads(text)
    others = inherited(description)
    known = [row["name"] for row in description.get("parameters", [])] + others
    unknown = [name for name in wanted if name not in known]
    if unknown:
        stop(f"there is no parameter `{unknown[0]}`; known: {', '.join(known)}")

    def stays(table):
        found = re.search(r'^name = "(.*)"$', table, re.M)
        return not table.startswith("[[parameters]]") or found[1] in wanted

    without = description.get("without", []) + [name for name in others if name not in wanted]
    head, *rest = [table for table in tables(text) if stays(table)]
    # `verified` has remarks on parameters that may have been left out.
    head = re.sub(r"^(without|verified) = .*\n", "", head, flags=re.M)
    if without:
        head += "without = [" + ", ".join(f'"{name}"' for name in without) + "]\n\n"
    return head + "".join(rest)


def tables(text):
    return re.split(r"^(?=\[)", text, flags=re.M)


def main():
    match sys.argv[1:]:
        case [library, "--without-algorithms"]:
            text = "".join(table for table in tables(text_of(library)) if not re.match(r"\[+algorithms\b", table))
        case [library, "--settings", names]:
            text = with_settings(text_of(library), [name for name in names.split(",") if name])
        case _:
            stop("allowed: LIBRARY --without-algorithms, LIBRARY --settings NAME,NAME")
    print(text, end="")


if __name__ == "__main__":
    main()
