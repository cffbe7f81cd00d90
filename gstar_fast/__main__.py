"""`python -m gstar_fast`, and the script `gstar-fast`."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; with the arguments of the process, also end the process."""
    streams = sys.stdout, sys.stderr
    try:
        from gstar_fast._cli.main import run

        if argv is not None:
            return run(list(argv))
        for stream in streams:  # so that names that the terminal cannot show are printed escaped
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # before the command itself handles it
        print("gstar-fast: stopped", file=sys.stderr, flush=True)
        code = 130
        if argv is not None:
            return code
    for stream in streams:
        with contextlib.suppress(AttributeError, OSError, ValueError):  # closed, or not there
            stream.flush()
    os._exit(code)  # at once: a thread of pyarrow that still reads through Python would abort a normal exit


if __name__ == "__main__":
    sys.exit(main())
