"""`report`: a result and its sketch as one HTML file that people can read and keep.

Computes nothing new.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import platform
import sys
import warnings
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from string import Template
from types import NoneType

import numpy as np

from gstar_fast import _backends
from gstar_fast._audit.audit import Audit
from gstar_fast._audit.audit import audit as make_audit
from gstar_fast._base.files import write_atomically
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.place import bad_option, bad_option_type, bad_type, bad_value
from gstar_fast._base.text import row_count, short_number
from gstar_fast._criteria import CRITERION, EXAMPLE, Form, as_difference
from gstar_fast._question.question import check_criterion
from gstar_fast._question.roles import asked_roles, on_its_columns
from gstar_fast._report import tables, trade_off, verdict, views
from gstar_fast._report.contents import Contents, Deciding
from gstar_fast._report.data import display_names, featured, frontier_points
from gstar_fast._report.html import html, join, tag
from gstar_fast._sketch.columns import warn_of_labels
from gstar_fast._sketch.sketch import Sketch, check_order
from gstar_fast._solver.answer.parts import Note
from gstar_fast._solver.answer.points import Frontier
from gstar_fast._solver.answer.result import Result
from gstar_fast._verbs.frontier import frontier as make_frontier
from gstar_fast.errors import LabelWarning, MissingClassWarning

__all__ = ["Report", "report"]

MOST_GROUPS = 30  # for which a frontier is computed unasked: with more it may take long


@lives_in("gstar_fast.results")
@dataclass(frozen=True)
class Report:
    """A page about thresholds. Made by `report`.

    Attributes
    ----------
    html : str
        The whole page: styles, pictures, data and script are inside, nothing is fetched.
    title : str
    """

    html: str
    title: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file; it is replaced whole or not at all."""
        write_atomically(path, self.html.encode("utf-8"))

    def __repr__(self) -> str:
        return f"Report({self.title!r}, {len(self.html.encode('utf-8')) / 1000:.0f} kB)"

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that its styles stay inside."""
        frame = 'width="100%" height="720" frameborder="0" sandbox="allow-scripts"'
        return f'<iframe {frame} title="{escape(self.title)}" srcdoc="{escape(self.html)}"></iframe>'


def report(
    result: Result,
    sketch: Sketch,
    *,
    audit: Audit | None = None,
    before: Audit | None = None,
    frontier: Frontier | bool | None = None,
    criterion: str | None = None,
    title: str | None = None,
    command: str | None = None,
    made: datetime | None = None,
) -> Report:
    """One self-contained HTML page about a result: verdict, thresholds, gaps and rates before and after, pictures.

    Parameters
    ----------
    result : Result
        What `solve` found, or `Result.load` read.
    sketch : Sketch
        The sketch it was found on.
    audit : Audit, optional
        ``gf.audit(result, sketch)`` with other settings than the default ones.
    before : Audit, optional
        The audit that is compared with; without it, that of the best unified threshold.
    frontier : Frontier or bool, optional
        What the slider moves along. Without it the frontier of `criterion` is computed, for up to 30 groups; True
        computes it for more, False leaves it out.
    criterion : str, optional
        Whose gap is traded against the error; without it the first that was asked for.
    title : str, optional
        Heading of the page.
    command : str, optional
        How to make the page again, as a shell would take it; without it, a few lines of Python.
    made : datetime, optional
        Time on the page, with its time zone; without it, SOURCE_DATE_EPOCH if that is set, or now. The same input and
        time give the same bytes.

    Returns
    -------
    Report
        With `html` and `save(path)`.

    Raises
    ------
    ValueError
        If result, audit or frontier do not belong to this sketch.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> table = gf.datasets.paper_synthetic(rows=8_000, seed=1)
    >>> sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups)
    >>> result = gf.solve(sketch, limits={"equalized_odds": 0.02})
    >>> page = gf.report(result, sketch, title="Loans, spring")
    >>> "The limit is met" in page.html
    True
    """
    check_order("report", result)
    _check_kinds(result, sketch, audit, before, frontier, criterion)
    frozen = sketch.copy()  # one moment, whatever is counted meanwhile
    warn_of_labels(frozen._core)
    digest = frozen.digest()
    _check_digest("result", result.origin.digest, digest, "pass the sketch that was solved, or solve this one")
    frozen = on_its_columns(result.question, result.rates, frozen)
    asked = result.question
    segments = asked_roles(frozen, asked.fair_between, asked.columns) if asked.by_segment else None
    found = set(frozen.groups) if segments is None else {segments.segment(name) for name in frozen.groups}
    if set(result.thresholds) != found:
        raise bad_value(
            "result",
            f"the result has thresholds for {len(result.thresholds)} groups, the sketch has "
            f"{len(found)}, and they are not the same; pass the sketch that was solved",
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingClassWarning)  # solve has warned, and the notes say it again
        warnings.simplefilter("ignore", LabelWarning)  # the audits would repeat it
        after = make_audit(result, frozen) if audit is None else audit
        if before is None:
            rows = frozen if segments is None else frozen._under(segments.protected)
            before = make_audit(
                dict.fromkeys(result.rates, result.thresholds.default),
                rows,
                confidence=after.confidence,
                replicates=after.replicates,
                seed=after.seed,
            )
        _check_audit(after, result, "audit")
        _check_audit(before, result, "before")
        deciding = Deciding(frozen, after, before, featured(after))
        if segments is not None:
            by_segment = frozen._under(segments.segment)
            unified = dict.fromkeys(result.thresholds, result.thresholds.default)
            then, once = (make_audit(at, by_segment, replicates=0) for at in (result._decider(), unified))
            deciding = Deciding(by_segment, then, once, featured(then), "segment")
        curve, why_not = _frontier_of(result, frozen, digest, frontier, criterion)
    notes = [*result.notes, *(note for note in after.notes if note not in result.notes)]
    if result.origin.digest is None:
        text = "the result does not say which sketch it was found on, so that could not be checked"
        notes.append(Note("no_digest", text))
    is_unified = before.thresholds is not None and all(
        estimate.value == result.thresholds.default for estimate in before.thresholds.values()
    )
    lines = "" if command is None else str(command)
    if command is None:
        given = curve if isinstance(frontier, Frontier) else frontier
        lines = tables.python_command(result, digest, audit, given, criterion, title)
        if not is_unified:
            lines += "\n# (the audit to compare with was given by hand as before=..., and is not made here)"
    heading = "Threshold report" if title is None else str(title)
    contents = Contents(
        title=heading,
        result=result,
        sketch=frozen,
        audit=after,
        before=before,
        deciding=deciding,
        is_unified=is_unified,
        points=None if curve is None else frontier_points(curve, result, frozen),
        no_points=why_not,
        notes=tuple(notes),
        names=display_names(tuple(dict.fromkeys([*after.groups, *deciding.audit.groups]))),
        digest=digest,
        made=_time(made),
        versions={
            "gstar_fast": sys.modules["gstar_fast"].__version__,  # of the code that runs, perhaps not the one installed
            "numpy": np.__version__,
            "python": platform.python_version(),
            "backend": _backends.current(),
        },
        command=lines,
        is_python=command is None,
    )
    return Report(_page(contents), heading)


def _check_kinds(
    result: object, sketch: object, audit: object, before: object, frontier: object, criterion: object
) -> None:
    for value, argument, kinds, expected, cure in (
        (result, "result", Result, "what gf.solve returns", ""),
        (sketch, "sketch", Sketch, "a Sketch", "; Sketch.load(path) reads a saved one"),
        (audit, "audit", (Audit, NoneType), "what gf.audit returns", ""),
        (before, "before", (Audit, NoneType), "what gf.audit returns", ""),
        (frontier, "frontier", (Frontier, bool, NoneType), "what gf.frontier returns, or a bool", ""),
    ):
        if not isinstance(value, kinds):
            raise bad_type(argument, f"{argument} must be {expected}, got {type(value).__name__}{cure}")
    if criterion is not None:
        check_criterion(criterion, "criterion")


def _check_digest(argument: str, of_sketch: str | None, digest: str, cure: str) -> None:
    """Raise if a result, or a frontier, says that it is of another sketch."""
    if of_sketch not in (None, digest):
        raise bad_value(
            argument,
            f"the {argument} is of another sketch: its digest begins with {str(of_sketch)[:12]}, that of this sketch "
            f"with {digest[:12]}; {cure}",
        )


def _check_audit(given: Audit, result: Result, argument: str) -> None:
    if set(given.groups) != set(result.rates) or given.n_rows != result.n_rows:
        raise bad_value(
            argument,
            f"{argument} covers {len(given.groups)} groups and {given.n_rows:g} rows, the result "
            f"{len(result.rates)} groups and {result.n_rows:g} rows; audit the sketch that was solved",
        )
    if argument == "audit" and given.thresholds is not None:
        for group, estimate in given.thresholds.items():
            if estimate.value != result.thresholds[group]:
                raise bad_value(
                    "audit",
                    f"audit was made at other thresholds than the result's: group {group!r} has {estimate.value!r}, "
                    f"the result {result.thresholds[group]!r}; use gf.audit(result, sketch)",
                )


def _frontier_of(
    result: Result, sketch: Sketch, digest: str, given: Frontier | bool | None, criterion: str | None
) -> tuple[Frontier | None, str | None]:
    """The frontier to show, or the sentence that says why there is none."""
    if isinstance(given, Frontier):
        if criterion is not None and criterion != given.criterion:
            raise bad_option(
                "criterion", f"frontier is one of {given.criterion}, but criterion is {criterion!r}; drop one of them"
            )
        if set(given.groups) != set(result.thresholds):
            raise bad_value(
                "frontier",
                f"frontier has {len(given.groups)} groups and the result {len(result.thresholds)}, not the same ones; "
                "compute both on the same sketch",
            )
        _check_digest("frontier", given.result(0).origin.digest, digest, "compute it again")
        return given, None
    if given is False:
        return None, "The trade-off was left out (frontier=False)."
    n = len(result.thresholds)
    if len(result.rates) == 1:
        return None, "With one group there is no gap to trade against the error."
    if n > MOST_GROUPS and given is None:
        return None, (
            f"With {n} {'segments' if result.question.by_segment else 'groups'} the whole trade-off takes long to "
            "compute, so it is left out unless asked for: frontier=gf.frontier(sketch, criterion)."
        )
    asked = result.question
    chosen = criterion or next((one.name for one in asked.criteria if one.name in CRITERION), EXAMPLE)
    traded = as_difference(CRITERION[chosen]).name if CRITERION[chosen].form is Form.RATIO else chosen
    others = {name: limit for name, limit in result.limits.items() if name not in (chosen, traded)}
    for limits in [others, {}] if others else [{}]:  # others are kept if they can be: the result is then on the curve
        try:
            found = make_frontier(
                sketch,
                traded,
                limits=limits,
                objective=asked.objective,
                randomize=asked.randomize,
                fair_between=asked.fair_between,
                decide_by=asked.decide_by if asked.by_segment else None,
            )
        except ValueError as error:
            reason = str(error)
        else:
            if len(found) > 1:
                return found, None
            least, gap = short_number(found.costs[0]), short_number(found.gaps[0])
            reason = f"the least error, {least}, comes with the smallest gap, {gap}"
            break
    return None, f"There is no trade-off to show: {reason}."


def _time(made: datetime | None) -> str:
    if made is None:
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        try:
            made = datetime.now(UTC) if not epoch else datetime.fromtimestamp(int(epoch), UTC)
        except (ValueError, OverflowError, OSError):
            raise bad_option(
                "SOURCE_DATE_EPOCH", f"SOURCE_DATE_EPOCH must be a whole number of seconds since 1970; got {epoch!r}"
            ) from None
    elif not isinstance(made, datetime):
        raise bad_option_type("made", f"made must be a datetime, got {type(made).__name__}")
    elif made.tzinfo is None:
        raise bad_option("made", f"made must have a time zone, got {made!r}; use datetime.now(timezone.utc)")
    return made.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


# --------------------------------------------------------------------------------------------------------------- page

SECTIONS = (
    ("verdict", "Verdict", verdict.verdict_section),
    ("asked", "What was asked", tables.asked_section),
    ("thresholds", "Thresholds", tables.thresholds_section),
    ("gaps", "Gaps", tables.gaps_section),
    ("rates", "Rates", tables.rates_section),
    ("scores", "Scores", views.score_section),
    ("roc", "ROC curves", views.roc_section),
    ("frontier", "Trade-off", trade_off.frontier_section),
    ("notes", "Notes", tables.notes_section),
    ("reproduce", "Reproduce", tables.reproduce_section),
)


def _page(contents: Contents) -> str:
    """The whole file: it may run one script and one style, both its own."""
    folder = files("gstar_fast._report") / "templates"
    template, style, script = (
        (folder / name).read_text(encoding="utf-8") for name in ("page.html", "style.css", "slider.js")
    )
    n = len(contents.audit.groups)
    many = f"{n} group{'s' * (n != 1)}"
    if contents.kind == "segment":
        many += f" and {len(contents.result.thresholds)} segments"
    facts = f"{row_count(contents.audit.n_rows)} rows in {many} · made {contents.made}"
    footer = (
        f"Made by gstar_fast on {contents.made} from the sketch {contents.digest[:12]}. One file, no network: what it "
        "shows is what it holds."
    )
    return Template(template).substitute(
        title=html(contents.title),
        generator=html(f"gstar_fast {contents.versions['gstar_fast']}"),
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        facts=html(facts),
        contents=join(tag("li", tag("a", words, href=f"#{name}")) for name, words, _ in SECTIONS),
        sections=join((make(contents) for _, _, make in SECTIONS), "\n"),
        footer=html(footer),
        result=_json(json.loads(contents.result.to_json())),
        points=_json(trade_off.slider_points(contents)),
    )


def _hash(text: str) -> str:
    """How a content security policy names the one script and the one style that may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _json(value: object) -> str:
    """JSON that cannot end the script element it stands in."""
    escapes = {ord(c): f"\\u{ord(c):04x}" for c in "<>&"}
    return json.dumps(value, allow_nan=False, separators=(",", ":")).translate(escapes)
