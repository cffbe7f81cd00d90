"""The command `certify`."""

from __future__ import annotations

import argparse
from dataclasses import asdict

import gstar_fast as gf
from gstar_fast._cli.errors import DONE, INFEASIBLE, USAGE, CliError
from gstar_fast._cli.output import Console
from gstar_fast._cli.read import sketch_of
from gstar_fast._cli.thresholds import load_thresholds, take_columns


def certify(given: argparse.Namespace, console: Console) -> int:
    """Say whether thresholds keep their limits, going by fresh rows."""
    thresholds = load_thresholds(given.thresholds)
    limits = given.limits or getattr(thresholds, "limits", None)
    if not limits:
        raise CliError(f"{given.thresholds} was saved without limits; give --limit NAME=VALUE", USAGE)
    take_columns(given, thresholds)
    fresh = sketch_of(given, console)
    found = gf.certify(thresholds, fresh, limits=limits, confidence=given.confidence, exact=given.exact)
    told = {name: value for name, value in asdict(found).items() if name != "asked"}
    console.answer({**told, "limits": found.limits}, lambda: str(found))
    return DONE if found.holds else INFEASIBLE
