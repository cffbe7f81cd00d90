"""Records of a run, made small enough to keep in the repository.

    python -m benchmarks.paper.pack --folder build/paper --results benchmarks/results

Metrics are rounded to five digits, seconds to two that count; versions stand in the first record of each method. What
the fit rows show, thresholds, and metrics that nothing is chosen by are kept for the paper's protocol alone.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
from pathlib import Path
from typing import Any

from benchmarks.paper import data as tables
from benchmarks.paper import ours, run, worker

NAME = "paper.jsonl.gz"


FRONTIER = ("accuracy", "eod_sum", "eod_max", "dp", "eop")  # what settings are chosen by, and compared by


def current(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what was run for settings that a method no longer lists, so that all of its splits have the same."""
    known = worker.methods()
    known |= {above.name: above for above in map(ours.on_top, list(known.values()))}
    listed: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    found = []
    for record in records:
        method, place = known.get(record["method"]), (record["method"], record["data"], record["criterion"])
        if method is not None and place not in listed:
            listed[place] = method.settings(record["data"], record["criterion"])
        if method is None or record["setting"] in listed[place]:  # what this checkout does not know is not judged
            found.append(record)
    return found


def packed(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same records with fewer digits."""
    found, told = [], set()
    for record in sorted(records, key=run.key_of):
        small = {name: value for name, value in record.items() if name not in ("solving", "iterations")}
        whole = small["protocol"] == "paper"
        if not whole:
            small["fit"] = None
            small.pop("thresholds", None)
        for part in ("fit", "validation", "test"):
            if small.get(part):
                kept = small[part] if whole else FRONTIER
                small[part] = {name: _rounded(small[part][name], 5) for name in kept}
        if small.get("thresholds"):
            small["thresholds"] = {group: _rounded(at, 4) for group, at in small["thresholds"].items()}
        if small.get("seconds"):
            clocks = ("wall", "cpu") if whole else ("cpu",)
            small["seconds"] = {clock: float(f"{small['seconds'][clock]:.2g}") for clock in clocks}
        if small["method"] in told:
            small.pop("versions", None)
        told.add(small["method"])
        found.append(small)
    return found


def _rounded(value: float | None, digits: int) -> float | None:
    """None also for a threshold that accepts everybody or nobody: JSON has no infinity."""
    return None if value is None or math.isinf(value) else round(value, digits)


def write(records: list[dict[str, Any]], target: Path) -> None:
    """The same records give the same bytes."""
    lines = "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in packed(records))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(lines.encode(), compresslevel=9, mtime=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=tables.FOLDER)
    parser.add_argument("--records", type=Path, nargs="+", help="records.jsonl in the folder unless given")
    parser.add_argument("--results", type=Path, required=True)
    options = parser.parse_args()
    found: dict[run.Key, dict[str, Any]] = {}
    for file in options.records or [options.folder / "records.jsonl"]:
        found |= run.read(file)
    records = current(list(found.values()))
    if len(records) < len(found):
        print(f"{len(found) - len(records)} records of settings that are no longer listed are left out")
    target = options.results / NAME
    write(records, target)
    failed = sum(record["error"] is not None for record in records)
    print(f"{len(records)} records, {failed} of them failures, in {target.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
