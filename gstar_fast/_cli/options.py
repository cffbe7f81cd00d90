"""The options of each command, under the names that `Question` and the library have for them, and their values."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias

from gstar_fast._base.text import near
from gstar_fast._criteria import CRITERION, limit_of_text, not_offered
from gstar_fast._words import FORMATS, KINDS, METHODS

Add: TypeAlias = Callable[..., argparse.Action]  # `add_argument` of a parser or of a group of options

SHELLS = ("bash", "zsh", "fish")


# -------------------------------------------------------------------------------------------------------------- options


def _reading(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("how tables are read").add_argument
    add("--format", choices=FORMATS, help="format of the input, if its name does not show it")
    add("--delimiter", type=delimiter, metavar="C", help="separator of the columns of a CSV file")


def _counting(parser: argparse.ArgumentParser, *, needed: bool) -> None:
    title = "columns" if needed else "columns, if the input is tables (a sketch knows its own)"
    add = parser.add_argument_group(title).add_argument
    add("--score", metavar="COL", required=needed, help="score of the classifier; higher = more positive")
    add("--label", metavar="COL", help="true outcome, 0 or 1; empty, NA, NaN or null if not known")
    add("--no-label", action="store_true", help="no row has a label: only selection rates are known")
    add("--group", metavar="COL", action="append", required=needed, help="group of a row; repeat it for intersections")
    add("--weight", metavar="COL", help="weight of each row, such as a survey weight")
    add("--repeats", metavar="COL", help="how many rows each line stands for: whole numbers")
    add("--positive", metavar="VALUE", help="the label that means 1; all others mean 0, unless missing")
    add = parser.add_argument_group("counting").add_argument
    add("--bins", type=int, metavar="N", help="number of bins, a power of two (default: 4096)")
    add("--range", nargs=2, type=float, metavar=("LO", "HI"), help="range of the bins; others count as below or above")
    add("--nan", choices=("raise", "skip"), default="raise", help="what to do if a score is missing")
    add("--missing", type=float, action="append", metavar="X", help="skip rows of this score, such as -999; repeatable")
    add("--missing-group", metavar="NAME", help="group of rows that have none; skip: leave them out (default: raise)")
    add("--progress", action="store_true", default=None, help="show progress also without a terminal")


def _tables(parser: argparse.ArgumentParser) -> None:
    """Options of commands that take sketches or tables."""
    _counting(parser, needed=False)
    _reading(parser)


def _by_criterion(add: Add, option: str, dest: str, text: str) -> None:
    add(option, dest=dest, metavar="NAME=VALUE", type=pair, action="append", default=[], help=text)


def _asking(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("what to ask for").add_argument
    text = "largest gap allowed (for disparate_impact: least ratio), or a rate in every group: tpr>=0.7; repeatable"
    _by_criterion(add, "--limit", "limits", text)
    text = "what is minimised: error (default), balanced_error, or prices of both errors: fp=1,fn=5 (,balanced)"
    add("--objective", type=objective, default="error", metavar="X", help=text)
    add("--randomize", action="store_true", help="allow several thresholds in a group, drawn by key")


def _output(parser: argparse.ArgumentParser, text: str, *, required: bool = False) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", required=required, help=text)


# ------------------------------------------------------------------------------------------------------------- commands


def sketch(p: argparse.ArgumentParser) -> None:
    p.add_argument("inputs", nargs="*", metavar="IN", help="tables, folders, patterns, or - for standard input")
    _output(p, "the sketch to write; - for standard output", required=True)
    _counting(p, needed=True)
    _reading(p)
    add = p.add_argument_group("count in a database").add_argument
    text = "duckdb:FILE, sqlite:FILE or postgresql://...; the rows stay there, and nothing is written"
    add("--sql", metavar="URL", help=text)
    add("--table", metavar="NAME", help="its table or view, exactly as it is named there")
    add("--schema", metavar="NAME", help="schema of the table, if it is not the usual one")
    add = p.add_argument_group("continue a count").add_argument
    add("--resume", action="store_true", help="continue an interrupted count of the same files")
    add("--append", action="store_true", help="add the rows to the sketch that the output holds; see below")
    add("--checkpoint", type=float, default=30.0, metavar="S", help="seconds between saves (default: 30)")


def merge(p: argparse.ArgumentParser) -> None:
    p.add_argument("inputs", nargs="+", metavar="SKETCH", help="sketches, folders, patterns; - for standard input")
    _output(p, "the merged sketch to write; - for standard output", required=True)


def show(p: argparse.ArgumentParser) -> None:
    p.add_argument("inputs", nargs=1, metavar="SKETCH", help="a saved sketch; - for standard input")


def digest(p: argparse.ArgumentParser) -> None:
    p.add_argument("inputs", nargs="+", metavar="SKETCH", help="saved sketches; - for standard input")


def solve(p: argparse.ArgumentParser) -> None:
    p.add_argument("inputs", nargs="+", metavar="IN", help="sketches, which are merged, or tables, which are counted")
    _output(p, "thresholds to write, as JSON; - for standard output")
    text = "day (UTC) from which `apply` rejects these thresholds"
    p.add_argument("--expires", type=moment, metavar="DATE", help=text)
    p.add_argument("--report", metavar="FILE", help="also write a report (HTML)")
    p.add_argument("--title", help="title of the report")
    _asking(p)
    add = p.add_argument_group("how to solve").add_argument
    _by_criterion(add, "--penalty", "penalties", "price of a squared gap, the paper's lambda; repeatable")
    add("--unified", action="store_true", help="one threshold for everybody")
    _roles(add)
    text = "promise that the limits hold on new rows, with this confidence, such as 0.95"
    add("--confidence", type=float, metavar="X", help=text)
    text = "one threshold for everybody, unless thresholds by group cost less with this confidence "
    text += "(default: %(default)s; 0: the least cost)"
    add("--evidence", type=float, default=0.95, metavar="X", help=text)
    add("--min-rows", type=float, default=0, metavar="N", help="pool groups of under N rows: they share one threshold")
    add("--method", choices=METHODS, default="exact", help="exact proves its answer (default)")
    add("--rounds", type=int, metavar="N", help="run exactly N rounds of an iterative method, converged or not")
    add("--density", choices=KINDS, default="empirical", help="empirical: the counts (default)")
    add("--max-seconds", type=float, metavar="X", help="end the exact search after X seconds, with the best found")
    _tables(p)


def _roles(add: Add) -> None:
    between, by = "gaps between groups of this column alone; repeatable", "thresholds by this column alone; repeatable"
    add("--fair-between", metavar="COL", action="append", help=between)
    add("--decide-by", metavar="COL", action="append", help=by)
    rising = "thresholds that rise, or fall, along --decide-by; the default where --segments are made for it"
    add("--monotone", action=argparse.BooleanOptionalAction, help=rising)
    cut = "saved cut points of --decide-by; `apply` then takes the number that was cut"
    add("--segments", metavar="FILE", help=cut)


def frontier(p: argparse.ArgumentParser) -> None:
    p.add_argument("inputs", nargs="+", metavar="IN", help="sketches, or tables")
    p.add_argument("--criterion", required=True, type=criterion, metavar="NAME", help="trade this gap against error")
    _output(p, "file for all points: .csv, .json or .parquet")
    text = "gaps that can be promised with this confidence, instead of gaps of the counted rows"
    p.add_argument("--confidence", type=float, metavar="X", help=text)
    _roles(p.add_argument)
    add = p.add_argument_group("one point of the frontier").add_argument
    add("--at-gap", type=float, metavar="X", help="the point of least error with a gap of at most X")
    add("--at-error", type=float, metavar="X", help="the point of least gap with an error of at most X")
    add("--thresholds", metavar="FILE", help="file for its thresholds; - for standard output")
    _asking(p)
    _tables(p)


def audit(p: argparse.ArgumentParser) -> None:
    p.add_argument("inputs", nargs="+", metavar="IN", help="sketches, or tables")
    p.add_argument("--thresholds", metavar="FILE", help="thresholds that `solve` saved")
    p.add_argument("--decision", metavar="COL", help="column of 0/1 decisions, if the tables have one")
    p.add_argument("--accepted", metavar="VALUE", help="the decision that means 1; all others mean 0")
    _output(p, "file for the audit: .json, .csv or .html")
    add = p.add_argument_group("intervals").add_argument
    add("--confidence", type=float, default=0.95, metavar="X", help="default: %(default)s")
    add("--replicates", type=int, default=2000, metavar="N", help="bootstrap replicates (default: %(default)s)")
    add("--seed", type=int, default=0, metavar="N", help="the same seed gives the same intervals")
    _new_rows(add)
    _tables(p)


def _new_rows(add: Add) -> None:
    add("--new-rows", type=int, metavar="N", help="expect gaps on a sample of N new rows (default: as counted)")


def certify(p: argparse.ArgumentParser) -> None:
    p.add_argument("thresholds", metavar="THRESHOLDS", help="thresholds that `solve` saved")
    p.add_argument("inputs", nargs="+", metavar="IN", help="fresh rows: sketches, or tables")
    p.add_argument("--confidence", type=float, default=0.95, metavar="X", help="default: %(default)s")
    p.add_argument("--exact", action="store_true", help="proven for cells of any size; certifies less often")
    text = "limit to certify (default: those saved with the thresholds); repeatable"
    _by_criterion(p.add_argument, "--limit", "limits", text)
    _tables(p)


def report(p: argparse.ArgumentParser) -> None:
    p.add_argument("inputs", nargs="+", metavar="IN", help="sketches, or tables")
    p.add_argument("--thresholds", metavar="FILE", required=True, help="thresholds that `solve` saved")
    _output(p, "the page to write (HTML)", required=True)
    p.add_argument("--criterion", type=criterion, metavar="NAME", help="of the frontier (default: the one asked for)")
    p.add_argument("--title", help="title of the page")
    _new_rows(p.add_argument)
    _tables(p)


def apply(p: argparse.ArgumentParser) -> None:
    add = p.add_argument
    add("inputs", nargs="+", metavar="IN", help="tables, folders, patterns, or - for standard input")
    add("--thresholds", metavar="FILE", required=True, help="thresholds that `solve` saved")
    _output(p, "the table to write, or a folder (out/); - for standard output", required=True)
    add("--score", metavar="COL", help="default: the column named in the thresholds")
    add("--group", metavar="COL", action="append", help="default: as named in the thresholds")
    add("--key", metavar="COL", help="identifies a row, for randomised thresholds; text 7 is the number 7")
    add("--unknown", type=unknown, metavar="X", help="group without a threshold: raise, default, or a number")
    add("--nan", choices=("raise", "reject", "accept"), help="what to do if a score is missing or NaN")
    text = "a score that stands for a missing one, such as -999: --nan says what to do; repeatable"
    add("--missing", type=float, action="append", metavar="X", help=text)
    add("--missing-group", metavar="NAME", help="decide rows that have no group as this group (default: raise)")
    add("--replace", action="store_true", help="replace an existing column `decision`")
    add("--allow-expired", action="store_true", help="take thresholds that have expired")
    add("--allow-infeasible", action="store_true", help="take thresholds that miss their limits")
    add("--to", choices=FORMATS, help="format to write, if the name does not show it")
    add("--resume", action="store_true", help="continue an output folder: decide only what is not decided yet")
    add("--progress", action="store_true", default=None, help="show progress also without a terminal")
    _reading(p)


def demo(p: argparse.ArgumentParser) -> None:
    p.add_argument("--folder", default="gstar-fast-demo", help="folder for its files (default: %(default)s)")
    p.add_argument("--rows", type=int, default=200_000, metavar="N", help="number of rows (default: %(default)s)")


def completion(p: argparse.ArgumentParser) -> None:
    p.add_argument("shell", choices=SHELLS)


# --------------------------------------------------------------------------------------------------------------- values


def pair(text: str) -> tuple[str, float | dict[str, float]]:
    """NAME=VALUE with the name of a criterion; for a limit on a rate NAME>=VALUE or NAME<=VALUE."""
    with contextlib.suppress(ValueError):
        if (limit := limit_of_text(text)) is not None:
            return limit
    name, equals, value = text.partition("=")
    criterion(name)
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} lacks its value; write {name}=0.02")
    try:
        return name, float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{value!r} is not a number; write {name}=0.02") from None


def criterion(text: str) -> str:
    """The name of a criterion."""
    if text not in CRITERION:
        hint = not_offered(text) or near(text, CRITERION)
        raise argparse.ArgumentTypeError(f"there is no criterion {text!r}{hint}; see --help for all")
    return text


def objective(text: str) -> str | dict[str, float | bool]:
    """A word, or prices such as fp=1,fn=5; `balanced` beside them weighs both classes alike."""
    if text in ("error", "balanced_error"):
        return text
    prices: dict[str, float | bool] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        try:
            prices[name] = True if part == "balanced" else float(value)
        except ValueError:
            prices = {}
            break
    if not {"fp", "fn"} <= prices.keys() <= {"fp", "fn", "balanced"}:
        raise argparse.ArgumentTypeError(f"must be error, balanced_error or prices such as fp=1,fn=5, got {text!r}")
    return prices


def unknown(text: str) -> str | float:
    """What to do about a group without a threshold: a word, or the threshold to take."""
    if text in ("raise", "default"):
        return text
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be raise, default or a threshold, got {text!r}") from None


def moment(text: str) -> datetime:
    """A date to come, in UTC where it names no time zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a date such as 2030-01-31, got {text!r}") from None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    if moment <= datetime.now(UTC):
        raise argparse.ArgumentTypeError(f"{text} is over already; give a date to come")
    return moment


def delimiter(text: str) -> str:
    """One character; a tab by its name."""
    sign = {"\\t": "\t", "tab": "\t"}.get(text, text)
    if len(sign) != 1:
        raise argparse.ArgumentTypeError(f"must be one character, got {text!r}; for a tab write tab")
    return sign
