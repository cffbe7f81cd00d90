"""Notes on gaps that thresholds by group make wider than the best unified threshold does."""

from __future__ import annotations

from dataclasses import replace

from gstar_fast._base.text import short_number
from gstar_fast._criteria import CRITERION, Form
from gstar_fast._solver.answer.note import Note
from gstar_fast._solver.result import Result

VISIBLE = 1e-9  # smaller differences are rounding


def with_gap_notes(result: Result) -> Result:
    """The result with a note on each limited or penalised gap that is wider than before; without any, on the widest."""
    notes = tuple(note for note in _notes(result) if note not in result.notes)
    return replace(result, notes=(*result.notes, *notes)) if notes else result


def _notes(r: Result) -> list[Note]:
    if r.unified:
        return []
    wider = {name: by for name in r.gaps if name in r.before_gaps and (by := _wider(r, name)) > VISIBLE}
    asked = {**r.limits, **r.penalties}
    if asked:
        return [_wider_note(r, name) for name in wider if name in asked]
    own = [name for name in wider if CRITERION[name].form is Form.DIFFERENCE]
    if not own:
        return []
    name = max(own, key=lambda name: wider[name])
    return [_wider_note(r, name, "no limit was asked for: ")]


def _wider_note(r: Result, name: str, beginning: str = "") -> Note:
    values = {"criterion": name, "gap": r.gaps[name], "before": r.before_gaps[name]}
    return Note("wider_gap", f"{beginning}the {_numbers(r, name)} at the best unified threshold", values)


def _wider(r: Result, name: str) -> float:
    """By how much a gap is wider than before; a ratio, by how much it is lower."""
    return CRITERION[name].wider(r.gaps[name], r.before_gaps[name])


def _numbers(r: Result, name: str) -> str:
    now, before = short_number(r.gaps[name]), short_number(r.before_gaps[name])
    what = (
        f"{name} ratio is {now}, lower than"
        if CRITERION[name].form is Form.RATIO
        else f"{name} gap is {now}, wider than"
    )
    return f"{what} {before}"
