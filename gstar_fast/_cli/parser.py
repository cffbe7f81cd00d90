"""Arguments of the command line, with help one can learn from. Imports little, so that help comes at once."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Sequence
from typing import NoReturn

from gstar_fast._base.text import near
from gstar_fast._cli import options
from gstar_fast._criteria import CRITERION
from gstar_fast._words import BACKENDS

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

    def __init__(self, prog: str, description: str, epilog: str) -> None:
        shown = argparse.RawDescriptionHelpFormatter
        super().__init__(prog, None, description, epilog, formatter_class=shown, allow_abbrev=False)
        self._negative_number_matcher = re.compile(r"^-(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$|^-inf$")

    def error(self, message: str) -> NoReturn:
        choice = re.match(r"argument COMMAND: invalid choice: '(.*?)'", message)
        if choice:
            message = f"there is no command {choice[1]!r}{near(choice[1], COMMANDS)}"
        self.exit(2, f"gstar-fast: {message}\nsee: {self.prog} --help\n")


# name -> (one line, what fills the parser, description, epilog)
COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None] | None, str, str]] = {
    "sketch": (
        "count tables of scores into a small sketch",
        options.sketch,
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
        options.merge,
        "Merge sketches. The result has the same bytes as one sketch of all their rows, in any order.",
        """A folder means all sketches in it. A quoted pattern such as 'day-*.gstar' means all files that match.

examples:
  gstar-fast merge monday.gstar tuesday.gstar -o week.gstar
  gstar-fast merge days/ -o all.gstar
  gstar-fast merge s.gstar.partial -o s.gstar        make a sketch of an unfinished count""",
    ),
    "show": (
        "print what a sketch holds",
        options.show,
        "Print the groups, rows and window of a sketch.",
        "examples:\n  gstar-fast show s.gstar\n  gstar-fast show s.gstar --json",
    ),
    "digest": (
        "print the SHA-256 of sketches, equal for equal rows",
        options.digest,
        "Print the digest of each sketch. Sketches of the same rows have the same digest on every machine.",
        "examples:\n  gstar-fast digest *.gstar",
    ),
    "solve": (
        "find one threshold for each group",
        options.solve,
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
        options.frontier,
        "Print every pair of gap and error that no other thresholds beat in both.",
        f"""{CRITERIA_HELP}

examples:
  gstar-fast frontier s.gstar --criterion equalized_odds -o frontier.csv
  gstar-fast frontier s.gstar --criterion equalized_odds --at-gap 0.05 --thresholds thresholds.json""",
    ),
    "audit": (
        "measure every rate and gap, with confidence intervals",
        options.audit,
        "Measure rates by group and gaps between groups, each with its definition and a confidence interval.",
        """examples:
  gstar-fast audit test.gstar --thresholds thresholds.json -o audit.html
  gstar-fast audit decided.parquet --decision decision --label y --group sex""",
    ),
    "certify": (
        "prove on fresh rows that thresholds keep their limits",
        options.certify,
        """Say whether thresholds keep their limits with the given confidence, going by rows that were not used to find
them. If that is not certified, the exit code is 3.""",
        """examples:
  gstar-fast certify thresholds.json fresh.gstar
  gstar-fast certify thresholds.json next-week.csv --label y --exact --confidence 0.99""",
    ),
    "report": (
        "write one HTML page about thresholds",
        options.report,
        "Write an HTML page that needs no network: what was asked, verdict, before and after, figures, frontier.",
        "examples:\n  gstar-fast report s.gstar --thresholds thresholds.json -o report.html",
    ),
    "apply": (
        "decide the rows of tables",
        options.apply,
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
        options.demo,
        "Make scores, count them, solve, audit, report and decide. Each command is shown with its output.",
        "examples:\n  gstar-fast demo\n  gstar-fast demo --folder demo --rows 1000000",
    ),
    "info": (
        "print versions, backend, processor",
        None,
        "Print what this installation runs on. Please add it to bug reports.",
        "examples:\n  gstar-fast info\n  gstar-fast info --json",
    ),
    "completion": (
        "print a script that completes commands in your shell",
        options.completion,
        "Print a completion script for the shell.",
        """examples:
  gstar-fast completion bash > ~/.local/share/bash-completion/completions/gstar-fast
  gstar-fast completion zsh > "${fpath[1]}/_gstar-fast"
  gstar-fast completion fish > ~/.config/fish/completions/gstar-fast.fish""",
    ),
}


def _common(parser: argparse.ArgumentParser) -> None:
    """Options of every command; they may stand before it or after it."""
    group = parser.add_argument_group("for every command")
    hidden = argparse.SUPPRESS  # so that a default after the command does not undo what stood before it
    group.add_argument("--json", action="store_true", default=hidden, help="print JSON on standard output")
    group.add_argument("-q", "--quiet", action="store_true", default=hidden, help="print only errors")
    group.add_argument("--debug", action="store_true", default=hidden, help="show the traceback of an error")
    group.add_argument("--backend", choices=BACKENDS, default=hidden, help="what computes; all give the same answers")


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
        if fill is not None:
            fill(command)
        _common(command)
    return parser


def parse(argv: Sequence[str], version: str) -> argparse.Namespace:
    """Arguments of a call; exits with 2 where they are wrong, with 0 after --help and --version."""
    parser = make_parser(version)
    if "_ARGCOMPLETE" in os.environ:  # a shell asks for words
        from gstar_fast._cli.commands.completion import complete

        complete(parser)
    given = parser.parse_args(argv)
    for name, default in (("json", False), ("quiet", False), ("debug", False), ("backend", None)):
        if not hasattr(given, name):
            setattr(given, name, default)
    if given.command is None:
        parser.print_help()
        parser.exit(2)
    if getattr(given, "label", None) is not None and getattr(given, "no_label", False):
        parser.error("--label and --no-label exclude each other")
    for option, name in (("--limit", "limits"), ("--penalty", "penalties")):
        entries: dict[str, float | dict[str, float]] = {}
        for key, value in getattr(given, name, []):
            before = entries.get(key)
            if isinstance(value, dict) and isinstance(before, dict) and value.keys().isdisjoint(before):
                value = before | value  # both bounds of a rate
            elif before is not None:
                parser.error(f"{option} {key} is given twice; give it once")
            entries[key] = value
        if hasattr(given, name):
            setattr(given, name, entries)
    return given
