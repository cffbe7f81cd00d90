"""The command `completion`: what a shell needs to complete words, by argcomplete, which asks the parser."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from gstar_fast._cli.errors import extra_missing
from gstar_fast._cli.output import Console
from gstar_fast._criteria import CRITERION


def completion(given: argparse.Namespace, _: Console) -> None:
    """Print a completion script."""
    try:
        from argcomplete.shell_integration import shellcode
    except ImportError:
        raise extra_missing("completion", "argcomplete") from None
    print(shellcode(["gstar-fast"], shell=given.shell), end="")


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer the script and exit, if argcomplete is installed: its variables tell the line and where to write."""
    try:
        from argcomplete import autocomplete
    except ImportError:
        parser.exit(1)
    subparsers = next(one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    named = {"criterion": _criteria(""), "limits": _criteria("="), "penalties": _criteria("=")}
    for command in subparsers.choices.values():
        for action in command._actions:
            if action.dest in named:
                vars(action)["completer"] = named[action.dest]
    autocomplete(parser)


def _criteria(sign: str) -> Callable[..., dict[str, str]]:
    """What completes the name of a criterion, with its meaning for shells that show one."""
    return lambda **_: {name + sign: one.meaning for name, one in CRITERION.items()}
