"""An audit as people and programs read it, with notes on what not to trust. No arithmetic here."""

from __future__ import annotations

from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from gstar_fast._audit.counts import Counts
from gstar_fast._audit.intervals import Rates, two_sided
from gstar_fast._audit.metrics import METRIC_DEFINITIONS
from gstar_fast._base.arrays import Bools
from gstar_fast._base.json import encode_name, encode_number
from gstar_fast._base.names import Name, listed
from gstar_fast._base.text import aligned, printable, printable_name, row_count, short_number, threshold_number
from gstar_fast._criteria import MEASURED
from gstar_fast._solver.answer.parts import Note

if TYPE_CHECKING:
    import pandas as pd

    from gstar_fast._audit.audit import Audit, Estimate

SMALL = 50  # rows of a class, whose rate is then known to +-0.14 at worst, with confidence 0.95
MOST = 5  # groups spelled out

FORMAT = "gstar_fast.audit"
VERSION = 1

# tnr and fnr are left out of tables that people read: they are what is left of fpr and tpr
COLUMNS = {
    "base_rate": "base rate",
    "selection_rate": "selected",
    "tpr": "tpr",
    "fpr": "fpr",
    "ppv": "ppv",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced",
}

NEW_ROWS = {"new_rows": "rows", "new_rows_mean": "mean", "new_rows_nine_of_ten": "nine_of_ten"}  # column: attribute


def notes_of(counts: Counts, rates: Rates, confidence: float) -> list[Note]:
    """What to know before trusting a number: small groups, missing classes, weights."""
    rows = np.asarray(counts.n_rows, dtype=np.float64)
    notes: list[Note] = []
    if counts.squares is not None:
        weight, squares = float(counts.totals.sum()) * counts.unit, float(counts.squares[1].sum())
        text = (
            f"rows have a total weight of {weight:.10g}: rates are weighted, and the intervals are as wide as those of "
            f"{weight**2 / squares:.4g} rows of weight 1"
        )
        notes.append(Note("weighted", text, {"weight": weight, "effective": weight**2 / squares}))
    if not rows[:2].any():
        notes.append(Note("no_labels", "no row has a label: only selection rates and their gaps are known"))
        return notes
    if rows[2].any():
        text = f"{_number_of(rows[2].sum(), 'row')} without a label: counted for the selection rate only"
        notes.append(Note("unlabelled", text, {"rows": float(rows[2].sum())}))
    empty: Bools = np.logical_not(rows.any(axis=0))
    notes += _who("no_rows", counts.groups, empty, "no rows")
    for label, word, rates_of_it in ((1, "positive", "tpr, fnr"), (0, "negative", "fpr, tnr")):
        what = f"no {word} label: {rates_of_it}, balanced accuracy not known"
        notes += _who("missing_class", counts.groups, ~empty & (rows[label] == 0), what)
    return notes + _small(counts, rates, two_sided(confidence))


def _who(code: str, groups: tuple[Name, ...], where: Bools, what: str) -> list[Note]:
    found = [groups[k] for k in np.flatnonzero(where)]
    if not found:
        return []
    text = f"{'group' if len(found) == 1 else 'groups'} {listed(found)}: {what}"
    return [Note(code, text, {"groups": found})]


def _small(counts: Counts, rates: Rates, z: float) -> list[Note]:
    """The smallest groups first: which class is short, and what that leaves open."""
    groups, rows = counts.groups, np.stack([rates.trials["fpr"], rates.trials["tpr"]])
    kind = "" if counts.squares is None else "effective "
    least = np.where(rows > 0, rows, np.inf).min(axis=0)
    small = np.flatnonzero(least < SMALL)
    small = small[np.argsort(least[small], kind="stable")]
    notes = []
    for k in small[:MOST]:
        parts = []
        for label, word, rate in ((1, "positive", "tpr"), (0, "negative", "fpr")):
            if 0 < rows[label, k] < SMALL:
                low, high = (side[k] for side in rates.limits(rate, z))
                few = _number_of(rows[label, k], f"{kind}{word} label")
                parts.append(f"{few}, so its {rate} may be anything from {low:.2f} to {high:.2f}")
        notes.append(Note("small_group", f"group {groups[k]!r} is small: {'; '.join(parts)}", {"group": groups[k]}))
    if len(small) > MOST:
        more = len(small) - MOST
        text = f"{_number_of(more, 'more group')} with fewer than {SMALL} labels of a class"
        notes.append(Note("small_groups", text, {"groups": more}))
    return notes


def _number_of(n: float, word: str) -> str:
    return f"{n:.6g} {word}{'' if n == 1 else 's'}"


# -------------------------------------------------------------------------------------------------------- what is shown


def _limits(e: Estimate) -> str:
    return "" if e.low is None else f"{short_number(e.low, 3)}..{short_number(e.high, 3)}"


def _heading(a: Audit) -> str:
    n = len(a.groups)
    return (
        f"audit of {row_count(a.n_rows)} rows in {n} group{'s' * (n != 1)}, intervals of confidence {a.confidence:.4g}"
    )


