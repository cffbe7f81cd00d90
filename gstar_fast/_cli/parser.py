"""Arguments of the command line, with help one can learn from. Imports little, so that help comes at once."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from gstar_fast._base.text import near
from gstar_fast._cli.values import criterion, delimiter, moment, objective, pair, unknown
from gstar_fast._criteria import CRITERION
from gstar_fast._words import BACKENDS, FORMATS, KINDS, METHODS

SHELLS = ("bash", "zsh", "fish")

_WIDTH = max(map(len, CRITERION))
CRITERIA_HELP = "criteria:\n" + "\n".join(f"  {name:<{_WIDTH}}  {one.meaning}" for name, one in CRITERION.items())

EXIT_CODES = """exit codes:
  0 done   1 error   2 wrong usage   3 the limits cannot be met, promised or certified
  130 stopped by Ctrl-C (143 by SIGTERM)"""

ROAD = """from tables to decisions:
  gstar-fast sketch scores/ -o scores.gstar --score p --label y --group sex
  gstar-fast solve scores.gstar --limit equalized_odds=0.02 -o thresholds.json --report report.html
  gstar-fast apply new.parquet --thresholds thresholds.json -o decided.parquet

  gstar-fast demo            runs all steps on data it makes itself
  gstar-fast COMMAND --help  explains one command, with examples"""

TABLES_HELP = """tables:
  CSV and TSV (also .gz, .bz2, .zst, .lz4), Parquet, Feather and Arrow IPC; - is standard input. A folder means all
  tables in it. A quoted pattern such as 'part-*.parquet' means all files that match. Other files of a folder are
  skipped, and a note names them. Folders named column=value (sex=F/part-0.parquet) give a column. s3:// and other URLs
  are read through fsspec. Plain CSV needs no other package; the rest needs: pip install 'gstar-fast[cli]'
  Tables are read block by block, so they may be larger than memory."""


class _Parser(argparse.ArgumentParser):
    """Takes -1e3 and -inf for numbers, not for options, and says errors as the rest of the command line does."""

    def __init__(self, **options: Any) -> None:
        options |= {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
        super().__init__(**options)
        self._negative_number_matcher = re.compile(r"^-(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$|^-inf$")

    def error(self, message: str) -> NoReturn:
        choice = re.match(r"argument COMMAND: invalid choice: '(.*?)'", message)
        if choice:
            message = f"there is no command {choice[1]!r}{near(choice[1], COMMANDS)}"
        self.exit(2, f"gstar-fast: {message}\nsee: {self.prog} --help\n")


# -------------------------------------------------------------------------------------------------------------- options


def _common(parser: argparse.ArgumentParser) -> None:
    """Options of every command; they may stand before it or after it."""
    group = parser.add_argument_group("for every command")
    hidden = argparse.SUPPRESS  # so that a default after the command does not undo what stood before it
    group.add_argument("--json", action="store_true", default=hidden, help="print JSON on standard output")
    group.add_argument("-q", "--quiet", action="store_true", default=hidden, help="print only errors")
    group.add_argument("--debug", action="store_true", default=hidden, help="show the traceback of an error")
    group.add_argument("--backend", choices=BACKENDS, default=hidden, help="what computes; all give the same answers")


def _reading(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how tables are read")
    group.add_argument("--format", choices=FORMATS, help="format of the input, if its name does not show it")
    group.add_argument("--delimiter", type=delimiter, metavar="C", help="separator of the columns of a CSV file")


def _counting(parser: argparse.ArgumentParser, *, needed: bool) -> None:
    group = parser.add_argument_group(
        "columns" if needed else "columns, if the input is tables (a sketch knows its own)"
    )
    group.add_argument(
        "--score", metavar="COL", required=needed, help="score of the classifier; higher = more positive"
    )
    group.add_argument("--label", metavar="COL", help="true outcome, 0 or 1; empty, NA, NaN or null if not known")
    group.add_argument("--no-label", action="store_true", help="no row has a label: only selection rates are known")
    group.add_argument(
        "--group", metavar="COL", action="append", required=needed, help="group of a row; repeat it for intersections"
    )
    group.add_argument("--weight", metavar="COL", help="weight of each row, such as a survey weight")
    group.add_argument("--repeats", metavar="COL", help="how many rows each line stands for: whole numbers")
    group.add_argument("--positive", metavar="VALUE", help="the label that means 1; all others mean 0, unless missing")
    group = parser.add_argument_group("counting")
    group.add_argument("--bins", type=int, metavar="N", help="number of bins, a power of two (default: 4096)")
    group.add_argument(
        "--range", nargs=2, type=float, metavar=("LO", "HI"), help="range of the bins; others count as below or above"
    )
    group.add_argument("--nan", choices=("raise", "skip"), default="raise", help="what to do if a score is missing")
    group.add_argument(
        "--missing", type=float, action="append", metavar="X", help="skip rows of this score, such as -999; repeatable"
    )
    group.add_argument(
        "--missing-group", metavar="NAME", help="group of rows that have none; skip: leave them out (default: raise)"
    )
    group.add_argument("--progress", action="store_true", default=None, help="show progress also without a terminal")


def _limit(group: argparse._ActionsContainer, text: str) -> None:
    group.add_argument("--limit", metavar="NAME=VALUE", type=pair, action="append", default=[], help=text)


def _asking(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what to ask for")
    _limit(group, "largest gap allowed (for disparate_impact: least ratio); repeatable")
    group.add_argument(
        "--objective",
        type=objective,
        default="error",
        metavar="X",
        help="what is minimised: error (default), balanced_error, or prices of both errors: fp=1,fn=5 (,balanced)",
    )
    group.add_argument("--randomize", action="store_true", help="allow several thresholds in a group, drawn by key")


def _output(parser: argparse.ArgumentParser, text: str, *, required: bool = False) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", required=required, help=text)


# ------------------------------------------------------------------------------------------------------------- commands


def _sketch(p: argparse.ArgumentParser) -> None:
    p.add_argument("inputs", nargs="*", metavar="IN", help="tables, folders, patterns, or - for standard input")
    _output(p, "the sketch to write; - for standard output", required=True)
    _counting(p, needed=True)
    _reading(p)
    group = p.add_argument_group("count in a database")
    group.add_argument(
        "--sql",
        metavar="URL",
        help="duckdb:FILE, sqlite:FILE or postgresql://...; the rows stay there, and nothing is written",
    )
    group.add_argument("--table", metavar="NAME", help="its table or view, exactly as it is named there")
    group.add_argument("--schema", metavar="NAME", help="schema of the table, if it is not the usual one")
    group = p.add_argument_group("continue a count")
    group.add_argument("--resume", action="store_true", help="continue an interrupted count of the same files")
    group.add_argument(
        "--append", action="store_true", help="add the rows to the sketch that the output holds; see below"
    )
    group.add_argument(
        "--checkpoint", type=float, default=30.0, metavar="S", help="seconds between saves (default: 30)"
    )


def _merge(p: argparse.ArgumentParser) -> None:
    p.add_argument("inputs", nargs="+", metavar="SKETCH", help="sketches, folders, patterns; - for standard input")
    _output(p, "the merged sketch to write; - for standard output", required=True)


def _show(p: argparse.ArgumentParser) -> None:
    p.add_argument("inputs", nargs=1, metavar="SKETCH", help="a saved sketch; - for standard input")


def _digest(p: argparse.ArgumentParser) -> None:
    p.add_argument("inputs", nargs="+", metavar="SKETCH", help="saved sketches; - for standard input")


def _solve(p: argparse.ArgumentParser) -> None:
    p.add_argument("inputs", nargs="+", metavar="IN", help="sketches, which are merged, or tables, which are counted")
    _output(p, "thresholds to write, as JSON; - for standard output")
    p.add_argument(
        "--expires", type=moment, metavar="DATE", help="day (UTC) from which `apply` refuses these thresholds"
    )
    p.add_argument("--report", metavar="FILE", help="also write a report (HTML)")
    p.add_argument("--title", help="title of the report")
    _asking(p)
    group = p.add_argument_group("how to solve")
    priced = "price of a squared gap, the paper's lambda; repeatable"
    group.add_argument("--penalty", metavar="NAME=VALUE", type=pair, action="append", default=[], help=priced)
    group.add_argument("--unified", action="store_true", help="one threshold for everybody")
    _roles(group)
    _confidence(group, "promise that the limits hold on new rows, with this confidence, such as 0.95")
    group.add_argument(
        "--evidence",
        type=float,
        default=0.95,
        metavar="X",
        help="one threshold for everybody, unless thresholds by group cost less with this confidence "
        "(default: %(default)s; 0: the least cost)",
    )
    group.add_argument(
        "--min-rows", type=float, default=0, metavar="N", help="pool groups of under N rows: they share one threshold"
    )
    group.add_argument("--method", choices=METHODS, default="exact", help="exact proves its answer (default)")
    group.add_argument("--density", choices=KINDS, default="empirical", help="empirical: the counts (default)")
    group.add_argument(
        "--max-seconds", type=float, metavar="X", help="end the exact search after X seconds, with the best found"
    )
    _counting(p, needed=False)
    _reading(p)


def _confidence(group: argparse._ActionsContainer, text: str) -> None:
    group.add_argument("--confidence", type=float, metavar="X", help=text)


def _roles(group: argparse._ActionsContainer) -> None:
    between, by = "gaps between groups of this column alone; repeatable", "thresholds by this column alone; repeatable"
    group.add_argument("--fair-between", metavar="COL", action="append", help=between)
    group.add_argument("--decide-by", metavar="COL", action="append", help=by)
    rising = "thresholds that rise, or fall, along --decide-by; the default where --segments are made for it"
    group.add_argument("--monotone", action=argparse.BooleanOptionalAction, help=rising)
    cut = "saved cut points of --decide-by; `apply` then takes the number that was cut"
    group.add_argument("--segments", metavar="FILE", help=cut)


def _frontier(p: argparse.ArgumentParser) -> None:
    p.add_argument("inputs", nargs="+", metavar="IN", help="sketches, or tables")
    p.add_argument("--criterion", required=True, type=criterion, metavar="NAME", help="trade this gap against error")
    _output(p, "file for all points: .csv, .json or .parquet")
    _confidence(p, "gaps that can be promised with this confidence, instead of gaps of the counted rows")
    _roles(p)
    group = p.add_argument_group("one point of the frontier")
    group.add_argument("--at-gap", type=float, metavar="X", help="the point of least error with a gap of at most X")
    group.add_argument("--at-error", type=float, metavar="X", help="the point of least gap with an error of at most X")
    group.add_argument("--thresholds", metavar="FILE", help="file for its thresholds; - for standard output")
    _asking(p)
    _counting(p, needed=False)
    _reading(p)


def _audit(p: argparse.ArgumentParser) -> None:
    p.add_argument("inputs", nargs="+", metavar="IN", help="sketches, or tables")
    p.add_argument("--thresholds", metavar="FILE", help="thresholds that `solve` saved")
    p.add_argument("--decision", metavar="COL", help="column of 0/1 decisions, if the tables have one")
    p.add_argument("--accepted", metavar="VALUE", help="the decision that means 1; all others mean 0")
    _output(p, "file for the audit: .json, .csv or .html")
    group = p.add_argument_group("intervals")
    group.add_argument("--confidence", type=float, default=0.95, metavar="X", help="default: %(default)s")
    group.add_argument(
        "--replicates", type=int, default=2000, metavar="N", help="bootstrap replicates (default: %(default)s)"
    )
    group.add_argument("--seed", type=int, default=0, metavar="N", help="the same seed gives the same intervals")
    _new_rows(group)
    _counting(p, needed=False)
    _reading(p)


def _new_rows(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--new-rows", type=int, metavar="N", help="expect gaps on a sample of N new rows (default: as counted)"
    )


def _certify(p: argparse.ArgumentParser) -> None:
    p.add_argument("thresholds", metavar="THRESHOLDS", help="thresholds that `solve` saved")
    p.add_argument("inputs", nargs="+", metavar="IN", help="fresh rows: sketches, or tables")
    p.add_argument("--confidence", type=float, default=0.95, metavar="X", help="default: %(default)s")
    p.add_argument("--exact", action="store_true", help="proven for cells of any size; certifies less often")
    _limit(p, "limit to certify (default: those saved with the thresholds); repeatable")
    _counting(p, needed=False)
    _reading(p)


def _report(p: argparse.ArgumentParser) -> None:
    p.add_argument("inputs", nargs="+", metavar="IN", help="sketches, or tables")
    p.add_argument("--thresholds", metavar="FILE", required=True, help="thresholds that `solve` saved")
    _output(p, "the page to write (HTML)", required=True)
    p.add_argument("--criterion", type=criterion, metavar="NAME", help="of the frontier (default: the one asked for)")
    p.add_argument("--title", help="title of the page")
    _new_rows(p)
    _counting(p, needed=False)
    _reading(p)


def _apply(p: argparse.ArgumentParser) -> None:
    p.add_argument("inputs", nargs="+", metavar="IN", help="tables, folders, patterns, or - for standard input")
    p.add_argument("--thresholds", metavar="FILE", required=True, help="thresholds that `solve` saved")
    _output(p, "the table to write, or a folder (out/); - for standard output", required=True)
    p.add_argument("--score", metavar="COL", help="default: the column named in the thresholds")
    p.add_argument("--group", metavar="COL", action="append", help="default: as named in the thresholds")
    p.add_argument("--key", metavar="COL", help="identifies a row, for randomised thresholds; text 7 is the number 7")
    p.add_argument(
        "--unknown", type=unknown, metavar="X", help="group without a threshold: raise, default, or a number"
    )
    p.add_argument("--nan", choices=("raise", "reject", "accept"), help="what to do if a score is missing or NaN")
    p.add_argument(
        "--missing",
        type=float,
        action="append",
        metavar="X",
        help="a score that stands for a missing one, such as -999: --nan says what to do; repeatable",
    )
    p.add_argument(
        "--missing-group", metavar="NAME", help="decide rows that have no group as this group (default: raise)"
    )
    p.add_argument("--replace", action="store_true", help="replace an existing column `decision`")
    p.add_argument("--allow-expired", action="store_true", help="take thresholds that have expired")
    p.add_argument("--allow-infeasible", action="store_true", help="take thresholds that miss their limits")
    p.add_argument("--to", choices=FORMATS, help="format to write, if the name does not show it")
    p.add_argument(
        "--resume", action="store_true", help="continue an output folder: decide only what is not decided yet"
    )
    p.add_argument("--progress", action="store_true", default=None, help="show progress also without a terminal")
    _reading(p)


def _demo(p: argparse.ArgumentParser) -> None:
    p.add_argument("--folder", default="gstar-fast-demo", help="folder for its files (default: %(default)s)")
    p.add_argument("--rows", type=int, default=200_000, metavar="N", help="number of rows (default: %(default)s)")


def _info(_: argparse.ArgumentParser) -> None:
    pass


def _completion(p: argparse.ArgumentParser) -> None:
    p.add_argument("shell", choices=SHELLS)


# name -> (one line, what fills the parser, description, epilog)
COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None], str, str]] = {
    "sketch": (
        "count tables of scores into a small sketch",
        _sketch,
        """Count scores by label and group. Later commands need only the sketch, not the rows. It takes some kilobytes,
