#!/usr/bin/env python3
"""Writes tuner/stats/tests/golden/statistics.json: what SciPy, NumPy and statsmodels say about fixed samples.

The file is committed, so that the tests need no Python. To make it anew:

    python3 -m venv golden-venv
    golden-venv/bin/pip install scipy==1.17.1 statsmodels==0.15.0 numpy==2.4.6
    golden-venv/bin/python scripts/golden-statistics.py

Rank sums without ties come from scipy.stats.mannwhitneyu (exact), with ties from the full enumeration of
scipy.stats.permutation_test, large ones from mannwhitneyu (asymptotic, continuity correction). Intervals of the ratio come from
turning mannwhitneyu's two-sided test round: the shifts of the logarithms that it does not reject. Kolmogorov-Smirnov tests come
from scipy.stats.ks_2samp (exact without ties, asymptotic), with ties from the full enumeration of permutation_test; trends from
scipy.stats.kendalltau (exact), signed ranks from scipy.stats.wilcoxon (exact), Brunner's and Munzel's test from
scipy.stats.brunnermunzel, permuted over all splits of its statistic; Yuen's from SciPy's trimmed means and winsorised variances, checked
against scipy.stats.ttest_ind where that cuts off as many. Quantiles are NumPy's default, the corrections of Holm and of Benjamini and Hochberg are
statsmodels', the standard error SciPy's.
"""

import itertools
import json
import pathlib
import sys

# The imports below are not there on every machine.
if {"-h", "--help"} & set(sys.argv[1:]):
    print(__doc__.strip())
    sys.exit()

import numpy
import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.multitest import multipletests

SEED = 20160824
OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "tuner" / "stats" / "tests" / "golden" / "statistics.json"


def times(rng, count, center):
    """Log-normal times without ties, few digits."""
    while True:
        values = numpy.round(center * rng.lognormal(0.0, 0.2, count), 6)
        if len(set(values)) == count:
            return values


def rank_sum_exact(left, right):
    return stats.mannwhitneyu(left, right, alternative="greater", method="exact").pvalue


def rank_sum_enumerated(left, right):
    ranks = stats.rankdata(numpy.concatenate([left, right]))
    result = stats.permutation_test(
        (ranks[: len(left)], ranks[len(left) :]),
        lambda a, b, axis: numpy.sum(a, axis=axis),
        alternative="greater",
        n_resamples=numpy.inf,
        vectorized=True,
        batch=20000,
    )
    return result.pvalue


def rank_sum_asymptotic(left, right):
    return stats.mannwhitneyu(left, right, alternative="greater", method="asymptotic", use_continuity=True).pvalue


def rank_sums(rng):
    cases = []

    def add(name, left, right, p):
        cases.append({"name": name, "left": list(map(float, left)), "right": list(map(float, right)), "p": float(p)})

    x, y = [0.1, 0.4, 0.7, 1.1, 1.9, 2.2], [0.9, 1.2, 1.5, 2.5, 2.9, 3.3, 4.0]
    add("shorter sample first", y, x, rank_sum_exact(y, x))
    add("shorter sample first, swapped", x, y, rank_sum_exact(x, y))
    for n, m in [(1, 1), (1, 9), (9, 1), (5, 5), (6, 7), (7, 6), (10, 10), (13, 8), (8, 13), (30, 20), (20, 30), (50, 50), (63, 63)]:
        for center in [1.0, 1.15]:
            pooled = times(rng, n + m, 1.0)
            left, right = numpy.round(pooled[:n] * center, 9), pooled[n:]
            if len(set(left) | set(right)) < n + m:
                raise ValueError("a tie among untied samples: change the seed")
            add(f"exact {n} {m} shift {center}", left, right, rank_sum_exact(left, right))
    for n, m in [(2, 12), (12, 2), (3, 4), (4, 3), (6, 6), (5, 8), (8, 5), (10, 10)]:
        for shift in [0, 1]:
            left, right = rng.integers(0, 5, n) + shift, rng.integers(0, 5, m)
            add(f"ties {n} {m} shift {shift}", left, right, rank_sum_enumerated(left, right))
    for n, m in [(100, 80), (1000, 10), (10, 1000), (200, 200)]:
        for shift in [0, 1, 4]:
            left, right = rng.integers(0, 30, n) + shift, rng.integers(0, 30, m)
            add(f"asymptotic {n} {m} shift {shift}", left, right, rank_sum_asymptotic(left, right))
    return cases


def excess(left, right, axis=-1):
    """The largest excess of the right empirical distribution function over the left one, times both sizes: an integer."""
    pooled = numpy.concatenate([left, right], axis=axis)
    below = lambda sample: (sample[..., None, :] <= pooled[..., :, None]).sum(axis=-1)
    return (below(right) * left.shape[axis] - below(left) * right.shape[axis]).max(axis=-1)