def text_of(a: Audit, most: int = 50) -> str:
    """A row of values and a row of limits for each group, then every gap."""
    lines = [_heading(a), *(f"note: {note}" for note in a.notes), ""]
    lines += aligned([_columns(a), *(row for name in (*a.groups[:most], None) for row in _two_rows(a, name))])
    if len(a.groups) > most:
        lines.append(f"... and {len(a.groups) - most} more groups before the last row")
    measured = ["", *(MEASURED[name].measured for name in a.gaps)]
    gaps = aligned([["gap", "value", "low", "high"], *([name, *_shown(e)] for name, e in a.gaps.items())])
    lines += ["", *(f"{line}  {how}".rstrip() for line, how in zip(gaps, measured, strict=True))]
    return printable("\n".join(lines))


def _columns(a: Audit) -> list[str]:
    return ["group", "rows", *(["threshold"] if a.thresholds is not None else []), *COLUMNS.values()]


def _shown(e: Estimate) -> list[str]:
    return [short_number(x) for x in (e.value, e.low, e.high)]


def _two_rows(a: Audit, name: Name | None) -> list[list[str]]:
    """Values and limits of a group; None stands for all of them together."""
    at = a.overall if name is None else a.rates[name]
    shown = [at[metric] for metric in COLUMNS]
    values = ["all" if name is None else printable_name(name), row_count(at["rows"].value or 0.0)]
    limits = ["", ""]
    if a.thresholds is not None:
        threshold = None if name is None else a.thresholds[name]
        values.append("" if threshold is None or threshold.value is None else threshold_number(threshold.value))
        limits.append("" if threshold is None else _limits(threshold))
    return [[*values, *(short_number(e.value) for e in shown)], [*limits, *(_limits(e) for e in shown)]]


def html_of(a: Audit, most: int = 200) -> str:
    """A fragment: rates by group, gaps, notes; every name escaped."""
    body = []
    for name in (*a.groups[:most], None):
        (title, *values), (_, *limits) = _two_rows(a, name)
        ends = [f"<br><small>{escape(limit)}</small>" if limit else "" for limit in limits]
        body.append(_html_row(title, [f"{escape(value)}{end}" for value, end in zip(values, ends, strict=True)]))
    head = _columns(a)
    if len(a.groups) > most:
        body.append(f"<tr><td colspan={len(head)}>{len(a.groups) - most} more groups are not shown</td></tr>")
    gaps = [_html_row(name, [escape(x) for x in (*_shown(e), a.definitions[name])]) for name, e in a.gaps.items()]
    notes = "".join(f"<li>{escape(note.text)}</li>" for note in a.notes)
    return (
        f'<div class="gstar-audit"><p>{escape(_heading(a))}</p>'
        + (f"<ul>{notes}</ul>" if notes else "")
        + _html_table(head, body)
        + _html_table(["gap", "value", "low", "high", "definition"], gaps)
        + "</div>"
    )


def _html_row(title: str, cells: list[str]) -> str:
    """A row; only the title is escaped here."""
    return f'<tr><th scope="row">{escape(title)}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def _html_table(head: list[str], body: list[str]) -> str:
    meaning = {word: f' title="{escape(METRIC_DEFINITIONS[metric])}"' for metric, word in COLUMNS.items()}
    cells = "".join(f'<th scope="col"{meaning.get(word, "")}>{escape(word)}</th>' for word in head)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _plain(e: Estimate) -> dict[str, object]:
    numbers = {key: encode_number(getattr(e, key)) for key in ("value", "low", "high")}
    return {**numbers, "method": e.method}


def dict_of(a: Audit) -> dict[str, object]:
    """What JSON can hold: groups as a list, since their names need not be strings."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "n_rows": a.n_rows,
        "confidence": a.confidence,
        "replicates": a.replicates,
        "seed": a.seed,
        "groups": [
            {
                "name": encode_name(name),
                "threshold": None if a.thresholds is None else _plain(a.thresholds[name]),
                "rates": {metric: _plain(e) for metric, e in a.rates[name].items()},
            }
            for name in a.groups
        ],
        "overall": {metric: _plain(e) for metric, e in a.overall.items()},
        "gaps": {
            name: {
                **_plain(e),
                "new_rows": asdict(a.new_rows[name]) if name in a.new_rows else None,
                "definition": a.definitions[name],
            }
            for name, e in a.gaps.items()
        },
        "notes": [note.to_dict() for note in a.notes],
    }


def numbers_of(a: Audit) -> list[tuple[Name | None, str, Estimate]]:
    """Every number with its group, None for all of them, and its metric."""
    rows: list[tuple[Name | None, str, Estimate]] = []
    for name in a.groups:
        if a.thresholds is not None:
            rows.append((name, "threshold", a.thresholds[name]))
        rows += [(name, metric, e) for metric, e in a.rates[name].items()]
    return rows + [(None, metric, e) for metric, e in (a.overall | a.gaps).items()]


def frame_of(a: Audit) -> pd.DataFrame:
    """One row for each number."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("to_dataframe needs pandas; install gstar-fast[pandas]") from None
    rows = numbers_of(a)
    columns: dict[str, object] = {
        "group": pd.Series([name for name, _, _ in rows], dtype=object),
        "metric": [metric for _, metric, _ in rows],
    }
    for key in ("value", "low", "high"):
        columns[key] = pd.Series([getattr(e, key) for _, _, e in rows], dtype="float64")
    columns["method"] = [e.method for _, _, e in rows]
    found = [a.new_rows.get(metric) if name is None else None for name, metric, _ in rows]
    for column, key in NEW_ROWS.items():
        columns[column] = pd.Series([getattr(there, key, None) for there in found], dtype="float64")
    return pd.DataFrame(columns)
