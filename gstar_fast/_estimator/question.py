"""What a classifier asks of `solve`, looked at before anything is trained."""

from __future__ import annotations

from typing import Any

from gstar_fast._sketch.pooling import checked_min_rows
from gstar_fast._solver.question import (
    Objective,
    check_confidence,
    check_evidence,
    check_options,
    check_promise,
)
from gstar_fast._solver.segments.roles import check_segments

WAYS = ("method", "density", "unified", "randomize", "max_seconds")
ASKED = ("limits", "penalties", "costs", "balanced", *WAYS, "min_rows", "confidence", "evidence")


def question_of(model: object) -> dict[str, Any]:
    """The arguments of `solve`."""
    return {name: getattr(model, name) for name in ASKED}


def check_question(asked: dict[str, Any], *, by_segment: bool) -> None:
    """Refuse what `solve` would refuse whatever the rows are."""
    objective = Objective.of(asked["limits"], asked["penalties"], asked["costs"], asked["balanced"])
    check_options(objective, **{name: asked[name] for name in WAYS})
    check_evidence(asked["evidence"])
    counted = asked["density"] == "empirical"
    if asked["confidence"] is not None:
        check_confidence(asked["confidence"])
        check_promise(objective, counted=counted, max_seconds=asked["max_seconds"])
    least = checked_min_rows(asked["min_rows"])
    if by_segment:
        given = {name: asked[name] for name in ("density", "unified")}
        check_segments(objective, **given, min_rows=least)
