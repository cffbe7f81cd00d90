"""Made-up records of the paper's comparison: lines with a known difference of accuracy at equal gap."""

import numpy as np

METRICS = ("accuracy", "eod_sum", "eod_max", "bd", "dimp", "dp", "eop", "pe", "balanced_accuracy")
COUNTS = {"test": [[3000, 6000], [1000, 3000]]}


def metrics(accuracy, gap):
    found = dict.fromkeys(METRICS, 0.05)
    return found | {
        "accuracy": accuracy,
        "eod_sum": gap,
        "eod_max": 0.6 * gap,
        "dp": gap,
        "eop": gap,
        "balanced_accuracy": accuracy - 0.02,
    }


def record(
    data="adult",
    method="exact",
    criterion="equalized_odds",
    seed=0,
    protocol="frontier",
    accuracy=0.85,
    gap=0.05,
    setting=None,
    randomised=False,
    uses_group=True,
    noise=0.0,
    rng=None,
    **more,
):
    rng = np.random.default_rng(0) if rng is None else rng

    def part():
        return metrics(accuracy + noise * rng.normal(), abs(gap + noise * rng.normal()))

    found = {
        "data": data,
        "model": "lr",
        "protocol": protocol,
        "seed": seed,
        "method": method,
        "criterion": criterion,
        "setting": {"limit": gap} if setting is None else setting,
        "form": "",
        "kind": "post",
        "randomised": randomised,
        "uses_group": uses_group,
        "fit": part(),
        "validation": part() if protocol == "frontier" else None,
        "test": part(),
        "counts": COUNTS,
        "seconds": {"wall": 0.01, "cpu": 0.01},
        "verdict": None,
        "error": None,
        "versions": {},
    }
    return found | more


def line_of(method, lead=0.0, gaps=(0.02, 0.05, 0.1), seeds=10, shared=0.0, noise=0.0, rng=None, **more):
    """Records along accuracy = 0.84 + gap / 10 + lead; `shared` noise is that of the split, `noise` of each record."""
    rng = np.random.default_rng(0) if rng is None else rng
    common = shared * np.random.default_rng(1).normal(size=seeds)
    return [
        record(
            method=method,
            seed=seed,
            accuracy=0.84 + gap / 10 + lead + common[seed],
            gap=gap,
            noise=noise,
            rng=rng,
            **more,
        )
        for seed in range(seeds)
        for gap in gaps
    ]
