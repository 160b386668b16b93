"""Tables of scripts/benchmark-decisive: counts of what report.json says, nothing judged anew.

decisive.py row NAME SECONDS OUT         a line of the demo: NAME, cells, violated before and after, undecided after, calls, faster, slower, mean gain, seconds
decisive.py site NAME SECONDS CLEAN OUT  a line of the site: NAME, seconds, what is deployed over what the clean site's run deployed, if the setting is named
decisive.py cells SECONDS OUT FUNCTION...  decided share, and the violations of each function with their fixes
decisive.py survey SECONDS OUT KEPT      the same against a kept survey: report.json, or what `kilter report` printed of it
"""

import json
import math
import os
import re
import sys

DECIDED = ("violated", "holds")
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def report(out):
    path = os.path.join(out, "report.json") if os.path.isdir(out) else out
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def before(cells, *words):
    return [cell for cell in cells if cell["before"]["verdict"] in words]


def fixed(cells):
    """Violated before, and proven to hold with what is deployed."""
    return [cell for cell in before(cells, "violated") if (cell["after"] or {}).get("verdict") == "holds"]


def after(cells, *words):
    """Of what is deployed; of the untouched library where nothing is."""
    return [cell for cell in cells if (cell["after"] or cell["before"])["verdict"] in words]


def row(name, seconds, out):
    found = report(out)
    cells = found["cells"]
    counts = [len(before(cells, "violated")), len(after(cells, "violated")), len(after(cells, "undecided", "unstable"))]
    gain = found.get("gain") or {"calls": 0, "faster": 0, "slower": 0, "geometric_mean": 1.0}
    counts += [gain["calls"], gain["faster"], gain["slower"]]
    print(f"{name:<14} {len(cells):>5}", *(f"{count:>9}" for count in counts), f"{gain['geometric_mean']:>8.2f} {float(seconds):>8.1f}")
    # The sentences that say what the machine did meanwhile.
    for warning in found["warnings"]:
        if re.search(r"other programs|load|busy|voided|void repetitions|slow mode", warning):
            print(f"    {warning}")


def site(name, seconds, clean, out):
    def times(found):
        return {(gain["function"], gain["bytes"]): gain["deployed_seconds"] for gain in found.get("gains", [])}

    found = report(out)
    own, usual = times(found), times(report(clean))
    ratios = {call: own[call] / usual[call] for call in own if call in usual}
    named = [warning for warning in found["warnings"] if "the site sets" in warning]
    if not ratios:
        print(f"{name:<16} {float(seconds):>9.1f} nothing deployed on one of both")
        return
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    worst = max(ratios, key=ratios.get)
    words = ", ".join(re.search(r"`(.*?)`", warning)[1] for warning in named) or "-"
    print(f"{name:<16} {float(seconds):>9.1f} {mean:>9.2f} {ratios[worst]:>9.2f}  {words} (worst: {worst[0]} of {worst[1]} B)")


def share(part, whole):
    return f"{part} of {whole}" + (f" ({100 * part / whole:.1f} %)" if whole else "")


def cells(seconds, out, *functions):
    found = report(out)
    every = found["cells"]
    print(f"decided    {share(len(before(every, *DECIDED)), len(every))}")
    for word in ("undecided", "screened", "unstable"):
        print(f"{word:<10} {len(before(every, word))}")
    print(f"seconds    {found['provenance']['measuring_seconds']:.1f} measuring, {float(seconds):.1f} in all")
    if functions:
        print(f"{'function':<10} {'cells':>5} {'violated':>9} {'fixed':>6}  fixes")
    for function in functions:
        own = [cell for cell in every if cell["function"] == function]
        fixes = sorted({cell["fix"]["id"] for cell in fixed(own) if cell["fix"]})
        print(f"{function:<10} {len(own):>5} {len(before(own, 'violated')):>9} {len(fixed(own)):>6}  {', '.join(fixes) or '-'}")
        for cell in before(own, "violated"):
            if cell not in fixed(own):
                print(f"    open: {cell['expression']} {cell['bytes']} B: {cell['unfixed_because'] or 'not proven'}")


def size(text):
    number, unit = text.split()
    return round(float(number) * UNITS[unit])


def key(cell):
    return cell["guideline"], cell["function"], cell["measured_bytes"], cell["right_bytes"]


def verdicts(cells):
    """By all that tells cells apart; a guideline may state several for one function and size."""
    return {(*key(cell), cell["expression"]): cell["before"]["verdict"] for cell in cells}


# A line of a printed report: ` GL1 bcast      8 B : 1 KiB   1.01 ms ...`.
VIOLATED = re.compile(r"^ (\S+) ([a-z_]+) +([\d.]+ [KMG]?i?B)(?: : ([\d.]+ [KMG]?i?B))? +[\d.]+ [munp]?s ")


def printed(path):
    """The violated cells that a printed report names; of the others it has the number alone."""
    with open(path, encoding="utf-8") as file:
        found = [match.groups() for match in map(VIOLATED.match, file) if match]
    return {(guideline, function, size(left), right and size(right)) for guideline, function, left, right in found}


def survey(seconds, out, kept):
    cells(seconds, out)
    every = report(out)["cells"]
    if kept.endswith(".json"):
        now, old = verdicts(every), verdicts(report(kept)["cells"])
        both = [one for one in old if old[one] in DECIDED and now.get(one) in DECIDED]
        print(f"agree with {kept}: {share(sum(old[one] == now[one] for one in both), len(both))} of what both decide")
        return
    now = {key(cell): cell["before"]["verdict"] for cell in every}
    violated = printed(kept)
    known = [one for one in violated if now.get(one) in DECIDED]
    same = [one for one in known if now[one] == "violated"]
    new = [one for one, word in now.items() if word == "violated" and one not in violated]
    print(f"of the {len(violated)} violated cells in {kept}, decided now: {len(known)}, violated now: {share(len(same), len(known))}")
    print(f"violated now and not there, where they held or were undecided: {len(new)}")
    print("for the agreement on every cell: scripts/survey openmpi-8x1 first, which leaves its report.json")


if __name__ == "__main__":
    {"row": row, "site": site, "cells": cells, "survey": survey}[sys.argv[1]](*sys.argv[2:])
