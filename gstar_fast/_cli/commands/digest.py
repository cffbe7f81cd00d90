"""The command `digest`."""

from __future__ import annotations

import argparse

from gstar_fast._cli.output import Console
from gstar_fast._cli.read import load_sketch


def digest(given: argparse.Namespace, console: Console) -> None:
    """Print the digest of each sketch."""
    digests = {path: load_sketch(path).digest() for path in given.inputs}
    console.answer(digests, lambda: "\n".join(f"{text}  {path}" for path, text in digests.items()))
