"""The inputs of a command -> a sketch: saved sketches are merged, tables are counted."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterable
from pathlib import Path

import gstar_fast as gf
from gstar_fast._base.files import read_at_most, read_limited
from gstar_fast._base.names import Name
from gstar_fast._base.text import counted, some, without_secrets
from gstar_fast._cli import resume
from gstar_fast._cli.count import Columns, Stop, Tally, count
from gstar_fast._cli.errors import USAGE, CliError, Interrupted, worded
from gstar_fast._cli.output import Console, Progress
from gstar_fast._cli.tables import inputs
from gstar_fast._cli.tables.columns import missing_group
from gstar_fast._cli.tables.places import is_url, open_file
from gstar_fast.errors import InputError

_LARGEST = 2**31 + 2**20  # bytes of a sketch, as `Sketch.load` has it


def columns_of(given: argparse.Namespace) -> Columns:
    """The columns that the options name."""
    missing = [f"--{name}" for name in ("score", "group") if not getattr(given, name)]
    if given.label is None and not given.no_label:
        missing.append("--label (or --no-label)")
    if missing:
        raise CliError(f"tables need {', '.join(missing)}; see: gstar-fast {given.command} --help", USAGE)
    if given.positive is not None and given.label is None:
        raise CliError("--positive names a label, and there is no --label", USAGE)
    return Columns(given.score, given.label, tuple(given.group), given.weight, given.repeats, given.positive)


def tables_of(given: argparse.Namespace, console: Console) -> tuple[list[inputs.Input], list[str]]:
    """The tables that are named, and the skipped files of folders, on which it prints a note."""
    skipped: inputs.Skipped = {}
    tables = inputs.find_inputs(given.inputs, given.format, given.delimiter, skipped)
    return tables, note_skipped(skipped, console)


def note_skipped(skipped: inputs.Skipped, console: Console) -> list[str]:
    """Print a note for each reason, with the first names; returns all names."""
    for why, names in skipped.items():
        console.note(f"note: skipped, since {why}: {some(sorted(names), 10)}")
    return sorted(itertools.chain(*skipped.values()))


def new_sketch(given: argparse.Namespace, columns: Columns, like: gf.Sketch | None = None) -> gf.Sketch:
    """An empty sketch as the options ask for it, and else like another."""
    bins = given.bins if given.bins is not None else 4096 if like is None else like.bins
    window = None if given.range is None else (given.range[0], given.range[1])
    absent = missing_group(given.missing_group, len(columns.group))
    return columns.named(gf.Sketch(bins=bins, range=window, nan=given.nan, missing=given.missing, missing_group=absent))


def load_sketch(path: str, *, unfinished: Console | None = None) -> gf.Sketch:
    """A saved sketch, or one from standard input; an unfinished count only with a console, for a note on it."""
    content = _content(path, unfinished)
    if isinstance(content, gf.Sketch):
        return content
    try:
        return gf.Sketch.from_bytes(content)
    except ValueError as error:
        raise CliError(f"{_shown(path)} is not a sketch: {error}") from None


def _shown(path: str) -> str:
    return inputs.STANDARD_INPUT if path == "-" else without_secrets(path)


def _content(path: str, unfinished: Console | None) -> gf.Sketch | bytes:
    """The bytes of a file or of standard input, or the sketch of an unfinished count."""
    if path == "-":
        return read_at_most(inputs.standard_input(), _LARGEST)
    if path.endswith(resume.ENDING):
        if unfinished is None:
            raise CliError(
                f"{path} is an unfinished count; finish it with --resume, or take it as it is: "
                f"gstar-fast merge {path} -o {path.removesuffix(resume.ENDING)}"
            )
        state = resume.load(Path(path))
        unfinished.note(f"note: {path} is unfinished: {counted(state.rows, 'row')} so far")
        assert state.sketch is not None
        return state.sketch
    inputs.refuse_json(path)
    if not is_url(path):
        return read_limited(path, _LARGEST)
    with open_file(path) as file:
        data = read_at_most(file, _LARGEST)
    if len(data) == _LARGEST:
        raise CliError(f"{without_secrets(path)} is larger than any sketch; check the path")
    return data


def merged(paths: list[str], *, unfinished: Console | None = None) -> gf.Sketch:
    """The sum of saved sketches."""
    if len(paths) == 1:
        return load_sketch(paths[0], unfinished=unfinished)
    from gstar_fast._sketch.merging import merge_named  # brings NumPy

    inputs.refuse_twins(paths)
    names = list(map(_shown, paths))
    try:
        return merge_named(zip((_content(path, unfinished) for path in paths), names, strict=True), gf.Sketch())
    except InputError as error:
        if error.code != "cannot_merge" or error.row is None:
            raise
        name, why = names[error.row], error.__cause__
    if getattr(why, "code", "") in ("not_valid", "bytes_need_too_much_memory"):
        raise CliError(f"{name} is not a sketch: {why}")
    raise CliError(f"{name} cannot be merged with {names[0]}: {worded(why) if why else ''}")


def note_alike(sketch: gf.Sketch, console: Console) -> None:
    """Print a note if two groups look the same, such as 1 and '1': often one group in files of two formats."""
    first: dict[str, Name] = {}
    for name in sketch.groups:
        other = first.setdefault(str(name), name)
        if other is not name:
            words = {bool: "a truth value", int: "a number", str: "text"}
            both = " and ".join(f"{one!r} ({words.get(type(one), 'several values')})" for one in (other, name))
            console.note(
                f"note: {both} are two groups that print alike; if they are one, "
                "give the column the same type in all tables and count them again"
            )
            return


def sketch_of(given: argparse.Namespace, console: Console) -> gf.Sketch:
    """The sketch of the inputs: saved sketches are merged, tables are counted."""
    kinds = {inputs.is_sketch(name) for name in given.inputs}
    if kinds == {True}:
        names = ("label", "no_label", "weight", "repeats", "positive", "bins", "range", "nan")
        more = ("missing", "missing_group", "format", "delimiter")
        refuse_options(given, names + more, "is for counting tables, and a sketch is counted already")
        total = merged(given.inputs)
        note_alike(total, console)
        return total
    if kinds == {True, False}:
        raise CliError("sketches and tables cannot be mixed; count the tables into a sketch first")
    for name in given.inputs:
        inputs.refuse_json(name)
    columns = columns_of(given)
    return count_tables(given, columns, new_sketch(given, columns), console)


def refuse_options(given: argparse.Namespace, names: Iterable[str], why: str) -> None:
    """Reject options that have no effect here."""
    for name in names:
        if getattr(given, name) not in (None, False, "raise"):  # "raise" is what --nan does anyway
            raise CliError(f"--{name.replace('_', '-')} {why}; leave it out", USAGE)


def count_tables(given: argparse.Namespace, columns: Columns, sketch: gf.Sketch, console: Console) -> gf.Sketch:
    """Count the tables of a command that saves no sketch."""
    tables, _ = tables_of(given, console)
    tally = Tally(columns, sketch)
    progress = Progress(shown=given.progress, quiet=console.quiet)
    with Stop() as stop:
        try:
            count(tables, tally, stop, progress)
        except Interrupted as end:
            raise Interrupted(
                "stopped, and nothing is kept; `gstar-fast sketch` keeps what it has counted, and can be resumed",
                end.code - 128,
            ) from None
    tally.check_positive()
    note_alike(sketch, console)
    return sketch
