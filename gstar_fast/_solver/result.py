"""What `solve` answers: thresholds, rates, gaps, and a verdict a person can read.

Computes nothing new.
"""

from __future__ import annotations

import os
import reprlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gstar_fast._base.files import write_atomically
from gstar_fast._base.json import decode_name, decode_number, dumps, encode_name, encode_number, read
from gstar_fast._base.names import Name
from gstar_fast._base.public import lives_in
from gstar_fast._base.text import aligned, row_count, short_number, threshold_number
from gstar_fast._base.thresholds import (
    RESULT_FORMAT,
    VERSION,
    Mixture,
    Nan,
    Unknown,
    decode_mixture,
    of_document,
    read_text,
    seal,
    version_of,
)
from gstar_fast._decide.decider import Decider
from gstar_fast._solver.question import is_met
from gstar_fast._words import DEFINITIONS
from gstar_fast.errors import InfeasibleWarning

WORTH_MIXING = 0.002  # error saved by mixing that a verdict mentions
VERDICTS = ("optimal", "converged", "not_converged", "infeasible")


@lives_in("gstar_fast.results")
@dataclass(frozen=True)
class GroupRates:
    """One group at its threshold. A rate whose rows are missing is None."""

    rows: float
    tpr: float | None
    fpr: float | None
    selection_rate: float | None
    accuracy: float | None
    balanced_accuracy: float | None


