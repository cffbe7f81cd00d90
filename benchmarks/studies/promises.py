"""Whether promised limits hold on new rows, how often a promise is made, and what it costs.

    python -m benchmarks.studies.promises --data FOLDER --lines FILE [--draws N] [--minutes M] [--only PATTERN ...]
    python -m benchmarks.studies.promises --lines FILE [--more FILE ...] --results benchmarks/results   pages of these

FOLDER has `scores/*.npz` as `quality.py` takes them. The settings stand in `promises_settings.py`; `promises_truth.py`
draws rows and knows what is true of them; `promises_found.py` counts, `promises_page.py` writes the page. Every draw
becomes a line of FILE, so that a run that was ended goes on where it was. Lines of another commit are not added to.
PATTERN is the name of a setting or of a part: draws, planned, certified, halves, times.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import gstar_fast as gf
from benchmarks.harness import machine, race, write
from benchmarks.studies import promises_page
from benchmarks.studies.promises_found import summary
from benchmarks.studies.promises_settings import (
    ADDED,
    CERTIFIED,
    CERTIFIED_DRAWS,
    CONFIDENCE,
    DRAWS,
    HALVES,
    ODDS,
    OTHERS,
    PLANNED,
    SETTINGS,
    File,
    Normal,
    Setting,
)
from benchmarks.studies.promises_truth import (
    Population,
    binomial_sketch,
    population_of,
    random_of,
    sketch_of,
)

BLOCK = 20  # draws of a setting before the next one has its turn
PILOTS, AFTER = 20, 5  # draws that the planner sees; draws at the number it names, for each of them
CLOCKED = ("Adult .05", "Adult .02, 34,000", "COMPAS .10", "Adult, ten groups .10", "ten normal groups .10")

Line = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """Something to run, and what its lines are known by."""

    part: str
    name: str
    number: int
    run: Callable[[], Line]

    @property
    def key(self) -> tuple[str, str, int]:
        return self.part, self.name, self.number


def judged(population: Population, setting: Setting, result: Any) -> Line:
    """The true gap and error of a result."""
    found = population.judge(result, setting.criterion)
    return {"gap": found.gap, "error": found.error}


def ask(setting: Setting, sketch: gf.Sketch, confidence: float) -> Any:
    limits = {setting.criterion: setting.limit}
    return gf.solve(sketch, limits=limits, randomize=setting.mixture, confidence=confidence, evidence=0)


def one_draw(setting: Setting, population: Population, draw: int) -> Line:
    """Plain and promised thresholds of one sample, judged on the population."""
    sketch = sketch_of(population.draw(random_of(setting, draw), setting.rows))
    line: Line = {"constant": population.constant_error, "levels": {}}
    for confidence in (CONFIDENCE, *(OTHERS if setting.levels else ())):
        start = time.perf_counter()
        result = ask(setting, sketch, confidence)
        seconds = time.perf_counter() - start
        asked = {"verdict": result.verdict, "chance": result.promise.chance, "seconds": round(seconds, 4)}
        line["levels"][str(confidence)] = asked | judged(population, setting, result)
        if confidence == CONFIDENCE:
            line["plain"] = judged(population, setting, result.promise.plain)
    return line


def one_pilot(setting: Setting, population: Population, pilot: int) -> Line:
    """The rows that the planner names for one sample, and how often promises come at that number and at half of it."""
    sketch = sketch_of(population.draw(random_of(setting, pilot, "pilot"), setting.rows))
    start = time.perf_counter()
    needed = gf.rows_needed(sketch, limits={setting.criterion: setting.limit}, confidence=CONFIDENCE)
    seconds = time.perf_counter() - start
    line: Line = {"times": needed.times, "seconds": round(seconds, 4)}
    if needed.times is not None:
        for name, share in (("at", 1.0), ("half", 0.5)):
            rows = math.ceil(setting.rows * needed.times * share)
            random = random_of(setting, pilot, name)
            sketches = (sketch_of(population.draw(random, rows)) for _ in range(AFTER))
            line[name] = [ask(setting, one, CONFIDENCE).verdict == "promised" for one in sketches]
    return line


def one_certificate(cell: int, groups: int, limit: float, low: float, draws: int) -> Line:
    """How often fixed thresholds are certified whose true gap is a little above the limit.

    One group has the lowest tpr, one the highest; the others lie between, and fpr is the same for all: then nothing but
    the one pair stands in the way of a false certificate.
    """
    random = np.random.default_rng([cell, groups, int(1000 * limit)])
    tpr = np.full(groups, low + limit / 2)
    tpr[:2] = low, low + limit + 1e-9
    totals = np.full((2, groups), cell)
    totals[0] = 2_000  # rows enough for fpr to be no question
    totals[1, 2:] = 20_000  # nor the groups between

    @cache
    def certified(first: int, second: int) -> tuple[bool, bool]:
        accepted = np.rint(totals * np.stack([np.full(groups, 0.2), tpr])).astype(int)
        accepted[1, :2] = first, second
        fresh = binomial_sketch(accepted, totals)
        asked = {"limits": {ODDS: limit}, "confidence": CONFIDENCE}
        return gf.certify(0.5, fresh, **asked).holds, gf.certify(0.5, fresh, **asked, exact=True).holds  # type: ignore[arg-type]

    found = [certified(*drawn) for drawn in random.binomial(cell, tpr[:2], (draws, 2)).tolist()]
    mover, exact = np.sum(found, axis=0).tolist()
    return {"cell": cell, "groups": groups, "limit": limit, "low": low, "draws": draws, "mover": mover, "exact": exact}


def halves(path: Path) -> Line:
    """Promises found on either half of a file, and what the other half says of them."""
    with np.load(path) as file:
        columns = {name: file[name] for name in file.files}
    scores = columns["score"]
    if "oof" in columns:
        scores = np.where(columns["split"] == 0, columns["oof"], scores)
    first = np.random.default_rng(list(path.stem.encode())).random(len(scores)) < 0.5
    rows = (scores, columns["label"], columns["group"])
    parts = [gf.Sketch.from_rows(*(column[part] for column in rows)) for part in (first, ~first)]
    line: Line = {"asked": 0, "promised": 0, "above": 0, "broken": 0, "plain_above": 0, "plain_broken": 0}
    for here, there in (parts, parts[::-1]):
        for criterion, limit in HALVES:
            result = gf.solve(here, limits={criterion: limit}, confidence=CONFIDENCE, evidence=0)
            made = result.verdict == "promised"
            line["asked"] += 1
            line["promised"] += made
            for prefix, one in (("", result), ("plain_", result.promise.plain)):
                gap = gf.audit(one.thresholds, there).gaps[criterion]
                if made:
                    line[f"{prefix}above"] += gap.value > limit
                    line[f"{prefix}broken"] += gap.low > limit
    return line


def timed(setting: Setting, population: Population, rows: int) -> Line:
    """Seconds of a plain solve, of a promise and of planning, taken in turn."""
    sketch = sketch_of(population.draw(random_of(setting, 0, "clock"), rows))
    limits = {setting.criterion: setting.limit}
    times = race(
        {
            "plain": lambda: gf.solve(sketch, limits=limits, evidence=0),
            "promised": lambda: gf.solve(sketch, limits=limits, confidence=CONFIDENCE, evidence=0),
            "planned": lambda: gf.rows_needed(sketch, limits=limits, confidence=CONFIDENCE),
        },
        repeats=5,
        budget=5.0,
    )
    verdict = gf.solve(sketch, limits=limits, confidence=CONFIDENCE, evidence=0).verdict
    return {"rows": rows, "verdict": verdict, **{name: one.least for name, one in times.items()}}


def jobs(folder: Path | None, draws: int, only: list[str]) -> Iterator[Job]:
    """Everything that is asked for, what has goals first."""

    def wanted(part: str, name: str) -> bool:
        return any(fnmatch.fnmatch(part, one) or fnmatch.fnmatch(name, one) for one in only)

    @cache
    def population(source: File | Normal) -> Population:
        return population_of(source, folder)

    def every(part: str, settings: list[Setting], run: Callable[..., Line], numbers: range) -> Iterator[Job]:
        for at in range(numbers.start, numbers.stop, BLOCK):
            for setting in settings:
                for i in range(at, min(at + BLOCK, numbers.stop)):
                    yield Job(part, setting.name, i, lambda s=setting, i=i: run(s, population(s.source), i))  # type: ignore[misc]

    settings = [setting for setting in SETTINGS if wanted("draws", setting.name)]
    clocked = [one for one in SETTINGS if one.name in CLOCKED and wanted("times", one.name)]
    for number, rows in enumerate((50_000, 1_000_000)):
        for setting in clocked:
            yield Job("times", setting.name, number, lambda s=setting, n=rows: timed(s, population(s.source), n))  # type: ignore[misc]
    if wanted("certified", ""):
        for number, case in enumerate(CERTIFIED):
            most = min(CERTIFIED_DRAWS, 10 * draws)
            yield Job("certified", "", number, lambda case=case, most=most: one_certificate(*case, most))  # type: ignore[misc]
    if folder is not None and wanted("halves", ""):
        for path in sorted((folder / "scores").glob("*.npz")):
            yield Job("halves", path.stem, 0, lambda path=path: halves(path))  # type: ignore[misc]
    yield from every("draws", [s for s in settings if s.goal], one_draw, range(draws))
    yield from every("draws", [s for s in settings if not s.goal], one_draw, range(draws))
    yield from every("draws", [s for s in ADDED if wanted("draws", s.name)], one_draw, range(draws))
    planned = [setting for setting in PLANNED if wanted("planned", setting.name)]
    yield from every("planned", planned, one_pilot, range(min(PILOTS, draws)))


def read(path: Path) -> tuple[dict[str, Any] | None, list[Line]]:
    """The machine and the lines of a run; a line cut off by its end is left out."""
    if not path.exists():
        return None, []
    whole = path.read_text().rpartition("\n")[0].splitlines()
    lines = [json.loads(line) for line in whole]
    return (lines[0]["machine"], lines[1:]) if lines else (None, [])


def read_all(paths: list[Path]) -> tuple[dict[str, Any], list[Line]]:
    """The lines of several runs, each draw once, and all of their commits."""
    runs = [(about, lines) for about, lines in map(read, paths) if about is not None]
    found: dict[tuple[str, str, int], Line] = {}
    for _, lines in runs:
        for line in lines:
            found.setdefault((line["part"], line["name"], line["number"]), line)
    commits = dict.fromkeys(str(about["commit"]) for about, _ in runs)
    return {**runs[0][0], "commit": ", ".join(commits)}, list(found.values())


def run(given: argparse.Namespace) -> None:
    """Add the lines that are missing."""
    about, lines = read(given.lines)
    here = machine()
    if about is None:
        given.lines.write_text(json.dumps({"machine": here}) + "\n")
    elif about["commit"] != here["commit"]:
        raise SystemExit(f"{given.lines} is of commit {about['commit']}, this is {here['commit']}: take another file")
    else:  # what was cut off goes
        given.lines.write_text("\n".join(map(json.dumps, [{"machine": about}, *lines])) + "\n")
    done = {(line["part"], line["name"], line["number"]) for line in lines}
    end = time.monotonic() + 60 * given.minutes
    with given.lines.open("a") as out:
        for job in jobs(given.data, given.draws, given.only):
            if time.monotonic() > end:
                print("out of time; the same command goes on from here")
                return
            if job.key in done:
                continue
            if job.number % BLOCK == 0:
                print(f"{time.strftime('%H:%M:%S')} {job.part} {job.name} {job.number}", flush=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of limits that are met by hardly deciding; the errors show it
                line = job.run()
            out.write(json.dumps({"part": job.part, "name": job.name, "number": job.number, **line}) + "\n")
            out.flush()


def main() -> None:
    """Parse, run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with scores/*.npz")
    parser.add_argument("--lines", type=Path, required=True, help="where every draw is kept; read and added to")
    parser.add_argument("--more", type=Path, nargs="*", default=[], help="lines of other runs, for the page")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--only", nargs="*", default=["*"], metavar="PATTERN")
    parser.add_argument("--results", type=Path, help="folder to write promises.json, promises.md and promises.svg to")
    given = parser.parse_args()
    if given.results is None or given.data is not None:
        run(given)
    about, lines = read_all([given.lines, *given.more])
    report = summary(lines, about)
    text = promises_page.page(report)
    print(text)
    if given.results is not None:
        write(given.results, "promises", report, text)
        (given.results / "promises.svg").write_text(promises_page.picture(report))


if __name__ == "__main__":
    main()
