"""Fit every method on every split and keep what came out: resumable, within a budget, one JSON line a setting.

    python -m benchmarks.paper.run --folder build/paper --minutes 90 --jobs 2
    python -m benchmarks.paper.run --methods exact,fact --data adult --protocol paper --seeds 0-4
    python -m benchmarks.paper.run --synthetic --folder somewhere       seconds, without the raw files

A line that is there is not run again; `--retry` runs those again that failed. The order goes by seed, so that a budget
that ends early leaves as many splits for one method as for another. Methods run in worker processes, each with the
Python of the environment that the method names: `folder/env/NAME/bin/python`, or what `--python NAME=PATH` says.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.paper import data as tables
from benchmarks.paper import ours, splits, worker
from benchmarks.paper.method import Method, Setting

Key = tuple[str, str, str, int, str, str, str]
OURS_ONLY = ("paper_oof",)  # protocols that ask one question about our own forms
SYNTHETIC_SEEDS = [0, 1]
ROOT = Path(__file__).absolute().parents[2]


@dataclass(frozen=True)
class Task:
    """Settings of one method on one split."""

    data: str
    model: str
    protocol: str
    seed: int
    method: str
    criterion: str
    settings: list[Setting]
    environment: str = "main"


def key_of(record: dict[str, Any]) -> Key:
    setting = json.dumps(record["setting"], sort_keys=True)
    return (*(record[name] for name in ("data", "model", "protocol", "seed", "method", "criterion")), setting)


def read(file: Path) -> dict[Key, dict[str, Any]]:
    """Records by key; the last one of a key counts, and a line that was cut off while it was written is dropped."""
    found: dict[Key, dict[str, Any]] = {}
    if file.exists():
        with file.open() as lines:
            for line in lines:
                if line.endswith("\n"):
                    record = json.loads(line)
                    found[key_of(record)] = record
    return found


def asked(method: Method, protocol: str) -> tuple[str, ...]:
    """Criteria that a method is run for: in the paper's protocol equalized odds, and for our own forms all."""
    own = any(method.name == other.name for other in ours.METHODS)
    if protocol == "frontier":
        return tuple(name for name in method.criteria if name != ours.BOTH) if method.aims else method.criteria[:1]
    if protocol in OURS_ONLY:
        return ("equalized_odds",) if own else ()
    return method.criteria if own else tuple(name for name in method.criteria if name == "equalized_odds")


def plan(
    methods: Iterable[Method],
    *,
    data: list[str],
    model: str,
    protocols: Iterable[str],
    seeds: list[int] | None,
    there: set[Key],
) -> list[Task]:
    """What is left to do, in order: what reads scores only by seed, then what trains by criterion and seed.

    A budget that ends early thus leaves as many splits for one method as for another.
    """
    listed, protocols = list(methods), list(protocols)
    tasks = []
    for protocol in protocols:
        for seed in splits.PROTOCOLS[protocol] if seeds is None else seeds:
            for name in data:
                for method in listed:
                    for criterion in asked(method, protocol):
                        task = Task(name, model, protocol, seed, method.name, criterion, [], method.environment)
                        known = vars(task)
                        left = [
                            setting
                            for setting in method.settings(name, criterion)
                            if key_of(known | {"setting": setting}) not in there
                        ]
                        if left:
                            training = method.kind != "post"
                            place = (training, method.criteria.index(criterion) if training else 0, seed)
                            tasks.append((place, Task(**known | {"settings": left})))
    return [task for _, task in sorted(tasks, key=lambda pair: pair[0])]


