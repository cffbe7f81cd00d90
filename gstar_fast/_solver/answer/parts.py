"""Parts of a result: thresholds, rates and gaps with what belongs to them, proof, origin, notes, evidence, promises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from gstar_fast._backends.interface import SketchCore
from gstar_fast._base.names import Name
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.text import aligned, first_few, printable_name, row_count, short_number
from gstar_fast._base.thresholds import Mixture
from gstar_fast._base.warn import warn
from gstar_fast._criteria import CRITERION, Limit
from gstar_fast._question.question import LimitKey, LimitLike
from gstar_fast._sketch.columns import warn_of_labels

if TYPE_CHECKING:
    from gstar_fast._solver.answer.proof import Steps
    from gstar_fast._solver.answer.result import Result


Key = TypeVar("Key")
Value = TypeVar("Value")

WARNED: Final = ("degenerate", "noise", "overfit")  # codes of notes that `solve` also gives as warnings
ROUNDING: Final = 1e-9  # by which mixtures and smooth densities may miss a limit


class Part(dict[Key, Value]):
    """A mapping with attributes. It equals another part if the attributes are equal too, and a plain dict without."""

    def __eq__(self, other: object) -> bool:
        same = dict.__eq__(self, other)  # NotImplemented for what is no mapping
        return same if same is not True else not isinstance(other, Part) or vars(self) == vars(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None


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


class GroupThresholds(Part[Name, float]):
    """A threshold for each group or segment, its `mixtures` if there are any, and the best unified one, `default`."""

    def __init__(self, values: Mapping[Name, float], default: float, mixtures: dict[Name, Mixture] | None) -> None:
        super().__init__(values)
        self.default, self.mixtures = default, mixtures


class Rates(Part[Name, GroupRates]):
    """Rates by (protected) group, and the error and the cost of all rows.

    `by_segment` has the rates of segments, for thresholds by segment. `before` are the rates at the best unified
    threshold; None in these.
    """

    def __init__(
        self,
        values: Mapping[Name, GroupRates],
        error: float,
        cost: float,
        before: Rates | None = None,
        by_segment: dict[Name, GroupRates] | None = None,
    ) -> None:
        super().__init__(values)
        self.error, self.cost, self.before, self.by_segment = error, cost, before, by_segment


@lives_in("gstar_fast.results")
@dataclass(frozen=True)
class Held:
    """A limit, the value that was reached, and that of the best unified threshold; None where it is not defined."""

    limit: Limit
    reached: float | None
    before: float | None

    @property
    def met(self) -> bool | None:
        """Whether the limit holds on the counted rows, up to 1e-9 for rounding."""
        return self.limit.met(self.reached, ROUNDING)


class Gaps(Part[str, float]):
    """Every criterion that is defined; `before` at the best unified threshold, and `held` for each limit."""

    def __init__(self, values: Mapping[str, float], before: dict[str, float], held: tuple[Held, ...]) -> None:
        super().__init__(values)
        self.before, self.held = before, held

    @property
    def definitions(self) -> dict[str, str]:
        """How each gap is measured."""
        return {name: CRITERION[name].measured for name in self}


@lives_in("gstar_fast.results")
@dataclass(frozen=True)
class Note:
    """One thing to mind about a result, an audit or a certificate. `str(note)` is its text.

    Attributes
    ----------
    code : str
        What kind of note it is, such as "noise" or "pooled".
    text : str
        The note as a sentence.
    fields : dict
        The values behind the text: numbers, texts, names of groups and lists of these.
    """

    code: str
    text: str
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def warned(cls, code: str, **fields: object) -> Note:
        """A note whose text is that of the warning of the same code."""
        return cls(code, f"{code}: {_warning(code, fields)}", fields)

    def __str__(self) -> str:
        return self.text

    def warn(self) -> None:
        """Warn, if this is a note that a user should not miss."""
        if self.code in WARNED:
            warn(_warning(self.code, self.fields))

    def to_dict(self) -> dict[str, object]:
        """The note as JSON has it; names of groups that are tuples are written as in the member "groups"."""
        return {"code": self.code, "text": self.text, "fields": _encoded(self.fields)}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Note:
        """The note that `to_dict` wrote."""
        return cls(saved["code"], saved["text"], _decoded(saved["fields"]))


def label_notes(core: SketchCore) -> list[Note]:
    """Warn if all labelled rows have one label; the note on it."""
    return [Note("one_label", text) for text in warn_of_labels(core)]


def _warning(code: str, fields: Mapping[str, Any]) -> Warning:
    made: Warning = refusal(code, fields.get("criterion"), value=fields)
    return made


def has(notes: Iterable[Note], code: str) -> bool:
    """Whether there is a note of this code."""
    return any(note.code == code for note in notes)


def _encoded(value: object) -> object:
    if isinstance(value, tuple):
        return {"tuple": [_encoded(item) for item in value]}
    if isinstance(value, Mapping):
        return {name: _encoded(item) for name, item in value.items()}
    return [_encoded(item) for item in value] if isinstance(value, list) else value


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    items = {name: _decoded(item) for name, item in value.items()}
    return tuple(items["tuple"]) if set(items) == {"tuple"} else items


@dataclass(frozen=True)
class Slack:
    """How far the limits are out of reach."""

    each: float  # every limit would have to be looser by this
    least: bool  # whether a smaller slack is proven impossible

    def words(self, what: str) -> str:
        """The end of a message; `what` is shown instead, such as thresholds."""
        close = "come as close as possible" if self.least else "are the closest that were found"
        return f"they could be met if each were {self.each:g} looser; the {what} shown {close}"


@dataclass(frozen=True)
class Point:
    """Where a result stands on a frontier."""

    criterion: str
    number: int  # from 1
    of: int  # points in all
    between: bool = False  # between this point and the next one

    def __str__(self) -> str:
        where = f"between points {self.number} and {self.number + 1}" if self.between else f"point {self.number}"
        return f"{where} of {self.of} on the frontier of {self.criterion}"


@dataclass(frozen=True)
class Proof:
    """What was minimised, and what is proven about it.

    `iterations` are boxes of the exact search, or steps of an iterative method, whose losses are in `trace`. `slack` is
    given if limits are out of reach. `steps` prove thresholds by segment.
    """

    verdict: str
    message: str
    loss: float
    lower_bound: float
    iterations: int
    slack: Slack | None = None
    trace: tuple[float, ...] = ()
    steps: Steps | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Origin:
    """The counted rows: their number, the digest of the sketch, names of columns, and the point of a frontier."""

    n_rows: float
    digest: str | None = field(default=None, repr=False, compare=False)
    score_column: str | None = None
    group_column: str | None = None
    point: Point | None = None


@lives_in("gstar_fast.results")
@dataclass(frozen=True)
class Evidence:
    """Evidence that thresholds by group, or by segment, cost less than the best unified threshold.

    Attributes
    ----------
    level : float
        The `evidence` that was asked for.
    cost : float or None
        Cost of the best thresholds by group. This number and the next two are None if there was nothing to compare: the
        unified threshold misses a limit, or is itself the best.
    z : float or None
        What they save on the rows that the two rules decide differently, divided by its standard error.
    needed : float or None
        Thresholds by group are returned if `z` is larger than this.
    """

    level: float
    cost: float | None = None
    z: float | None = None
    needed: float | None = None


@lives_in("gstar_fast.results")
@dataclass(frozen=True)
class RowsNeeded:
    """How many rows a promise would need. Made by `rows_needed`; print it.

    Attributes
    ----------
    times : float or None
        How many times the rows of all groups, below 1 where fewer would do; None where no number of rows helps.
    rows : float or None
        The same as a number of rows.
    by_group : dict
        For each group, how many times its rows would be enough if the other groups stay as they are. None where rows of
        this group alone do not help.
    too_small : tuple
        Groups whose rows cannot support the limit at all, however many rows the others have.
    limits, confidence
        What was asked.
    """

    times: float | None
    rows: float | None
    by_group: dict[Name, float | None]
    too_small: tuple[Name, ...]
    limits: Mapping[LimitKey, LimitLike] = field(default_factory=dict)
    confidence: float = 0.95

    def __str__(self) -> str:
        if self.times is None:
            first = "no number of rows like these would be enough for a promise"
        elif self.times <= 1:
            first = f"the rows are enough for a promise: about {self.times:.2g} times as many would do"
        else:
            first = f"a promise needs about {self.times:.2g} times the rows: {row_count(round(self.rows or 0))}"
        lines = [f"{first} ({self.confidence:g} confidence)"]
        if self.too_small:
            lines.append(
                f"too small for these limits, whatever the others have: {first_few(map(repr, self.too_small))}"
            )
        table = [["group", "times its rows alone"]]
        table += [[printable_name(name), short_number(times, 2)] for name, times in list(self.by_group.items())[:50]]
        return "\n".join([*lines, "", *aligned(table)])


@lives_in("gstar_fast.results")
@dataclass(frozen=True)
class Promise:
    """What is promised of the limits on new rows. Made by `solve` with `confidence`.

    Attributes
    ----------
    confidence : float
        What was asked.
    chance : float
        Chance, given the counts, that a gap on new rows is above its limit, at the thresholds of the result.
    upper : dict
        By criterion, the smallest limit that could have been promised at these thresholds (for disparate_impact the
        largest ratio).
    cost : float
        Error paid for the promise: that of the result over that of `plain`. 0 where nothing is promised.
    plain : Result
        What `solve` finds without `confidence`.
    plain_chance : float
        The chance at the thresholds of `plain`.
    rows_needed : RowsNeeded or None
        How many rows a promise would need; None where one is made.
    """

    confidence: float
    chance: float
    upper: dict[str, float]
    cost: float
    plain: Result
    plain_chance: float
    rows_needed: RowsNeeded | None = None