is exact at its edges, and does not depend on the order of the rows.""",
        f"""{TABLES_HELP}

examples:
  gstar-fast sketch scores.csv -o s.gstar --score p --label y --group sex
  gstar-fast sketch 'part-*.parquet' -o s.gstar --score p --label y --group sex --group race
  gstar-fast sketch --sql duckdb:scores.db --table people -o s.gstar --score p --label y --group sex
  zcat scores.csv.gz | gstar-fast sketch - -o s.gstar --score p --label outcome --positive yes --group sex

Ctrl-C keeps what is counted in OUTPUT.partial. The same command with --resume continues, and gives the same bytes as
one pass. If there is no partial file, --resume starts from scratch, so scripts can always pass it.

The sketch remembers the names of the columns, and later commands take them from there. It does not know its files: one
that is appended twice counts twice. If that may happen, make one sketch for each file and add them up with
`gstar-fast merge`.""",
    ),
    "merge": (
        "add sketches up",
        _merge,
        "Merge sketches. The result has the same bytes as one sketch of all their rows, in any order.",
        """A folder means all sketches in it. A quoted pattern such as 'day-*.gstar' means all files that match.

examples:
  gstar-fast merge monday.gstar tuesday.gstar -o week.gstar
  gstar-fast merge days/ -o all.gstar
  gstar-fast merge s.gstar.partial -o s.gstar        make a sketch of an unfinished count""",
    ),
    "show": (
        "print what a sketch holds",
        _show,
        "Print the groups, rows and window of a sketch.",
        "examples:\n  gstar-fast show s.gstar\n  gstar-fast show s.gstar --json",
    ),
    "digest": (
        "print the SHA-256 of sketches, equal for equal rows",
        _digest,
        "Print the digest of each sketch. Sketches of the same rows have the same digest on every machine.",
        "examples:\n  gstar-fast digest *.gstar",
    ),
    "solve": (
        "find one threshold for each group",
        _solve,
        """Find the thresholds with the least error while gaps between groups stay within limits, with a proof for the