@lives_in("gstar_fast")
@dataclass(frozen=True)
class Result:
    """Thresholds with a verdict. Made by `solve`; printing it shows the table a person wants.

    Attributes
    ----------
    thresholds : dict
        One number for each group; accept when `score >= threshold`. -inf accepts everybody. With `randomize=True` it is
        the most probable of the group's thresholds.
    mixtures : dict or None
        With `randomize=True`, for each group its (threshold, probability) pairs; else None.
    error : float
        Expected error rate over labelled rows.
    loss : float
        What was minimised: the square of the error (weighted by `costs` and `balanced`), plus the penalties.
    gaps : dict
        Every criterion that is defined for these groups; `definitions` says how each is measured.
    rates : dict of GroupRates
        By group.
    verdict : {"optimal", "converged", "not_converged", "infeasible"}
        `message` says it in a sentence.
    lower_bound, optimality_gap : float
        No allowed thresholds have a loss below `lower_bound`; `optimality_gap` is what is left of `loss` above it.
    iterations : int
        Boxes opened by the exact search, or steps of an iterative method, whose losses are in `trace`.
    method, density : str
        What was asked of `solve`.
    default_threshold : float
        The best unified threshold: the least error with one threshold for everybody, limits and penalties aside.
    before_error, before_gaps : float, dict
        Error and gaps at `default_threshold`.
    n_rows : float
        Rows (or weight) the rates speak of.
    limits, penalties, costs, balanced, unified, min_rows
        What was asked, as given to `solve`.
    notes : tuple of str
        What to mind: groups that were pooled or left out of a gap, thresholds that hardly decide.
    score_column, group_column : str or None
        Names of the columns the rows came from, where known; for the command line.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> sketch = gf.Sketch.from_rows([1, 2, 3, 4, 2, 3, 4, 5], [0, 0, 1, 1, 0, 0, 1, 1], list("aaaabbbb"), bins=16)
    >>> result = gf.solve(sketch, limits={"equalized_odds": 0.02})
    >>> result.verdict, result.error, result.thresholds
    ('optimal', 0.0, {'a': 2.5, 'b': 3.5})
    """

    thresholds: dict[Name, float]
    error: float
    loss: float
    gaps: dict[str, float]
    rates: dict[Name, GroupRates]
    verdict: str
    message: str
    lower_bound: float
    optimality_gap: float
    method: str
    density: str
    iterations: int
    default_threshold: float
    before_error: float
    before_gaps: dict[str, float]
    n_rows: float
    mixtures: dict[Name, Mixture] | None = None
    limits: Mapping[str, float] = field(default_factory=dict)
    penalties: Mapping[str, float] = field(default_factory=dict)
    costs: tuple[float, float] = (1.0, 1.0)
    balanced: bool = False
    unified: bool = False
    min_rows: float = 0.0
    notes: tuple[str, ...] = ()
    trace: tuple[float, ...] = ()
    score_column: str | None = None
    group_column: str | None = None
    # a text and a number, or what computes them
    _digest: str | Callable[[], str] | None = field(default=None, repr=False, compare=False)
    _mixing: float | Callable[[], float | None] | None = field(default=None, repr=False, compare=False)

    @property
    def sketch_digest(self) -> str | None:
        """SHA-256 of the sketch these thresholds came from; computed when first asked for, from a copy."""
        digest = self._digest() if callable(self._digest) else self._digest
        object.__setattr__(self, "_digest", digest)
        return digest

    @property
    def mixing_saves(self) -> float | None:
        """How much lower the error would be with `randomize=True`; computed when first asked for.

        With `costs` or `balanced` it is the weighted error. None where it is not known: without limits, with penalties,
        for unified or mixed thresholds, smooth densities, more than 16 groups, or points of a frontier.
        """
        saved = self._mixing() if callable(self._mixing) else self._mixing
        object.__setattr__(self, "_mixing", saved)
        return saved

    def __getstate__(self) -> dict[str, object]:
        self.sketch_digest, self.mixing_saves  # noqa: B018 - a pickle holds the text and the number, not the sketch
        return dict(vars(self))

    @property
    def groups(self) -> tuple[Name, ...]:
        """Names of the groups, in canonical order."""
        return tuple(self.thresholds)

    @property
    def randomized(self) -> bool:
        """Whether decisions need a key for each row."""
        return self.mixtures is not None

    @property
    def meets_limits(self) -> bool:
        """Whether every limit holds on the rows it was found on; where one does not, deciding warns.

        Mixtures and smooth densities may miss a limit by 1e-9, which is rounding.
        """
        held = (is_met(name, limit, self.gaps.get(name), 1e-9) is not False for name, limit in self.limits.items())
        return self.verdict != "infeasible" and all(held)

    @property
    def definitions(self) -> dict[str, str]:
        """How each gap in `gaps` is measured."""
        return {name: DEFINITIONS[name] for name in self.gaps}

    def __str__(self) -> str:
        return text_of(self)

    def to_json(self) -> str:
        """The result as readable JSON; schemas/result.json describes it."""
        return dumps(seal(_encode(self), self._decider()._thresholds))

    @classmethod
    def from_json(cls, text: str) -> Result:
        """Read what `to_json` wrote; anything else, or what was changed since, raises ValueError and says where."""
        document = read(text)
        result = _decode(document)
        of_document(document)  # compares the checksum, as a decider that reads the same file does
        return result

    def decider(
        self, *, unknown: Unknown = "raise", nan: Nan = "raise", expires: datetime | str | None = None
    ) -> Decider:
        """What decides rows by these thresholds: a callable for arrays, and `.one(score, group)`.

        Parameters
        ----------
        unknown : {"raise", "default"} or float
            For a group that has no threshold: refuse it, take the best unified threshold, or take this number.
        nan : {"raise", False, True}
            For a score that is NaN: refuse it, reject the row, or accept it.
        expires : datetime or str, optional
            When the thresholds should no longer be used, with its time zone.

        Warns
        -----
        InfeasibleWarning
            If the thresholds do not meet the limits: what decides are then those that miss them by the least.

        Examples
        --------
        >>> import gstar_fast as gf
        >>> from gstar_fast.datasets import paper_synthetic
        >>> table = paper_synthetic(rows=4000)
        >>> sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups)
        >>> result = gf.solve(sketch, limits={"equalized_odds": 0.02})
        >>> decisions = result.decider()(table.scores, table.groups)
        >>> bool((decisions != table.labels).mean() == result.error)
        True
        """
        if not self.meets_limits:
            warnings.warn(f"{self.verdict}: {self.message}", InfeasibleWarning, stacklevel=2)
        return self._decider(unknown, nan, expires)

    def _decider(
        self, unknown: Unknown = "raise", nan: Nan = "raise", expires: datetime | str | None = None
    ) -> Decider:
        return Decider(
            self.thresholds,
            unknown=unknown,
            nan=nan,
            default=self.default_threshold,
            unified=self.unified,
            mixtures=self.mixtures,
            sketch_digest=self.sketch_digest,
            expires=expires,
            score_column=self.score_column,
            group_column=self.group_column,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result as JSON; the file is replaced whole or not at all. `Decider.load` reads it too."""
        write_atomically(path, self.to_json().encode("utf-8"))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a saved result. A file that was changed, or that has more than 128 MiB, raises ValueError."""
        text = read_text(path)
        try:
            return cls.from_json(text)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None


# ------------------------------------------------------------------------------------------------------------ text


def loss_words(r: Result) -> str:
    """What the loss of a result is made of."""
    error = "weighted error" if r.balanced or r.costs != (1.0, 1.0) else "error rate"
    return f"the square of the {error}{' plus the penalties' if r.penalties else ''}"


def text_of(r: Result, most: int = 50) -> str:
    """The verdict, a row for each group, and what changed."""
    lines = [f"{r.verdict}: {r.message}"]
    lines += [f"note: {note}" for note in r.notes]
    if r.mixing_saves is not None and r.mixing_saves > WORTH_MIXING:
        lines.append(f"note: mixing thresholds (randomize=True) would lower the error by {r.mixing_saves:.4f}")
    asked = [f"{n} {'>=' if n == 'disparate_impact' else '<='} {v:g}" for n, v in r.limits.items()]
    asked += [f"{v:g} x {n}" for n, v in r.penalties.items()]
    if asked:
        lines.append(f"asked: {', '.join(asked)}")
    if "loss" in r.message:  # beside the error rate below, which looks nothing like it
        lines.append(f"loss: {r.loss:.6g}, {loss_words(r)}")
    lines.append("")
    of = threshold_number if r.density == "empirical" else short_number  # smooth thresholds lie anywhere, not at edges
    rows = [["group", "rows", "threshold", "tpr", "fpr", "selected"]]
    for name, threshold in list(r.thresholds.items())[:most]:
        at = r.rates[name]
        mixture = r.mixtures[name] if r.mixtures is not None else ()
        shown = " | ".join(f"{p:.0%} {of(t)}" for t, p in mixture) if len(mixture) > 1 else of(threshold)
        rates = (short_number(x) for x in (at.tpr, at.fpr, at.selection_rate))
        rows.append([str(name), row_count(at.rows), shown, *rates])
    lines += aligned(rows)
    if len(r.thresholds) > most:
        lines.append(f"... and {len(r.thresholds) - most} more groups")
    lines.append("")
    changes = [["", "before", "after", ""], ["error", short_number(r.before_error), short_number(r.error), ""]]
    for name, gap in r.gaps.items():
        changes.append([name, short_number(r.before_gaps.get(name)), short_number(gap), DEFINITIONS[name]])
    table = aligned([row[:3] for row in changes])
    lines += [f"{line}  {row[3]}".rstrip() for line, row in zip(table, changes, strict=True)]
    lines.append(f"before: the best unified threshold, {of(r.default_threshold)}")
    return "\n".join(lines)


# ------------------------------------------------------------------------------------------------------------ JSON

_NUMBERS = ("error", "loss", "lower_bound", "optimality_gap", "n_rows")
_WORDS = ("verdict", "message", "method", "density")
_SWITCHES = ("balanced", "unified")
_COLUMNS = ("score_column", "group_column")
_PLAIN = (*_WORDS, "iterations", *_SWITCHES, *_COLUMNS)
_RATES = ("tpr", "fpr", "selection_rate", "accuracy", "balanced_accuracy")


def _encode(r: Result) -> dict[str, Any]:
    groups = []
    for name, threshold in r.thresholds.items():
        at = r.rates[name]
        entry: dict[str, Any] = {"name": encode_name(name), "threshold": encode_number(threshold), **vars(at)}
        if r.mixtures is not None:
            entry["mixture"] = [{"threshold": encode_number(t), "probability": p} for t, p in r.mixtures[name]]
        groups.append(entry)
    return {
        "format": RESULT_FORMAT,
        "version": VERSION,
        **{name: getattr(r, name) for name in _PLAIN},
        **{name: encode_number(getattr(r, name)) for name in _NUMBERS},
        "sketch_digest": r.sketch_digest,
        "limits": dict(r.limits),
        "penalties": dict(r.penalties),
        "costs": list(r.costs),
        "min_rows": r.min_rows,
        "mixing_saves": r.mixing_saves,
        "groups": groups,
        "gaps": dict(r.gaps),
        "default_threshold": encode_number(r.default_threshold),
        "before": {"error": r.before_error, "gaps": dict(r.before_gaps)},
        "notes": list(r.notes),
        "trace": [encode_number(x) for x in r.trace],
    }


def _decode(data: Any) -> Result:
    if not isinstance(data, dict) or data.get("format") != RESULT_FORMAT:
        raise ValueError(f"not a saved result: 'format' is not {RESULT_FORMAT!r}")
    try:
        version_of(data)
        return _decoded(data)
    except KeyError as error:
        raise ValueError(f"not a saved result: it lacks {error.args[0]!r}") from None
    except ValueError as error:
        raise ValueError(f"not a saved result: {error}") from None


def _decoded(data: dict[str, Any]) -> Result:
    if data["verdict"] not in VERDICTS:
        raise ValueError(f"verdict must be one of {', '.join(VERDICTS)}; got {reprlib.repr(data['verdict'])}")
    thresholds: dict[Any, float] = {}
    rates: dict[Any, GroupRates] = {}
    mixtures: dict[Any, tuple[tuple[float, float], ...]] = {}
    if not _is(data["groups"], list, "groups"):
        raise ValueError("groups must be a list with at least one group")
    for i, entry in enumerate(data["groups"]):
        where = f"groups[{i}]"
        name = decode_name(_is(entry, dict, where)["name"], f"{where}.name")
        if name in thresholds:
            raise ValueError(f"{where}.name repeats {name!r}")
        thresholds[name] = decode_number(entry["threshold"], f"{where}.threshold")
        rates[name] = GroupRates(
            rows=_finite(entry["rows"], f"{where}.rows"),
            **{rate: None if entry[rate] is None else _finite(entry[rate], f"{where}.{rate}") for rate in _RATES},
        )
        if "mixture" in entry:
            mixtures[name] = decode_mixture(entry["mixture"], f"{where}.mixture")
    costs = _is(data["costs"], list, "costs")
    if len(costs) != 2:
        raise ValueError(f"costs must be two numbers; got {len(costs)}")
    iterations = data["iterations"]
    if type(iterations) is not int or iterations < 0:
        raise ValueError(f"iterations must be a whole number; got {reprlib.repr(iterations)}")
    before = _is(data["before"], dict, "before")
    plain: dict[str, Any] = {name: decode_number(data[name], name) for name in _NUMBERS}
    plain |= {name: _is(data[name], str, name) for name in _WORDS}
    plain |= {name: _is(data[name], bool, name) for name in _SWITCHES}
    plain |= {name: _is(data[name], (str, type(None)), name) for name in _COLUMNS}
    return Result(
        thresholds=thresholds,
        rates=rates,
        mixtures=mixtures or None,
        gaps=_by_criterion(data["gaps"], "gaps"),
        limits=_by_criterion(data["limits"], "limits"),
        penalties=_by_criterion(data["penalties"], "penalties"),
        costs=(_finite(costs[0], "costs[0]"), _finite(costs[1], "costs[1]")),
        iterations=iterations,
        min_rows=_finite(data.get("min_rows", 0.0), "min_rows"),
        default_threshold=decode_number(data["default_threshold"], "default_threshold"),
        before_error=_finite(before["error"], "before.error"),
        before_gaps=_by_criterion(before["gaps"], "before.gaps"),
        notes=tuple(_is(note, str, "each of notes") for note in _is(data["notes"], list, "notes")),
        trace=tuple(decode_number(x, "trace") for x in _is(data["trace"], list, "trace")),
        _digest=_is(data["sketch_digest"], (str, type(None)), "sketch_digest"),
        _mixing=None if data.get("mixing_saves") is None else _finite(data["mixing_saves"], "mixing_saves"),
        **plain,
    )


_KINDS: dict[Any, str] = {
    str: "a string",
    bool: "true or false",
    list: "a list",
    dict: "an object",
    (str, type(None)): "a string or null",
}


def _is(value: Any, kind: Any, where: str) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{where} must be {_KINDS[kind]}; got {reprlib.repr(value)}")
    return value


def _finite(value: Any, where: str) -> float:
    return decode_number(value, where, infinite=False)


def _by_criterion(value: Any, where: str) -> dict[str, float]:
    for name in _is(value, dict, where):
        if name not in DEFINITIONS:
            raise ValueError(f"{where} has {reprlib.repr(name)}; there are {', '.join(DEFINITIONS)}")
    return {name: _finite(number, f"{where}.{name}") for name, number in value.items()}
