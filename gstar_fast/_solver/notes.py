"""Notes on an answer: thresholds that hardly decide, limits below what chance alone shows, wider gaps."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from gstar_fast._backends.interface import Floats, Ints
from gstar_fast._base.arrays import Bools
from gstar_fast._base.names import Name
from gstar_fast._base.text import first_few, printable_name, short_number
from gstar_fast._criteria import CRITERION, Form, Limit
from gstar_fast._question.question import Question
from gstar_fast._rates import SELECTION_INDEX, SOLVER_RATES, Rate
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._sketch.view import warn_if_coarse
from gstar_fast._solver.answer.parts import Note, has
from gstar_fast._solver.answer.result import Result
from gstar_fast._solver.cells import Cells, Outcome, Scale, effective_rows

FEW, MANY = 0.01, 0.99  # accepted shares beyond which a group is hardly decided about
RARE, COMMON = 0.05, 0.95  # base rates between which that is no answer
KEPT = 0.25  # of what the unified threshold gains
FINEST = 0.01  # of limits, here: a rate that moves in smaller steps is fine enough for any
MOST = 4  # groups named

Way: TypeAlias = str | list[str]  # words, or an option: its name, its value, words before and after it


def cautions(
    cells: Cells,
    question: Question,
    scale: Scale,
    after: Outcome,
    before: Outcome,
    *,
    can_mix: bool = False,
    can_pool: bool = True,
    segments: tuple[tuple[Name, ...], Floats, Ints] | None = None,
) -> list[Note]:
    """Notes on an answer that hardly decides, and on groups in which everybody, or nobody, is accepted.

    `segments` are names, accepted shares and rows (3, m) of segments that have the thresholds.
    """
    groups, totals = cells.groups, after.totals
    selected = after.rates[SELECTION_INDEX]
    base, poor = _poor(selected, totals)
    found = []
    if said := _all_rows(selected, after, question):
        found.append(said)
    if poor.any() and not (found and poor.all()):
        words = (f"{_accepts(selected[k], repr(groups[k]))}, {_where(base[k])}" for k in np.flatnonzero(poor))
        found.append(f"it {first_few(words, MOST, '; ')}")
    if segments is not None and not poor.any():
        names, taken, each = segments
        shares, hardly = _poor(taken, each)
        if hardly.any() and not hardly.all():
            words = (
                f"{_accepts(taken[j], f'segment {names[j]!r}')}, {_where(shares[j])}" for j in np.flatnonzero(hardly)
            )
            found.append(f"it {first_few(words, MOST, '; ')}")
    if not question.totals and (said := _kept(after, before, scale)):
        found.append(said)
    notes: list[Note] = []
    if found:
        n = effective_rows(cells)
        small, forced = _small_groups(groups, after, question, n)
        ways = _ways(n[SELECTION_INDEX], small if can_pool else [], question, can_mix)
        ways += ["other segments"] * (segments is not None)
        notes.append(Note.warned("degenerate", found="; ".join([*found, *forced]), ways=ways))
    for rate, verb in ((1.0, "accepts"), (0.0, "rejects")):
        alike = [groups[k] for k in np.flatnonzero(after.has[SELECTION_INDEX] & (selected == rate) & ~poor)]
        if alike:
            where = "every group" if len(alike) == len(groups) else first_few(map(printable_name, alike), MOST)
            notes.append(Note(f"{verb}_all", f"this {verb} everybody in {where}", {"groups": alike}))
    return notes


def _poor(selected: Floats, totals: Ints) -> tuple[Floats, Bools]:
    """Base rates, and whether nearly nobody, or nearly everybody, is accepted where that is no answer."""
    labelled = totals[0] + totals[1]
    base = totals[1] / np.maximum(labelled, 1)
    return base, (labelled > 0) & (base >= RARE) & (base <= COMMON) & ((selected < FEW) | (selected > MANY))


def warned(result: Result, sketch: Sketch | None = None) -> Result:
    """The same result, after warnings for notes that a user should not miss.

    With the counted sketch, also warns if a threshold lies next to a bin with many different scores.
    """
    if sketch is not None:
        warn_if_coarse(sketch, _thresholds_of(result, sketch))
    if result.proof.verdict != "infeasible":
        for note in result.notes:
            note.warn()
    return result


def _thresholds_of(result: Result, sketch: Sketch) -> dict[Name, list[float]]:
    """For each counted group the thresholds that its rows may get; by segment these are all thresholds."""
    mixed = result.thresholds.mixtures
    own = {name: [t] if mixed is None else [t for t, _ in mixed[name]] for name, t in result.thresholds.items()}
    if result.rates.by_segment is None and own.keys() == set(sketch.groups):
        return own
    return dict.fromkeys(sketch.groups, sorted({t for several in own.values() for t in several}))


def _all_rows(selected: Floats, after: Outcome, question: Question) -> str | None:
    """What is wrong with the share of all rows that is accepted."""
    totals, rows = after.totals, after.totals.sum(axis=0)
    share = float(selected @ rows) / max(int(rows.sum()), 1)
    if any(limit.most < math.inf and share <= limit.most <= FEW for limit in question.totals):
        return None  # as few as were asked for
    positive = float(totals[1].sum() / max(int(totals[:2].sum()), 1))
    hardly = RARE <= positive <= COMMON and not FEW <= share <= MANY
    if not hardly and not (share in (0.0, 1.0) and after.error > 0):
        return None
    return f"it {_accepts(share)}, {_where(positive)}"


def _kept(after: Outcome, before: Outcome, scale: Scale) -> str | None:
    """Whether most of what the unified threshold gains over deciding all rows alike is lost."""
    negative, positive, _ = after.totals.sum(axis=1).tolist()
    alike = min(scale.fp * negative, scale.fn * positive) / scale.unit
    gain, left = alike - before.weighted_error, alike - after.weighted_error
    if not (gain > 1e-12 and left < KEPT * gain):
        return None
    share = f"{_percent(left / gain)} of what" if left > 0 else "nothing of what"
    return f"it keeps {share} the best unified threshold gains over deciding all rows alike"


def _small_groups(
    groups: tuple[Name, ...], after: Outcome, question: Question, n_of: Floats
) -> tuple[list[int], list[str]]:
    """Groups whose rates jump further, from one threshold to the next, than the gap may be; and words that name them.

    A rate of n rows moves in steps of 1 / n. Where that is more than the limit, no threshold may come near those of
    larger groups, and all are driven to where everybody is treated alike.
    """
    has = after.has
    fewest: dict[int, tuple[float, str]] = {}
    allowed = {limit.criterion.name: limit.gap() for limit in question.limits}
    for name, r in question.compared_rates:
        n, what = n_of[list(SOLVER_RATES[r].parts)].min(axis=0), SOLVER_RATES[r].fewest
        gap = allowed.get(name)
        if name not in allowed:  # a penalty is paid for the gap that is left
            gap = float(np.ptp(after.rates[r][has[r]])) if has[r].any() else 0.0
        if gap is None:
            continue
        for k in np.flatnonzero(has[r] & (n * max(gap, FINEST) < 1)).tolist():
            fewest[k] = min(fewest.get(k, (math.inf, "")), (float(n[k]), what))
    small = sorted(fewest, key=lambda k: (fewest[k][0], k))
    if not small:
        return [], []
    named = [f"{groups[k]!r} ({fewest[k][0]:g} {fewest[k][1]})" for k in small]
    return small, [f"forced by few rows, whose rates move in steps larger than the limit: {first_few(named, MOST)}"]


def _ways(rows: Floats, small: list[int], question: Question, can_mix: bool) -> list[Way]:
    """What to try."""
    ways: list[Way] = []
    if small:
        least = math.floor(rows[small].max()) + 1
        pooled = rows < least
        if pooled.sum() > 1 and not pooled.all():
            ways.append(["min_rows", str(least), "", " (pools these groups)"])
    if question.limits:
        ways.append("a looser limit")
    if question.penalties:
        ways.append("a lighter penalty")
    if can_mix and question.limits:
        ways.append(["randomize", "True", "", ""])
    if question.unified:
        ways.append(["unified", "True", "a threshold for each group instead of ", ""])
    nothing = not question.limits and not question.penalties
    if nothing and not question.balanced:
        ways.append(["objective", repr("balanced_error"), "", ""])
    if nothing or question.costs != (1.0, 1.0):
        ways.append("other prices")
    return ways


def _accepts(share: float, group: str | None = None) -> str:
    if share in (0.0, 1.0):
        return f"{'accepts' if share else 'rejects'} everybody" + (f" in {group}" if group else "")
    return f"accepts {_percent(share)} of {group or 'all rows'}"


def _where(positive: float) -> str:
    return f"where {_percent(positive)} are positive"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


Sums: TypeAlias = dict[Name, tuple[Floats, Floats]]  # of weights and of their squares, by group

NOISIEST = 16  # groups looked at; the others hardly widen the range
PROMISE = ["confidence", "0.95", "", ""]


def told_of_noise(result: Result, cells: Cells) -> Result:
    """The same result, with a note where one of its limits is below the gap that chance alone shows.

    Nothing is said of limits that are not met, and of answers that are degenerate anyhow.
    """
    limits = result.question.limits
    if not limits or result.proof.verdict == "infeasible" or has(result.notes, "degenerate"):
        return result
    sums_of = _effective(cells)
    found = [one for limit in limits for one in _noises(result, limit, sums_of)]
    told = [one for one in found if one.gap > one.allowed]
    if not told:
        return result
    name, rate, gap, _, group, rows, what = max(told, key=lambda one: one.gap - one.allowed)
    what = f"effective {what}" if cells.weighted else what
    can_promise = not result.question.smooth and not result.question.penalties
    ways = [f"more rows of {group!r}", "a wider limit", *([PROMISE] if can_promise else [])]
    limit = next(one.asked for one in limits if one.criterion.name == name)
    values = {"limit": limit, "rate": rate, "gap": gap, "group": group, "rows": rows, "what": what, "ways": ways}
    return replace(result, notes=(*result.notes, Note.warned("noise", criterion=name, **values)))


class Noise(NamedTuple):
    """The gap that chance shows, beside the one that a limit allows."""

    criterion: str
    rate: str
    gap: float
    allowed: float
    group: Name  # that has the fewest rows
    rows: float  # effective ones
    what: str  # the rows are


def _noises(result: Result, limit: Limit, sums_of: Sums) -> list[Noise]:
    """The noise of each rate that a limit is about; of their sum where the limit is on that."""
    gap = limit.gap()
    if gap is None:
        return []
    name, found = limit.criterion.name, []
    for rate in limit.criterion.rates:
        groups, values, rows, errors = _errors(result, rate, sums_of)
        if len(groups) < 2:
            continue
        allowed = gap * float(values @ rows) / float(rows.sum()) if limit.form is Form.RATIO else gap
        far = limit.form is not Form.SUM and allowed >= most_by_chance(errors)
        least = int(np.argmin(rows))
        chance = 0.0 if far else chance_gap(errors)
        found.append(Noise(name, rate.name, chance, allowed, groups[least], float(rows[least]), rate.fewest))
    if limit.form is not Form.SUM or len(found) < 2:
        return found
    both = " and ".join(one.rate for one in found)
    return [max(found, key=lambda one: one.gap)._replace(rate=both, gap=sum(one.gap for one in found))]


def most_by_chance(errors: Floats) -> float:
    """A bound of `chance_gap` that costs nothing: the largest of k standard normal numbers is sqrt(2 log k) at most."""
    return 2.0 * math.sqrt(2.0 * math.log(len(errors))) * float(errors.max())


def chance_gap(errors: Floats) -> float:
    """Expected largest minus smallest of independent normal numbers with mean 0 and these standard deviations."""
    if len(errors) == 2:
        return math.hypot(*errors.tolist()) * math.sqrt(2.0 / math.pi)
    errors = np.sort(errors)[::-1][:NOISIEST]
    if not (len(errors) and errors[0] > 0.0):
        return 0.0
    # E max - E min = 2 * integral over x > 0 of P(some are above x) + P(some are below x) - 1
    x, step = np.linspace(0.0, 6.0 * errors[0], 129, retstep=True)
    z = x[:, None] / np.maximum(errors, 1e-300)
    below = np.array([0.5 * math.erfc(-v * math.sqrt(0.5)) for v in z.ravel().tolist()]).reshape(z.shape)
    height = 1.0 - below.prod(axis=1) - (1.0 - below).prod(axis=1)
    return float(2.0 * step * (height.sum() - 0.5 * (height[0] + height[-1])))


def _effective(cells: Cells) -> Sums:
    """Sum of weights, and of their squares, of labels 0, 1 and unlabelled, by group."""
    totals = cells.totals.astype(np.float64) * cells.weight_unit
    squares: Floats = cells.by_group(cells.squares.sum(axis=2)) if cells.weighted else totals
    return {name: (totals[:, k], squares[:, k]) for k, name in enumerate(cells.groups)}


def _errors(result: Result, rate: Rate, sums_of: Sums) -> tuple[list[Name], Floats, Floats, Floats]:
    """Groups that have the rate, its values, effective rows behind them, and standard errors as if all had the same.

    The errors of a mean of two shares add up in squares, and the smaller of both cells counts as its rows.
    """
    groups = [name for name, rates in result.rates.items() if getattr(rates, rate.name) is not None]
    at = np.array([getattr(result.rates[name], rate.name) for name in groups], dtype=np.float64)
    if len(rate.shares) > 1:
        parts = [_errors(result, SOLVER_RATES[r], sums_of) for r in rate.parts]
        places = [[own.index(name) for name in groups] for own, _, _, _ in parts]
        found = [(rows[place], errors[place]) for (_, _, rows, errors), place in zip(parts, places, strict=True)]
        each, errors = zip(*found, strict=True)
        return groups, at, np.minimum(*each), np.hypot(*errors) / 2.0
    labels = list(rate.labels)
    sums = (sums_of[name] for name in groups)
    n = np.array([float(all_[labels].sum()) ** 2 / float(squares[labels].sum()) for all_, squares in sums])
    common = (float(at @ n) + 1.0) / (float(n.sum()) + 2.0)
    return groups, at, n, np.sqrt(common * (1.0 - common) / n)


VISIBLE = 1e-9  # smaller differences are rounding


def with_gap_notes(result: Result) -> Result:
    """The result with a note on each limited or penalised gap that is wider than before; without any, on the widest."""
    notes = tuple(note for note in _notes(result) if note not in result.notes)
    return replace(result, notes=(*result.notes, *notes)) if notes else result


def _notes(r: Result) -> list[Note]:
    if r.question.unified:
        return []
    wider = {name: by for name in r.gaps if name in r.gaps.before and (by := _wider(r, name)) > VISIBLE}
    asked = {one.name for one in r.question.criteria}
    if asked:
        return [_wider_note(r, name) for name in wider if name in asked]
    own = [name for name in wider if CRITERION[name].form is Form.DIFFERENCE]
    if not own:
        return []
    name = max(own, key=lambda name: wider[name])
    return [_wider_note(r, name, "no limit was asked for: ")]


def _wider_note(r: Result, name: str, beginning: str = "") -> Note:
    values = {"criterion": name, "gap": r.gaps[name], "before": r.gaps.before[name]}
    return Note("wider_gap", f"{beginning}the {_numbers(r, name)} at the best unified threshold", values)


def _wider(r: Result, name: str) -> float:
    """By how much a gap is wider than before; a ratio, by how much it is lower."""
    return CRITERION[name].wider(r.gaps[name], r.gaps.before[name])


def _numbers(r: Result, name: str) -> str:
    now, before = short_number(r.gaps[name]), short_number(r.gaps.before[name])
    what = (
        f"{name} ratio is {now}, lower than"
        if CRITERION[name].form is Form.RATIO
        else f"{name} gap is {now}, wider than"
    )
    return f"{what} {before}"
