"""Values of options: the user's words -> what a command reads, or an error that says what to write instead."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from gstar_fast._base.text import near
from gstar_fast._criteria import CRITERION, not_offered


def _no_criterion(name: str) -> argparse.ArgumentTypeError:
    hint = not_offered(name) or near(name, CRITERION)
    return argparse.ArgumentTypeError(f"there is no criterion {name!r}{hint}; see --help for all")


def pair(text: str) -> tuple[str, float]:
    """NAME=VALUE with the name of a criterion."""
    name, equals, value = text.partition("=")
    if name not in CRITERION:
        raise _no_criterion(name)
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} lacks its value; write {name}=0.02")
    try:
        return name, float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{value!r} is not a number; write {name}=0.02") from None


def criterion(text: str) -> str:
    """The name of a criterion."""
    if text not in CRITERION:
        raise _no_criterion(text)
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
