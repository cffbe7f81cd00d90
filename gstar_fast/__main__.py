"""`python -m gstar_fast`, and the script `gstar-fast`."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        return _main(argv)
    except KeyboardInterrupt:  # before a command was there to say more
        print("gstar-fast: stopped", file=sys.stderr, flush=True)
        return 130


def _main(argv: Sequence[str] | None) -> int:
    from gstar_fast._cli.main import run

    if argv is not None:
        return run(list(argv))
    for stream in (sys.stdout, sys.stderr):  # a name that the terminal cannot show is no reason to fail
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