@dataclass
class Slot:
    """One task at a time, in a process of the environment that the task needs."""

    folder: Path
    pythons: dict[str, str]
    patience: float
    deadline: float
    answered: queue.Queue[dict[str, Any] | None]
    processes: dict[str, subprocess.Popen[str]] = field(default_factory=dict)

    def work(self, tasks: queue.Queue[Task]) -> None:
        """Take tasks until there are none, or the time is over."""
        try:
            while time.monotonic() < self.deadline:
                try:
                    task = tasks.get_nowait()
                except queue.Empty:
                    break
                self._do(task)
        finally:
            for name in list(self.processes):
                self.end(name)
            self.answered.put(None)

    def _do(self, task: Task) -> None:
        left = list(task.settings)
        while left and time.monotonic() < self.deadline:
            process = self.ask(task, left)
            while True:
                asked_at = time.monotonic()
                answer = self.answer(process)
                if answer is None:
                    break
                if "done" in answer:
                    return
                self.answered.put(answer)
                if (answer["method"], answer["criterion"]) == (task.method, task.criterion):
                    left = [setting for setting in left if setting != answer["setting"]]
                if time.monotonic() >= self.deadline:
                    break
            self.end(task.environment)
            if time.monotonic() < self.deadline and left:
                late = time.monotonic() - asked_at >= self.patience
                said = f"no answer within {self.patience:.0f} s" if late else "the worker ended"
                self.answered.put(self._failed(task, left.pop(0), said))

    def ask(self, task: Task, settings: list[Setting]) -> subprocess.Popen[str]:
        """Give a worker some settings of a task."""
        process = self.process(task.environment)
        asked_for = {name: value for name, value in vars(task).items() if name != "environment"}
        line = json.dumps(asked_for | {"settings": settings, "folder": str(self.folder.absolute())})
        with contextlib.suppress(BrokenPipeError):  # its end of file says the same
            print(line, file=process.stdin, flush=True)
        return process

    def answer(self, process: subprocess.Popen[str]) -> dict[str, Any] | None:
        """The next line of a worker; None if it ended or took too long."""
        patience = max(0.1, min(self.patience, self.deadline - time.monotonic()))
        watch = threading.Timer(patience, process.kill)
        watch.start()
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
        finally:
            watch.cancel()
        return json.loads(line) if line.endswith("\n") else None

    def _failed(self, task: Task, setting: Setting, said: str) -> dict[str, Any]:
        known = {name: getattr(task, name) for name in ("data", "model", "protocol", "seed", "method", "criterion")}
        return known | {"setting": setting, "fit": None, "validation": None, "test": None, "error": said}

    def process(self, environment: str) -> subprocess.Popen[str]:
        """The worker of an environment, started if there is none."""
        if environment not in self.processes:
            once = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
            with (self.folder / f"worker_{environment}.log").open("a") as said:
                self.processes[environment] = subprocess.Popen(
                    [self.pythons[environment], "-m", "benchmarks.paper.worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=said,
                    cwd=ROOT,
                    text=True,
                    env=os.environ | once | {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore"},
                )
        return self.processes[environment]

    def end(self, environment: str) -> None:
        """End the worker of an environment."""
        process = self.processes.pop(environment)
        process.kill()
        with contextlib.suppress(BrokenPipeError):
            process.communicate()


def run(tasks: list[Task], records: Path, slots: list[Slot]) -> Counter[str]:
    """Do the tasks; only this thread writes, one whole line at a time."""
    todo: queue.Queue[Task] = queue.Queue()
    for task in tasks:
        todo.put(task)
    threads = [threading.Thread(target=slot.work, args=(todo,), daemon=True) for slot in slots]
    for thread in threads:
        thread.start()
    tally: Counter[str] = Counter()
    said: set[tuple[str, str]] = set()  # what went wrong, each once
    working = len(threads)
    records.parent.mkdir(parents=True, exist_ok=True)
    _end_line(records)
    with records.open("a") as file:
        while working:
            answer = slots[0].answered.get()
            if answer is None:
                working -= 1
                continue
            file.write(json.dumps(answer) + "\n")
            file.flush()
            tally["failed" if answer["error"] else "done"] += 1
            if answer["error"] and (answer["method"], answer["error"]) not in said:
                said.add((answer["method"], answer["error"]))
                place = f"{answer['method']} on {answer['data']} {answer['protocol']} {answer['seed']}"
                print(f"{place} {answer['criterion']} {answer['setting']}: {answer['error']}", flush=True)
            elif sum(tally.values()) % 500 == 0:
                print(f"{sum(tally.values())} records, {todo.qsize()} tasks left", flush=True)
    return tally


def _end_line(file: Path) -> None:
    """A run that was killed may have left half a line: begin a new one after it."""
    if file.exists() and file.stat().st_size:
        with file.open("rb+") as there:
            there.seek(-1, os.SEEK_END)
            if there.read(1) != b"\n":
                there.seek(0)
                whole = there.read().rpartition(b"\n")
                there.truncate(len(whole[0]) + len(whole[1]))


def pythons(folder: Path, given: Iterable[str]) -> dict[str, str]:
    """The Python of each environment: what was said, what `make paper` has made, and for main this one."""
    found = {"main": sys.executable}
    for place in sorted((folder.absolute() / "env").glob("*/bin/python")):
        found[place.parent.parent.name] = str(place)
    return found | dict(pair.split("=", 1) for pair in given)


def choose(names: str | None) -> list[Method]:
    """Methods by their names, separated by commas; `ours` and `rivals` name many, and nothing names all."""
    known = worker.methods()
    own = [method.name for method in ours.METHODS]
    many = {"ours": own, "rivals": [name for name in known if name not in own]}
    asked_for = [name for word in (names or "ours,rivals").split(",") for name in many.get(word, [word])]
    unknown = [name for name in asked_for if name not in known]
    if unknown:
        raise SystemExit(f"--methods has {', '.join(unknown)}; there are ours, rivals, {', '.join(known)}")
    return [known[name] for name in asked_for]


def prepare(folder: Path, data: Iterable[str], model: str, protocols: Iterable[str], seeds: list[int] | None) -> None:
    """Tables and splits that are missing."""
    for name in data:
        if not tables.file_of(folder, name).exists():
            tables.write(folder, tables.READERS[name]())
        for protocol in protocols:
            for seed in seeds if seeds is not None else splits.PROTOCOLS[protocol]:
                if not splits.file_of(folder, name, model, protocol, seed).exists():
                    splits.write(folder, tables.load(folder, name), model, protocol, seed)


def main(arguments: list[str] | None = None) -> Counter[str]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=tables.FOLDER, help="tables, splits and environments")
    parser.add_argument("--records", type=Path, help="records.jsonl in the folder unless given")
    parser.add_argument("--methods", help="names, ours or rivals, separated by commas; all unless given")
    parser.add_argument("--data", default=",".join(tables.REAL))
    parser.add_argument("--synthetic", action="store_true", help="the made table, two seeds")
    parser.add_argument("--model", default="lr", choices=("lr", "hgb"))
    parser.add_argument("--protocol", default="paper,frontier,paper_oof")
    parser.add_argument("--seeds", type=splits.numbers, help="such as 0-4; those of the protocol unless given")
    parser.add_argument("--minutes", type=float, default=90.0, help="no task starts later; what runs then is ended")
    parser.add_argument("--patience", type=float, default=300.0, help="seconds for one setting")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--retry", action="store_true", help="run again what failed")
    parser.add_argument("--python", action="append", default=[], metavar="NAME=PATH", help="Python of an environment")
    options = parser.parse_args(arguments)
    deadline = time.monotonic() + 60.0 * options.minutes

    records = options.records or options.folder / "records.jsonl"
    names = ["synthetic"] if options.synthetic else options.data.split(",")
    seeds = SYNTHETIC_SEEDS if options.synthetic and options.seeds is None else options.seeds
    protocols = options.protocol.split(",")
    prepare(options.folder, names, options.model, protocols, seeds)

    chosen = choose(options.methods)
    python = pythons(options.folder, options.python)
    absent = sorted({method.environment for method in chosen} - set(python))
    if absent:
        print(f"left out, their environments are missing: {', '.join(absent)}")
    there = {key for key, record in read(records).items() if not (options.retry and record["error"])}
    ready = [method for method in chosen if method.environment in python]
    tasks = plan(ready, data=names, model=options.model, protocols=protocols, seeds=seeds, there=there)
    print(f"{sum(len(task.settings) for task in tasks)} settings in {len(tasks)} tasks", flush=True)
    answered: queue.Queue[dict[str, Any] | None] = queue.Queue()
    slots = [Slot(options.folder, python, options.patience, deadline, answered) for _ in range(options.jobs)]
    tally = run(tasks, records, slots)
    print(f"{tally['done']} done, {tally['failed']} failed")
    return tally


if __name__ == "__main__":
    main()
