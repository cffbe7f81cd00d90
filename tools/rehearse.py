"""Run the snippets and commands of README against the installed package: nox -s rehearsal.

Each block runs in an empty folder, with only the environment of this Python on the path, and must print what README
says. Exits with 1 after the first block that does not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))

from helpers.pages import blocks  # noqa: E402


def main() -> int:
    """Run them all and say how many there were."""
    programs = Path(sys.executable).parent
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PATH"] = os.pathsep.join([str(programs), os.environ["PATH"]])
    where = [sys.executable, "-P", "-c", "import gstar_fast as gf; print(gf.__file__, gf.Sketch().backend)"]
    installed, backend = subprocess.run(where, check=True, capture_output=True, text=True).stdout.split()
    if ROOT in Path(installed).parents and "site-packages" not in installed:
        print(f"rehearsal: {installed} is the clone, not an installed package", file=sys.stderr)
        return 1
    run = 0
    for block in blocks((ROOT / "README.md").read_text(encoding="utf-8")):
        if block.language == "python":
            command = [sys.executable, "-c", block.code]
        elif block.language == "sh" and block.code.startswith("gstar-fast "):
            command = ["sh", "-e", "-c", block.code]
        else:  # installs, or needs the clone
            continue
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0 or block.output not in (None, done.stdout):
            print(f"rehearsal: README says otherwise:\n{block.code}{done.stdout}{done.stderr}", file=sys.stderr)
            return 1
        run += 1
    print(f"rehearsal: {run} blocks of README ran on the {backend} backend of {installed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