def kolmogorov_smirnovs(rng):
    cases = []

    def add(name, left, right, p):
        cases.append({"name": name, "left": list(map(float, left)), "right": list(map(float, right)), "p": float(p)})

    for n, m in [(1, 1), (1, 9), (9, 1), (5, 5), (6, 7), (7, 6), (10, 10), (13, 8), (8, 13), (30, 20), (20, 30), (100, 50), (50, 100)]:
        for center in [1.0, 1.15]:
            pooled = times(rng, n + m, 1.0)
            left, right = numpy.round(pooled[:n] * center, 9), pooled[n:]
            if len(set(left) | set(right)) < n + m:
                raise ValueError("a tie among untied samples: change the seed")
            add(f"exact {n} {m} shift {center}", left, right, stats.ks_2samp(left, right, alternative="less", method="exact").pvalue)
    for n, m in [(2, 12), (12, 2), (3, 4), (4, 3), (6, 6), (5, 8), (8, 5), (8, 8)]:
        for shift in [0, 1]:
            left, right = rng.integers(0, 5, n) + shift, rng.integers(0, 5, m)
            result = stats.permutation_test(
                (left, right), excess, alternative="greater", n_resamples=numpy.inf, vectorized=True, batch=2000
            )
            add(f"ties {n} {m} shift {shift}", left, right, result.pvalue)
    for n, m in [(2100, 2000), (2000, 2100)]:
        for center in [1.0, 1.02]:
            left, right = numpy.round(rng.lognormal(0.0, 0.2, n) * center, 3), numpy.round(rng.lognormal(0.0, 0.2, m), 3)
            add(f"asymptotic {n} {m} shift {center}", left, right, stats.ks_2samp(left, right, alternative="less", method="asymp").pvalue)
    return cases


def trends(rng):
    cases = []
    for count in [2, 3, 5, 8, 10, 20, 30]:
        for slope in [0.0, 0.05]:
            values = times(rng, count, 1.0) + slope * numpy.arange(count)
            p = stats.kendalltau(numpy.arange(count), values, method="exact").pvalue
            slope_seen = stats.theilslopes(values).slope
            cases.append({"values": list(map(float, values)), "p": float(p), "slope": float(slope_seen)})
    return cases


def signed_ranks(rng):
    cases = []
    for count in [1, 2, 5, 10, 20, 40]:
        for center in [1.0, 1.1]:
            left, right = times(rng, count, center), times(rng, count, 1.0)
            p = stats.wilcoxon(numpy.log(left), numpy.log(right), alternative="greater", method="exact").pvalue
            cases.append({"name": f"{count} at {center}", "left": list(map(float, left)), "right": list(map(float, right)), "p": float(p)})
    return cases


def brunner_munzels(rng):
    cases = []
    for n, m in [(5, 5), (6, 8), (10, 10), (12, 20), (60, 70)]:
        for spread in [0.05, 0.4]:
            left, right = numpy.round(rng.lognormal(0.05, spread, n), 2), numpy.round(rng.lognormal(0.0, 0.1, m), 2)
            # SciPy's alternative is about which side is smaller, and its statistic has the other sign.
            found = stats.brunnermunzel(left, right, alternative="greater", distribution="t")
            case = {"name": f"{n} {m} spread {spread}", "left": list(map(float, left)), "right": list(map(float, right))}
            cases.append({**case, "statistic": -float(found.statistic), "p": float(found.pvalue)})
    return cases


def brunner_munzels_permuted(rng):
    """All splits, by SciPy's statistic."""
    cases = []
    for n, m in [(3, 3), (3, 5), (5, 4), (6, 5)]:
        for shift in [0, 1]:
            left, right = rng.integers(0, 9, n) * (1 + shift) + shift, rng.integers(0, 9, m)
            pooled = numpy.concatenate([left, right]).astype(float)

            def statistic(chosen):
                rest = numpy.setdiff1d(numpy.arange(n + m), chosen)
                with numpy.errstate(all="ignore"):
                    value = -stats.brunnermunzel(pooled[list(chosen)], pooled[rest]).statistic
                if numpy.isfinite(value):
                    return value
                difference = stats.rankdata(pooled)[list(chosen)].mean() - stats.rankdata(pooled)[rest].mean()
                return numpy.sign(difference) * numpy.inf if abs(difference) > 1e-9 else 0.0

            seen = statistic(tuple(range(n)))
            values = numpy.array([statistic(chosen) for chosen in itertools.combinations(range(n + m), n)])
            p = numpy.mean(values >= (seen - 1e-9 if numpy.isfinite(seen) else seen))
            cases.append({"name": f"{n} {m} shift {shift}", "left": list(map(float, left)), "right": list(map(float, right)), "p": float(p)})
    return cases


