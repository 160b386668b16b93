"""Tables of scripts/benchmark-repetition: what the blocks of launches say they took.

repetition.py OUT...   OUT is where `kilter` wrote; its launches lie in OUT/launches
"""

import glob
import json
import os
import sys

# Mean times of a block's repetitions, in seconds: where a class ends.
CLASSES = [(20e-6, "< 20 us"), (200e-6, "< 200 us"), (2e-3, "< 2 ms"), (float("inf"), ">= 2 ms")]


def blocks(out):
    """What each block of each launch took, with the launch's file."""
    for path in sorted(glob.glob(os.path.join(out, "launches", "*.report.jsonl"))):
        with open(path, encoding="utf-8") as file:
            for line in file:
                try:
                    event = json.loads(line)
                except json.JSONDecodeError:
                    continue  # The last line of a job that was ended.
                costs = event.get("costs")
                if costs and costs["runs"]:
                    yield path, event["seconds"], costs


def table(out):
    found = list(blocks(out))
    if not found:
        sys.exit(f"benchmark-repetition: {out} has no launches with blocks; run `kilter check --out {out}` first")
    total = sum(seconds for _, seconds, _ in found)
    whole = {name: sum(costs[f"{name}_seconds"] for _, _, costs in found) for name in ("prepare", "repeat", "own", "check")}
    launches, runs = len({path for path, *_ in found}), sum(costs["runs"] for *_, costs in found)
    beside = whole["repeat"] - whole["own"]
    print(f"{out}: {launches} launches, {runs} repetitions, {total:.1f} s in blocks:")
    for name, seconds in [
        ("their own times", whole["own"]),
        ("exchange and lead", beside),
        ("prepare and try", whole["prepare"]),
        ("check", whole["check"]),
    ]:
        print(f"  {name:<18} {seconds:8.2f} s  {100 * seconds / total:5.1f} %")
    print(f"{'repetitions of':<16} {'number':>8} {'own, us':>10} {'beside, us':>11} {'all / own':>10}")
    least = 0.0
    for most, name in CLASSES:
        ours = [costs for *_, costs in found if least <= costs["own_seconds"] / costs["runs"] < most]
        least = most
        if not ours:
            continue
        count = sum(costs["runs"] for costs in ours)
        own, repeat = (sum(costs[key] for costs in ours) for key in ("own_seconds", "repeat_seconds"))
        print(f"{name:<16} {count:>8} {1e6 * own / count:>10.1f} {1e6 * (repeat - own) / count:>11.1f} {repeat / own:>10.2f}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for out in sys.argv[1:]:
        table(out)
