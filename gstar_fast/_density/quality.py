"""How well each kind of density follows the counts of each cell."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gstar_fast._base.names import Name
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.place import bad_option
from gstar_fast._density.cell import Cell, NoDensityError, cells_of
from gstar_fast._density.density import make
from gstar_fast._sketch.sketch import Sketch, check_sketch
from gstar_fast._words import KINDS

__all__ = ["CellQuality", "FitQuality", "fit_quality"]

COMPARED = ("empirical", "kde", "normal", "student_t", "gamma")
POOR = 0.05  # a Kolmogorov distance from which rates read off the density are wrong by visible amounts
CRITICAL = 1.628  # times 1 / sqrt(rows): the distance that chance alone passes in one case of a hundred
FEW = 30  # rows
NEARLY_ALL = 0.9


@lives_in("gstar_fast.results")
@dataclass(frozen=True)
class CellQuality:
    """What `fit_quality` says about one cell.

    Attributes
    ----------
    label, group
        The cell.
    rows : float
        Its rows, those at -inf and +inf included.
    effective_rows : float
        Rows that carry information about the shape: those inside the window, each tie counted once. Rows with weights
        w count as (sum w)^2 / (sum w^2) rows.
    atom_share : float
        Share of the rows inside the window that sit on a score which others share, as far as the sketch can tell.
    kolmogorov : mapping from kind to float
        Largest difference between the density's cdf and the counts.
    log_likelihood : mapping from kind to float
        Of the sketched rows, for each row.
    refused : mapping from kind to str
        Kinds that could not be made, and why.
    warnings : tuple of str
        What to mind before thresholds are read off these densities.
    """

    label: int
    group: Name
    rows: float
    effective_rows: float
    atom_share: float
    kolmogorov: Mapping[str, float]
    log_likelihood: Mapping[str, float]
    refused: Mapping[str, str]
    warnings: tuple[str, ...]


@lives_in("gstar_fast.results")
class FitQuality(Sequence[CellQuality]):
    """One `CellQuality` for each cell that has rows; printed, a table."""

    def __init__(self, cells: Sequence[CellQuality], kinds: Sequence[str]) -> None:
        self._cells, self.kinds = tuple(cells), tuple(kinds)

    def __len__(self) -> int:
        return len(self._cells)

    def __getitem__(self, place):  # type: ignore[no-untyped-def]
        return self._cells[place]

    def __iter__(self) -> Iterator[CellQuality]:
        return iter(self._cells)

    def cell(self, label: int, group: Name) -> CellQuality:
        """The entry of one cell."""
        for one in self._cells:
            if (one.label, one.group) == (label, group):
                return one
        raise KeyError(f"label {label!r}, group {group!r} has no rows in this sketch")

    def __repr__(self) -> str:
        shown = [kind for kind in self.kinds if kind != "empirical"]
        lines = ["Kolmogorov distance to the counts (log-likelihood a row)"]
        head = ["label", "group", "rows", "ties", *shown]
        table = [head]
        for one in self._cells:
            table.append([str(one.label), str(one.group), f"{one.rows:,.10g}", f"{one.atom_share:.0%}"])
            for kind in shown:
                fits = kind in one.kolmogorov
                table[-1].append(f"{one.kolmogorov[kind]:.4f} ({one.log_likelihood[kind]:.4f})" if fits else "-")
        widths = [max(len(row[i]) for row in table) for i in range(len(head))]
        lines += ["  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in table]
        lines += [f"label {one.label}, group {one.group!r}: {text}" for one in self._cells for text in one.warnings]
        return "\n".join(lines)


def fit_quality(sketch: Sketch, *, kinds: Sequence[str] = COMPARED, bandwidth: float | str | None = None) -> FitQuality:
    """Kolmogorov distance to the counts and log-likelihood of each kind of density, for each cell.

    The distance between density and counts stands in for d_K of the paper's Theorem 5, which cannot be observed.

    Parameters
    ----------
    sketch : Sketch
    kinds : sequence of str
        Kinds of `density` to compare.
    bandwidth : float or str, optional
        For `kde`, as in `density`.

    Returns
    -------
    FitQuality
        A sequence of `CellQuality`.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> table = gf.datasets.paper_synthetic(rows=8_000, seed=1)
    >>> sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups)
    >>> quality = gf.fit_quality(sketch).cell(0, 0)
    >>> quality.kolmogorov["kde"] < quality.kolmogorov["normal"]
    True
    """
    check_sketch(sketch)
    for kind in kinds:
        if kind not in KINDS:
            raise bad_option("kinds", f"kinds must be of {', '.join(KINDS)}; got {kind!r}")
    return FitQuality([_judge(cell, kinds, bandwidth) for cell in cells_of(sketch)], kinds)


def _judge(cell: Cell, kinds: Sequence[str], bandwidth: float | str | None) -> CellQuality:
    distances: dict[str, float] = {}
    likelihoods: dict[str, float] = {}
    refused: dict[str, str] = {}
    for kind in kinds:
        try:
            made = make(cell, kind, bandwidth if kind == "kde" else None)
        except NoDensityError as error:
            refused[kind] = str(error)
        else:
            distances[kind] = made.kolmogorov
            likelihoods[kind] = made.log_likelihood / cell.rows
    atom_share = float(cell.atom_shares.sum())
    effective = cell.effective * (1.0 - atom_share) + cell.atom_shares.size
    notes = [reason for kind, reason in refused.items() if kind == "student_t"]
    if effective < FEW:
        rows = "row" if effective == 1.0 else "rows"
        notes.append(f"{effective:.10g} {rows} without ties: too few to say anything about the shape of its density")
    else:
        notes += [
            f"the {kind} density misses the counts by {distance:.3f}"
            for kind, distance in distances.items()
            if distance > max(POOR, CRITICAL / math.sqrt(effective))
        ]
    if atom_share >= NEARLY_ALL:
        notes.append(
            f"{atom_share:.0%} of its rows share their score with others: only kind='empirical' keeps such steps"
        )
    return CellQuality(
        cell.label, cell.group, float(cell.n_rows), effective, atom_share, distances, likelihoods, refused, tuple(notes)
    )
