"""Rows that engines count and decide in the tests, and what to do where an engine is not installed."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pyarrow as pa

import gstar_fast as gf
from helpers.databases import absent
from helpers.pages import ROOT, blocks

COLUMNS = {"score": "the score", "label": "y", "group": "who"}


def needs(package: str) -> None:
    """Skip a test, or fail it, where a package is not installed."""
    if importlib.util.find_spec(package) is None:
        absent(f"{package} is not installed")


def awkward_scores(n: int, seed: int) -> np.ndarray:
    """Logits, tiny and huge numbers, powers of two and their neighbours, both zeros, subnormals, infinities."""
    rng = np.random.default_rng(seed)
    x = rng.normal(scale=3.0, size=n)
    kind = rng.integers(0, 12, n)
    powers = np.ldexp(rng.choice([-1.0, 1.0], n), rng.integers(-60, 4, n))
    for here, values in {
        0: x * 1e-9,
        1: powers,
        2: np.nextafter(powers, -np.inf),
        3: np.nextafter(powers, np.inf),
        4: rng.choice([0.0, -0.0, 5e-324, -5e-324, 2.2e-308, -1e-310], n),
        5: np.where(rng.random(n) < 0.1, rng.choice([np.inf, -np.inf, 1e290, -1e290], n), x),
        6: 1 / (1 + np.exp(-x)),
    }.items():
        x = np.where(kind == here, values, x)
    return x


def awkward_rows(n: int, seed: int, groups: list[object] | None = None) -> pa.Table:
    """Such scores, labels of which some are null, and groups; the names of the columns are those of `COLUMNS`."""
    rng = np.random.default_rng(seed + 1)
    names = ["F", "M", "é\0'`\\", "", "a longer name than fits into a view"] if groups is None else groups
    labels = pa.array(rng.integers(0, 2, n), mask=rng.random(n) < 0.1)
    who = pa.array(names).take(pa.array(rng.integers(0, len(names), n)))
    return pa.table({"the score": awkward_scores(n, seed), "y": labels, "who": who, "other": np.arange(n)})


def rows_by_key(n: int, seed: int) -> pa.Table:
    """Such rows with keys: a day and a shop, each of which may be null."""
    rng = np.random.default_rng(seed + 2)
    days = np.datetime64("2026-01-01T00", "us") + rng.integers(0, 9, n) * np.timedelta64(1, "D")
    table = awkward_rows(n, seed).append_column("day", pa.array(days, mask=rng.random(n) < 0.1))
    return table.append_column("a shop", pa.array(["x", "y", None]).take(pa.array(rng.integers(0, 3, n))))


def sketches_of(table: pa.Table, keys: list[str], **options: object) -> dict[tuple[object, ...], bytes]:
    """The bytes of one pass over the rows of each key."""
    places: dict[tuple[object, ...], list[int]] = {}
    for at, key in enumerate(zip(*(table[name].to_pylist() for name in keys), strict=True)):
        places.setdefault(key, []).append(at)
    return {
        key: gf.Sketch().update_table(table.take(rows), **COLUMNS, **options).to_bytes() for key, rows in places.items()
    }


def by_key(found: pa.Table) -> dict[tuple[object, ...], bytes]:
    """Rows of keys and a sketch, the last column; each key once."""
    rows = {tuple(key): bytes(sketch) for *key, sketch in zip(*found.to_pydict().values(), strict=True)}
    assert len(rows) == len(found)
    return rows


def run_page(engine: str, folder: Path, names: dict[str, object]) -> int:
    """Run the blocks of an engine on the page of engines, and say how many; paths are in the folder on workers too."""
    page = (ROOT / "docs/guide/engines.md").read_text(encoding="utf-8")
    start, *sections = page.split("\n## ")
    section = next(text for text in sections if text.startswith(f"{engine}\n"))
    found = [block.code for block in blocks(section) if block.language == "{code-block} python"]
    for code in [*[block.code for block in blocks(start) if block.language == "python"], *found]:
        there = re.sub(r'"(people|sketches|batches|checkpoint)"', rf'"{folder.as_posix()}/\1"', code)
        exec(compile(there, "engines.md", "exec"), names)
    return len(found)