counted rows. If no thresholds meet the limits, the exit code is 3 and nothing is written. With --confidence the limits
are promised for new rows as well; if that cannot be done, the exit code is 3 too.""",
        f"""{CRITERIA_HELP}

examples:
  gstar-fast solve s.gstar --limit equalized_odds=0.02 -o thresholds.json --report report.html
  gstar-fast solve s.gstar --limit disparate_impact=0.8 --objective fp=1,fn=5
  gstar-fast solve s.gstar --limit equalized_odds=0.05 --confidence 0.95 -o thresholds.json
  gstar-fast solve scores/ --score p --label y --group sex --limit equal_opportunity=0.01 -o thresholds.json""",
    ),
    "frontier": (
        "show the trade-off between error and a gap",
        _frontier,
        "Print every pair of gap and error that no other thresholds beat in both.",
        f"""{CRITERIA_HELP}

examples:
  gstar-fast frontier s.gstar --criterion equalized_odds -o frontier.csv
  gstar-fast frontier s.gstar --criterion equalized_odds --at-gap 0.05 --thresholds thresholds.json""",
    ),
    "audit": (
        "measure every rate and gap, with confidence intervals",
        _audit,
        "Measure rates by group and gaps between groups, each with its definition and a confidence interval.",
        """examples:
  gstar-fast audit test.gstar --thresholds thresholds.json -o audit.html
  gstar-fast audit decided.parquet --decision decision --label y --group sex""",
    ),
    "certify": (
        "prove on fresh rows that thresholds keep their limits",
        _certify,
        """Say whether thresholds keep their limits with the given confidence, going by rows that were not used to find