def yuens(rng):
    cases = []
    for n, m in [(2, 3), (4, 4), (5, 5), (10, 10), (20, 12)]:
        for spread in [0.05, 0.4]:
            left, right = times(rng, n, 1.1) ** (1 + spread), times(rng, m, 1.0)
            x, y = numpy.log(left), numpy.log(right)
            # Each side trimmed by hand: SciPy cuts off the same number as the floor of a tenth, and this takes the nearest one.
            def part(values):
                values = numpy.sort(values)
                cut = min(int(numpy.floor(0.1 * len(values) + 0.5)), (len(values) - 2) // 2)
                return values, cut

            (x, a), (y, b) = part(x), part(y)
            assert a == b or n != m
            def moments(values, cut):
                kept = len(values) - 2 * cut
                wins = stats.mstats.winsorize(values, limits=(cut / len(values),) * 2)
                return stats.trim_mean(values, cut / len(values)), wins.var(ddof=1) * (len(values) - 1) / (kept * (kept - 1)), kept - 1

            (mx, vx, fx), (my, vy, fy) = moments(x, a), moments(y, b)
            freedom = (vx + vy) ** 2 / (vx**2 / fx + vy**2 / fy)
            p = stats.t.sf((mx - my) / numpy.sqrt(vx + vy), freedom)
            if a == b == 0:
                assert abs(p - stats.ttest_ind(x, y, equal_var=False, alternative="greater").pvalue) < 1e-12
            elif a * m == b * n:
                assert abs(p - stats.ttest_ind(x, y, equal_var=False, alternative="greater", trim=a / n).pvalue) < 1e-9
            cases.append({"name": f"{n} {m} spread {spread}", "left": list(map(float, left)), "right": list(map(float, right)), "p": float(p)})
    return cases


def ratios(rng):
    cases = []
    sizes = [(4, 4, "exact"), (5, 7, "exact"), (7, 5, "exact"), (10, 10, "exact"), (30, 12, "exact"), (80, 70, "asymptotic")]
    for n, m, method in sizes:
        for confidence in [0.8, 0.95]:
            left, right = times(rng, n, 1.3), times(rng, m, 1.0)
            x, y = numpy.log(left), numpy.log(right)
            differences = numpy.sort(numpy.subtract.outer(x, y).ravel())

            def rejected(shift):
                p = stats.mannwhitneyu(x - shift, y, alternative="two-sided", method=method).pvalue
                return p <= (1.0 - confidence) * (1.0 + 1e-9)

            # The first gap between neighbouring differences that is not rejected begins at the lower end.
            gaps = (differences[1:] + differences[:-1]) / 2.0
            low, high = 0, len(gaps) - 1
            while low < high:
                middle = (low + high) // 2
                if rejected(gaps[middle]):
                    low = middle + 1
                else:
                    high = middle
            cases.append(
                {
                    "name": f"{method} {n} {m} at {confidence}",
                    "left": list(map(float, left)),
                    "right": list(map(float, right)),
                    "confidence": confidence,
                    "ratio": float(numpy.exp(numpy.median(differences))),
                    "low": float(numpy.exp(differences[low])),
                    "high": float(numpy.exp(differences[len(differences) - 1 - low])),
                }
            )
    return cases


def corrections(rng, method):
    cases = [[0.04], [0.01, 0.04, 0.03, 0.005], [0.5, 0.5, 0.5], [0.0, 1.0, 0.2]]
    cases += [list(map(float, numpy.round(rng.uniform(0, 1, count) ** 4, 6))) for count in [5, 40]]
    return [{"p": p, "adjusted": list(map(float, multipletests(p, method=method)[1]))} for p in cases]


def descriptions(rng):
    cases = []
    for count in [2, 3, 10, 101]:
        values = times(rng, count, 1e-3 if count == 10 else 5.0)
        quantiles = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]
        cases.append(
            {
                "values": list(map(float, values)),
                "quantiles": [[q, float(numpy.quantile(values, q))] for q in quantiles],
                "relative_standard_error": float(stats.sem(values) / numpy.mean(values)),
                "interquartile_range": float(stats.iqr(values)),
            }
        )
    return cases


def main():
    rng = numpy.random.default_rng(SEED)
    golden = {
        "made_with": {"scipy": scipy.__version__, "numpy": numpy.__version__, "statsmodels": statsmodels.__version__, "seed": SEED},
        "rank_sum": rank_sums(rng),
        "ratio": ratios(rng),
        "holm": corrections(rng, "holm"),
        "describe": descriptions(rng),
        # New cases go to the end: the numbers drawn for those above stay the same.
        "benjamini_hochberg": corrections(rng, "fdr_bh"),
        "kolmogorov_smirnov": kolmogorov_smirnovs(rng),
        "trend": trends(rng),
        "signed_rank": signed_ranks(rng),
        "brunner_munzel": brunner_munzels(rng),
        "brunner_munzel_permuted": brunner_munzels_permuted(rng),
        "yuen": yuens(rng),
    }
    # One case per line: differences between two versions of the file stay readable.
    lines = ["{", f'"made_with": {json.dumps(golden["made_with"])}']
    for key in list(golden)[1:]:
        lines[-1] += ","
        lines += [f'"{key}": [', ",\n".join(json.dumps(case) for case in golden[key]), "]"]
    OUTPUT.write_text("\n".join([*lines, "}"]) + "\n")


if __name__ == "__main__":
    main()
