"""The command `show`: what a sketch holds."""

from __future__ import annotations

import argparse

import gstar_fast as gf
from gstar_fast._base.json import encode_name
from gstar_fast._base.text import aligned, distinct, printable_name, row_count
from gstar_fast._cli.output import Console
from gstar_fast._cli.read import load_sketch, note_alike
from gstar_fast._sketch.columns import MIXED, in_words, warn_of_labels


def show(given: argparse.Namespace, console: Console) -> None:
    """Print what a sketch holds."""
    found = load_sketch(given.inputs[0], unfinished=console)
    note_alike(found, console)
    warn_of_labels(found._core)
    console.answer(facts(found), lambda: _text(found))


def _cells(sketch: gf.Sketch) -> list[list[float]]:
    """For each group its rows with label 0, with label 1 and without."""
    rows: list[list[float]] = sketch._core.copy().rows().T.tolist()
    return rows


def facts(sketch: gf.Sketch) -> dict[str, object]:
    """A sketch for JSON."""
    edges = sketch.edges
    columns = {name: getattr(sketch.columns, name) for name in ("score", "label", "group")}
    # no text where there are several, since a column may have any
    columns = {name: {"several": True} if column is MIXED else column for name, column in columns.items()}
    return {
        "rows": sketch.n_rows,
        "skipped": sketch.skipped,
        "weighted": sketch.weighted,
        "weight": sketch.weight,
        "bins": sketch.bins,
        "level": sketch.level,
        "columns": columns,
        "positive": sketch.positive,
        "labels": list(sketch.label_texts),
        "window": [float(edges[0]), float(edges[-1])],
        "resolution": sketch.resolution,
        "groups": [
            {"name": encode_name(name), "label_0": zero, "label_1": one, "unlabelled": free}
            for name, (zero, one, free) in zip(sketch.groups, _cells(sketch), strict=True)
        ],
        "digest": sketch.digest(),
    }


def _text(sketch: gf.Sketch, most: int = 50) -> str:
    rows = [["group", "rows", "label 0", "label 1", "unlabelled", "base rate"]]
    weights = (sketch.counts.sum(axis=2) + sketch.below + sketch.above).T.tolist()
    names = map(printable_name, distinct(sketch.groups))
    for name, (zero, one, free), (negative, positive) in list(zip(names, _cells(sketch), weights, strict=True))[:most]:
        base = f"{positive / (negative + positive):.4f}" if zero + one else "-"
        rows.append([name, *map(row_count, (zero + one + free, zero, one, free)), base])
    lines = [str(sketch), "", *aligned(rows)]
    if len(sketch.groups) > most:
        lines.append(f"... and {len(sketch.groups) - most} more groups")
    columns = in_words(sketch.columns, sketch.positive)
    lines += [
        "",
        *([f"columns: {columns}"] if columns else []),
        f"resolution {sketch.resolution} (bins that hold the middle 99 % of the rows)",
        f"digest {sketch.digest()}",
    ]
    return "\n".join(lines)
