"""What a report is made of, and the words all its sections share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gstar_fast._base.names import Name
from gstar_fast._base.text import short_number, threshold_number
from gstar_fast._criteria import CRITERION, Form
from gstar_fast._report.data import FrontierPoints
from gstar_fast._report.html import Html, join, tag
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._solver.answer.parts import Note
from gstar_fast._solver.answer.result import Result

if TYPE_CHECKING:
    from gstar_fast._audit.audit import Audit, Estimate

MOST_ROWS = 200  # groups listed in a table


@dataclass(frozen=True)
class Deciding:
    """Groups, or segments: their rows, and what thresholds do to them."""

    sketch: Sketch
    audit: Audit
    before: Audit
    featured: tuple[Name, ...] = ()
    kind: Literal["group", "segment"] = "group"

    @property
    def listed(self) -> tuple[Name, ...]:
        """Those in the tables."""
        return self.audit.groups[:MOST_ROWS]

    @property
    def not_listed(self) -> Html | None:
        """A word on those that are in no table."""
        left = len(self.audit.groups) - len(self.listed)
        where = "audit.to_dataframe()" if self.kind == "group" else "result.segment_rates"
        words = f"{left} more {self.kind}s are not listed; {where} has them all."
        return tag("p", words, class_="soft small") if left else None


@dataclass(frozen=True)
class Contents:
    """Everything a report shows."""

    title: str
    result: Result
    sketch: Sketch
    audit: Audit
    before: Audit
    deciding: Deciding
    is_unified: bool  #: whether `before` is the best unified threshold
    points: FrontierPoints | None
    no_points: str | None  #: why there is no frontier, in a sentence
    notes: tuple[Note, ...]
    names: dict[Name, str]
    digest: str
    made: str
    versions: dict[str, str]
    command: str
    is_python: bool

    @property
    def costly(self) -> bool:
        """Whether the objective has prices, so that the cost that was minimised is not the error rate."""
        return self.result.question.weighted

    @property
    def measure(self) -> str:
        """What was minimised, ignoring penalties."""
        return "cost" if self.costly else "error"

    @property
    def error_name(self) -> str:
        """The same, as axes and columns are called."""
        return "cost" if self.costly else "error rate"

    @property
    def before_words(self) -> str:
        """What the pictures call the time before."""
        return "before: one threshold for all" if self.is_unified else "before: the audit that was given"

    @property
    def kind(self) -> str:
        """What has a threshold of its own."""
        return self.deciding.kind

    @property
    def protected(self) -> Deciding:
        """The groups between which gaps are measured."""
        return Deciding(self.sketch, self.audit, self.before)


def section(name: str, title: object, *children: object) -> Html:
    """A landmark with its heading."""
    return tag("section", tag("h2", title, id=f"{name}-name"), *children, id=name, aria_labelledby=f"{name}-name")


def who(contents: Contents, group: Name) -> Html:
    """A group's name, kept from changing the direction of the text around it."""
    return tag("bdi", contents.names[group])


def plain(name: str) -> str:
    """A criterion or metric as people write it."""
    return name.replace("_", " ")


def confidence(audit: Audit) -> str:
    """The confidence of the intervals, as text."""
    return f"{100 * audit.confidence:.6g}\u00a0% confidence"


def gap_word(name: str) -> str:
    """Most criteria are gaps; one is a ratio."""
    return f"{plain(name)} {'ratio' if CRITERION[name].form is Form.RATIO else 'gap'}"


def bound_word(name: str) -> str:
    """Which side of a limit is allowed."""
    return "at least" if CRITERION[name].from_below else "at most"


def percent(value: float) -> str:
    """A share for people who think in hundreds."""
    return f"{100 * value:.2f}\u00a0%"


def limits_of(estimate: Estimate | None, between: str = " to ") -> str | None:
    """The interval as words; None where there is none."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return None
    return f"{short_number(estimate.low)}{between}{short_number(estimate.high)}"


def estimate_cell(estimate: Estimate | None) -> Html:
    """A number with its interval below."""
    value = short_number(None if estimate is None else estimate.value)
    interval = limits_of(estimate, "\u2009\u2013\u2009")  # an en dash: no rate and no gap is negative
    return tag("td", value, tag("small", interval) if interval else None, class_="n")


def threshold_text(result: Result, group: Name) -> str:
    """A group's threshold, or its thresholds with their probabilities."""
    mixture = result.mixtures[group] if result.mixtures is not None else ()
    if len(mixture) > 1:
        return " | ".join(f"{100 * p:.3g}\u00a0%\u00a0{threshold_number(t)}" for t, p in mixture)
    return threshold_number(result.thresholds[group])


def asked(result: Result) -> list[str]:
    """The criteria that were limited or penalised, in the order given."""
    return [one.name for one in result.question.criteria if one.compares]


def sentence_list(parts: list[str | Html]) -> Html:
    """a, b and c."""
    if len(parts) < 2:
        return join(parts)
    return join([join(parts[:-1], ", "), " and ", parts[-1]])