them. If that is not certified, the exit code is 3.""",
        """examples:
  gstar-fast certify thresholds.json fresh.gstar
  gstar-fast certify thresholds.json next-week.csv --label y --exact --confidence 0.99""",
    ),
    "report": (
        "write one HTML page about thresholds",
        _report,
        "Write an HTML page that needs no network: what was asked, verdict, before and after, figures, frontier.",
        "examples:\n  gstar-fast report s.gstar --thresholds thresholds.json -o report.html",
    ),
    "apply": (
        "decide the rows of tables",
        _apply,
        "Append a column `decision` of 0 and 1: score >= threshold of the row's group. All other columns are kept.",
        f"""{TABLES_HELP}

examples:
  gstar-fast apply new.csv --thresholds thresholds.json -o decided.csv
  gstar-fast apply new/ --thresholds thresholds.json --unknown default -o decided.parquet
  gstar-fast apply new/ --thresholds thresholds.json -o decided/ --resume
  cat new.csv | gstar-fast apply - --thresholds thresholds.json -o - | head

An output that ends in / is a folder: each table of the input folder is written to a table of the same name in it, when
it is complete. If the command is stopped, or new tables come, the same command with --resume decides what is not yet
decided.""",
    ),
    "demo": (
        "run all steps on data it makes itself",
        _demo,
        "Make scores, count them, solve, audit, report and decide. Each command is shown with its output.",
        "examples:\n  gstar-fast demo\n  gstar-fast demo --folder demo --rows 1000000",
    ),
    "info": (
        "print versions, backend, processor",
        _info,
        "Print what this installation runs on. Please add it to bug reports.",
        "examples:\n  gstar-fast info\n  gstar-fast info --json",
    ),
    "completion": (
        "print a script that completes commands in your shell",
        _completion,
        "Print a completion script for the shell.",
        """examples:
  gstar-fast completion bash > ~/.local/share/bash-completion/completions/gstar-fast
  gstar-fast completion zsh > "${fpath[1]}/_gstar-fast"
  gstar-fast completion fish > ~/.config/fish/completions/gstar-fast.fish""",
    ),
}


def make_parser(version: str) -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = _Parser(
        prog="gstar-fast",
        description="Count scores once, then find one threshold for each group: least error within limits on the gaps.",
        epilog=f"{ROAD}\n\n{EXIT_CODES}",
    )
    parser.add_argument("--version", action="version", version=f"gstar-fast {version}")
    _common(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=_Parser)
    for name, (line, fill, description, epilog) in COMMANDS.items():
        command = commands.add_parser(name, help=line, description=description, epilog=epilog)
        fill(command)
        _common(command)
    return parser


def parse(argv: Sequence[str], version: str) -> argparse.Namespace:
    """Arguments of a call; exits with 2 where they are wrong, with 0 after --help and --version."""
    parser = make_parser(version)
    given = parser.parse_args(argv)
    for name, default in (("json", False), ("quiet", False), ("debug", False), ("backend", None)):
        if not hasattr(given, name):
            setattr(given, name, default)
    if given.command is None:
        parser.print_help()
        parser.exit(2)
    if getattr(given, "label", None) is not None and getattr(given, "no_label", False):
        parser.error("--label and --no-label exclude each other")
    return given
