"""Thresholds as the command line reads and tells them, with the columns they are about."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

import gstar_fast as gf
from gstar_fast._base.names import Name, joined_columns
from gstar_fast._cli.errors import USAGE, CliError
from gstar_fast._cli.output import Console, for_terminal, write_bytes
from gstar_fast._decide import document
from gstar_fast._sketch.columns import MIXED


def load_thresholds(path: str) -> gf.Result | gf.Decider:
    """A saved result, or saved thresholds alone."""
    decider = gf.Decider.load(path, allow_expired=True)  # warns where limits are missed, which a result does not
    return gf.Result.load(path) if document.load(path).is_result else decider


def take_columns(given: argparse.Namespace, thresholds: gf.Result | gf.Decider) -> None:
    """Names of columns that are saved with the thresholds, where none are given."""
    several = all(isinstance(name, tuple) for name in thresholds.groups)
    names = thresholds.origin if isinstance(thresholds, gf.Result) else thresholds
    if given.score is None:
        given.score = names.score_column
    if isinstance(thresholds, gf.Result) and thresholds.question.by_segment:
        counted = dict.fromkeys([*(thresholds.question.fair_between or ()), *(thresholds.question.columns or ())])
        if given.group is None and all(isinstance(name, str) for name in counted):
            given.group = list(counted)
    elif given.group is None and names.group_column is not None:
        given.group = split_names(names.group_column, several)


def split_names(text: str, several: bool) -> list[str]:
    """Group columns of a thresholds file, which `joined_columns` wrote.

    `several` where groups are intersections, since one column may have a comma in its name.
    """
    return next(csv.reader([text])) if several else [text]


def parts_of(groups: Iterable[Name]) -> list[list[Name]]:
    """The names of groups column by column: one list, or as many as intersections have parts."""
    names = list(groups)
    several = [name for name in names if isinstance(name, tuple)]
    if len(several) < len(names):
        return [names]
    return [list(part) for part in zip(*several, strict=True)]


def with_columns(result: gf.Result, sketch: gf.Sketch, given: argparse.Namespace, console: Console) -> gf.Result:
    """The result with the columns that are given, where the sketch has named others or none, for `apply` to read."""
    counted = given.group if getattr(given, "fair_between", None) is None else None  # else `solve` knows which of them
    named = {"score_column": given.score, "group_column": joined_columns(counted) if counted else None}
    origin = replace(result.origin, **{name: text for name, text in named.items() if text is not None})
    for option in ("score", "group"):
        if getattr(sketch.columns, option) is MIXED and getattr(given, option) is None:
            console.note(
                f"note: the rows come from several {option} columns, so these thresholds name none; "
                f"give --{option} here or to `apply`"
            )
    return replace(result, origin=origin)


def asked(given: argparse.Namespace, sketch: gf.Sketch, segments: gf.Segments | None) -> dict[str, Any]:
    """The options that make up a question, as arguments of `solve` and `frontier`."""
    named = {one.name: getattr(given, one.name) for one in fields(gf.results.Question) if hasattr(given, one.name)}
    names = sketch.columns.group if isinstance(sketch.columns.group, tuple) else ()
    for role in ("fair_between", "decide_by"):  # a number is a position, unless a column is called so
        if named[role] is not None:
            is_place = {text: text.isascii() and text.isdecimal() and text not in names for text in named[role]}
            named[role] = [int(text) if is_place[text] else text for text in named[role]]
    if segments is None and not given.monotone:
        return named
    columns = named["decide_by"]
    if columns is None or len(columns) != 1:
        option = "--monotone" if segments is None else "--segments"
        raise CliError(f"{option} is about one column of segments; give --fair-between COL --decide-by COL", USAGE)
    cuts, monotone = (None, True) if segments is None else (segments.cuts, segments.monotone)
    monotone = monotone if given.monotone is None else given.monotone
    return {**named, "decide_by": gf.Segments(cuts, column=columns[0], monotone=monotone)}


def answer(result: gf.Result, text: str, output: str | None, console: Console) -> None:
    """Print the verdict; where standard output is to have the thresholds themselves, beside it."""
    if output != "-":
        console.answer(json.loads(text), lambda: str(result))
        return
    if result.meets_limits and result.verdict != "unpromised":  # the next program must not use others
        write_bytes(text.encode())
    if not (console.json or console.quiet):
        print(for_terminal(str(result)), file=sys.stderr)
