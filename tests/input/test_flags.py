"""A flag must be True or False: a text such as "no" must not count as True."""

import inspect
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import gstar_fast as gf
import gstar_fast.plot
import gstar_fast.results

RNG = np.random.default_rng(3)
SCORES = RNG.random(60)
LABELS = (SCORES + RNG.normal(0, 0.2, 60) > 0.5).astype(int)
GROUPS, REGIONS = RNG.integers(0, 2, 60), RNG.integers(0, 2, 60)
LIMITS = {"equalized_odds": 0.5}
BY_REGION = {"fair_between": 0, "decide_by": 1}


def counted() -> gf.Sketch:
    return gf.Sketch.from_rows(SCORES, LABELS, GROUPS)


def counted_by_region() -> gf.Sketch:
    return gf.Sketch.from_rows(SCORES, LABELS, [GROUPS, REGIONS])


def fit(**options: object) -> gf.GroupThresholdClassifier:
    model = gf.GroupThresholdClassifier(LogisticRegression(), limits=LIMITS, **options)
    return model.fit(SCORES[:, None], LABELS, sensitive_features=GROUPS)


def load(**options: object) -> gf.Decider:
    return gf.Decider.load("not there", **options)


# How each flag is passed; a public flag that is missing here fails the first test below.
CALLS: dict[str, Callable[..., object]] = {
    "Decider": lambda **flag: gf.Decider({0: 0.5}, **flag),
    "Decider.__call__": lambda **flag: gf.Decider({0: 0.5})(SCORES, GROUPS * 0, **flag),
    "Decider.load": load,
    "Decider.margin": lambda **flag: gf.Decider({0: 0.5}).margin(SCORES, GROUPS * 0, **flag),
    "GroupThresholdClassifier": fit,
    "GroupProbability": lambda **flag: fit(decide_by=gf.GroupProbability(LogisticRegression(), **flag)),
    "LiveDecider.__call__": lambda **flag: gf.LiveDecider(gf.Decider({0: 0.5}))(SCORES, GROUPS * 0, **flag),
    "Segments": lambda **flag: gf.Segments((0.5,), **flag),
    "Segments.from_scores": lambda **flag: gf.Segments.from_scores(SCORES, LABELS, GROUPS, **flag),
    "certify": lambda **flag: gf.certify(0.5, counted(), limits=LIMITS, **flag),
    "frontier": lambda **flag: gf.frontier(counted_by_region(), "equalized_odds", **BY_REGION, **flag),
    "report": lambda **flag: gf.report(gf.solve(counted(), limits=LIMITS), counted(), **flag),
    "rows_needed": lambda **flag: gf.rows_needed(counted_by_region(), limits=LIMITS, **BY_REGION, **flag),
    "solve": lambda **flag: gf.solve(counted_by_region(), limits=LIMITS, **BY_REGION, **flag),
    "spark.sketch": lambda **flag: gf.spark.sketch(None, score="p", label="y", group="g", **flag),
    "sql.sketch": lambda **flag: gf.sql.sketch(
        list, "people", score="p", label="y", group="g", dialect="duckdb", **flag
    ),
    "sql.sketch_query": lambda **flag: gf.sql.sketch_query(
        "people", score="p", label="y", group="g", dialect="duckdb", **flag
    ),
}
RECORDS = {"Result", "results.Certificate", "results.Frontier", "results.Question"}  # made by the package, not by users


def public() -> Iterator[tuple[str, Callable[..., object]]]:
    for name in gf.__all__:
        thing = getattr(gf, name)
        if inspect.isclass(thing) and not issubclass(thing, BaseException):
            yield name, thing
            for method, function in inspect.getmembers(thing, callable):
                if method in vars(thing) and (method == "__call__" or not method.startswith("_")):
                    yield f"{name}.{method}", function
        elif inspect.ismodule(thing):
            for inner in getattr(thing, "__all__", ()):
                yield f"{name}.{inner}", getattr(thing, inner)
        elif callable(thing):
            yield name, thing


def flags() -> Iterator[tuple[str, str]]:
    for name, function in public():
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            continue
        for one in parameters:
            if name not in RECORDS and "bool" in str(one.annotation).split("[")[0].split(" | "):
                yield name, one.name


FLAGS = sorted(flags())


def test_every_public_flag_is_tried() -> None:
    assert {"solve", "frontier", "Decider", "GroupThresholdClassifier"} <= {name for name, _ in FLAGS}
    assert {name for name, _ in FLAGS} <= {*CALLS}


@pytest.mark.parametrize("value", ["no", 1, 0, "", [], 1.0])
@pytest.mark.parametrize(("name", "flag"), FLAGS)
def test_a_flag_that_is_not_a_bool_is_rejected(name: str, flag: str, value: object) -> None:
    with pytest.raises(TypeError, match=f"{flag} must be .*(True or False|a bool)"):
        CALLS[name](**{flag: value})


@pytest.mark.parametrize("flag", ["unified", "randomize"])
def test_a_bool_of_numpy_is_a_flag(flag: str, backend: str) -> None:
    ours, theirs = (gf.solve(counted(), limits=LIMITS, **{flag: kind(1)}) for kind in (bool, np.bool_))
    assert ours.to_json() == theirs.to_json()
