"""Densities: pdf, cdf and quantile of the scores of each cell, from a sketch alone or from known parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gstar_fast import _backends
from gstar_fast._backends.interface import Densities, Evaluator
from gstar_fast._base.names import Name
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.place import bad_option, bad_type
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._density.cell import Cell, NoDensityError, cell_of, cells_of
from gstar_fast._density.given import PARAMETERS, Given, bandwidth_of, given
from gstar_fast._sketch.sketch import Sketch, check_sketch
from gstar_fast._words import FAMILIES, KINDS

__all__ = ["Compared", "Density", "density", "every_density"]

Array = NDArray[np.float64]
Parameter: TypeAlias = float | str  # a number, or the name of a rule
Maker: TypeAlias = Callable[[Densities], Evaluator]  # asks a backend for the density

SMALLEST_DF = 0.1  # as in the backends: it decides which ties leave the Student-t likelihood without a maximum
SAME = 1e-6  # log-likelihood a row below which two families cannot be told apart


class Compared(NamedTuple):
    """One family that `kind="best"` looked at."""

    kind: str
    log_likelihood: float | None  #: of the sketched rows; None where it was not fitted
    reason: str | None  #: why it was not fitted


@lives_in("gstar_fast.results")
class Density:
    """The distribution of the scores of one cell, estimated or known. Made by `density`.

    `cdf(x)` is the probability of a score below `x`, so that `1 - cdf(threshold)` is the share accepted at that
    threshold. Scores at -inf and +inf (and those a fixed window only knows to be below or above it) keep their mass
    there under every kind.

    Attributes
    ----------
    kind : str
        `empirical`, `kde`, `normal`, `student_t` or `gamma`; for `best`, the family that won.
    label, group
        The cell; None where the parameters were given.
    parameters : mapping
        What describes the density: the family's parameters, or `bandwidth` and the `rule` it came from. Those of a
        family can be given to `density` again.
    compared : tuple of Compared
        What `kind="best"` looked at, the best first; empty for other kinds.
    """

    def __init__(
        self,
        cell: Cell | Given,
        kind: str,
        parameters: Mapping[str, Parameter],
        maker: Maker,
        mean_log_likelihood: float | None = None,
    ) -> None:
        self._known, self._maker, self._mean_log_likelihood = cell, maker, mean_log_likelihood
        self._room = _backends.room("density")
        self._evaluator = maker(self._room)
        self.kind, self.label, self.group = kind, cell.label, cell.group
        self.parameters: Mapping[str, Parameter] = MappingProxyType(dict(parameters))
        self.compared: tuple[Compared, ...] = ()

    @property
    def n_rows(self) -> float | None:
        """Rows of the cell; the sum of weights in a weighted sketch; None where parameters came without `rows`."""
        return self._known.rows

    @property
    def _cell(self) -> Cell:
        """The counts behind the density."""
        if isinstance(self._known, Given):
            raise refusal("no_counts", value=self.kind)
        return self._known

    def _on(self, room: Densities) -> Evaluator:
        """The same density as this backend evaluates it."""
        return self._evaluator if room is self._room else self._maker(room)

    @overload
    def cdf(self, x: float) -> float: ...
    @overload
    def cdf(self, x: ArrayLike) -> float | Array: ...
    def cdf(self, x: ArrayLike) -> float | Array:
        """Probability of a score below `x`; a float for a number, else an array of the same shape."""
        return self._ask(x, lambda flat: self._evaluator.at(flat)[0], "x")

    @overload
    def pdf(self, x: float) -> float: ...
    @overload
    def pdf(self, x: ArrayLike) -> float | Array: ...
    def pdf(self, x: ArrayLike) -> float | Array:
        """Density at `x`, the derivative of `cdf`; atoms of an empirical density have none and count as 0."""
        return self._ask(x, lambda flat: self._evaluator.at(flat)[1], "x")

    def at(self, x: ArrayLike) -> tuple[Array, Array]:
        """`cdf` and `pdf` at every `x` in one pass, as arrays of the shape of `x`."""
        values = _numbers(x, "x")
        cdf, pdf = self._evaluator.at(values.ravel())
        return cdf.reshape(values.shape), pdf.reshape(values.shape)

    @overload
    def quantile(self, p: float) -> float: ...
    @overload
    def quantile(self, p: ArrayLike) -> float | Array: ...
    def quantile(self, p: ArrayLike) -> float | Array:
        """The least score with at least probability `p` at or below it; -inf and +inf where the mass there answers."""
        values = _numbers(p, "p")
        wrong = values[~((values >= 0.0) & (values <= 1.0))]
        if wrong.size:
            raise bad_option("p", f"p must be between 0 and 1, got {wrong.flat[0]:g}")
        return self._ask(values, self._evaluator.quantile, "p")

    def sample(self, n: int, rng: np.random.Generator | int | None = None) -> Array:
        """Draw `n` scores; `rng` is a NumPy generator or a seed. All backends draw the same scores."""
        random = np.random.default_rng(rng)
        if self.kind != "kde":
            return np.asarray(self._evaluator.quantile(random.random(n)), dtype=np.float64)
        # A row chosen by chance, moved by the kernel.
        cell = self._cell
        rows = np.concatenate(([cell.below], cell.n, [cell.above])).astype(np.float64)
        scores = np.concatenate(([-np.inf], cell.points, [np.inf]))
        chosen = random.choice(scores, n, p=rows / rows.sum())
        return np.asarray(chosen + self.parameters["bandwidth"] * random.standard_normal(n), dtype=np.float64)

    @cached_property
    def log_likelihood(self) -> float:
        """Log-likelihood of the sketched rows: log pdf of those inside the window, log share of those beyond it.

        A density of given parameters has no rows, and raises.

        From the bins it agrees with the rows to 1e-5 a row at a `resolution` of 1024 or more. A gamma density of shape
        below 1 is an exception: rows next to its pole count as the density itself spreads them, which may be off by
        tenths a row. An empirical density is taken as a histogram here: rows spread evenly over their bins.
        """
        cell = self._cell
        beyond = sum(float(m) * math.log(m / cell.rows) for m in (cell.below, cell.above) if m > 0)
        if not cell.inside:
            return beyond
        if self.kind == "empirical":
            return beyond + float(cell.n @ (np.log(cell.n / cell.rows) - np.log(cell.widths)))
        if self._mean_log_likelihood is not None:  # the fit knows it already
            return beyond + cell.inside * (self._mean_log_likelihood + math.log(cell.inside / cell.rows))
        points, weights = cell.sample
        with np.errstate(divide="ignore"):
            return beyond + cell.inside * float(weights @ np.log(self._evaluator.at(points)[1]))

    @cached_property
    def kolmogorov(self) -> float:
        """Largest difference between this cdf and the counts, over all edges and both sides of every atom.

        It is what can be observed in place of the distance d_K to the true distribution in the paper's Theorem 5. A
        density of given parameters has no counts, and raises.
        """
        cell = self._cell
        if self.kind == "empirical" or not cell.inside:
            return 0.0
        counted = cell.cdf_at_edges
        places = np.union1d(cell.used, cell.used + 1)
        worst = float(np.max(np.abs(self._evaluator.at(cell.edges[places])[0] - counted[places])))
        tied = np.flatnonzero(~np.isnan(cell.atoms))
        if tied.size:
            here = self._evaluator.at(cell.atoms[tied])[0]
            worst = max(worst, *(float(np.max(np.abs(here - counted[tied + side]))) for side in (0, 1)))
        return worst

    def __repr__(self) -> str:
        shown = "".join(f", {name}={_shown(value)}" for name, value in self.parameters.items())
        if isinstance(self._known, Given):
            return f"Density({self.kind}{shown}" + (f"; {self.n_rows:,.10g} rows)" if self.n_rows else ")")
        text = f"Density({self.kind} of {self._cell}{shown}; {self.n_rows:,.10g} rows"
        return text + (f"; {self._won()})" if self.compared else ")")

    def _won(self) -> str:
        """By how much the best family won, and over what."""
        fitted = [c for c in self.compared if c.log_likelihood is not None]
        refused = [c.kind for c in self.compared if c.log_likelihood is None]
        parts = []
        if len(fitted) > 1 and fitted[0].log_likelihood is not None and fitted[1].log_likelihood is not None:
            ahead = max(fitted[0].log_likelihood - fitted[1].log_likelihood, 0.0) / self._cell.rows
            parts.append(f"best of {', '.join(c.kind for c in fitted)}: {ahead:.2g} log-likelihood a row ahead")
        if refused:
            parts.append(f"not fitted: {', '.join(refused)}")
        return "; ".join(parts)

    def _ask(self, x: ArrayLike, evaluate: Callable[[Array], Array], name: str) -> float | Array:
        values = _numbers(x, name)
        out = evaluate(values.ravel()).reshape(values.shape)
        return out if values.ndim else float(out)


@overload
def density(
    sketch: Sketch, label: int, group: Name, *, kind: str = "empirical", bandwidth: float | str | None = None
) -> Density: ...
@overload
def density(
    sketch: Sketch, *, kind: str = "empirical", bandwidth: float | str | None = None
) -> dict[tuple[int, Name], Density]: ...
@overload
def density(
    sketch: str,
    *,
    df: float = ...,
    shape: float = ...,
    location: float = 0.0,
    scale: float = 1.0,
    mirrored: bool = False,
    rows: float | None = None,
    below: float = 0.0,
    above: float = 0.0,
) -> Density: ...
def density(
    sketch: Sketch | str,
    label: int | None = None,
    group: Name | None = None,
    *,
    kind: str | None = None,
    bandwidth: float | str | None = None,
    rows: float | None = None,
    below: float | None = None,
    above: float | None = None,
    **parameters: float,
) -> Density | dict[tuple[int, Name], Density]:
    """Density of the scores of one label and group, from counts or from a family and its parameters.

    ``density(sketch, label, group, kind=...)`` estimates it, and ``density(sketch, kind=...)`` those of all cells that
    have rows, by (label, group). ``density("normal", location=0.2, scale=1.0)`` is known, and needs no rows.

    Parameters
    ----------
    sketch : Sketch or {"normal", "student_t", "gamma"}
        Counted scores; no row is needed. Or a family whose parameters follow.
    label : 0 or 1
    group : name
        One of `sketch.groups`.
    kind : {"empirical", "kde", "normal", "student_t", "gamma", "best"}
        `empirical` is the counts: exact at every edge, linear inside a bin, a step where all rows of a bin share one
        score. `kde` is the paper's binned Gaussian kernel density. `normal`, `student_t` and `gamma` (with a shift, its
        long tail on either side) are fitted by maximum likelihood, and `best` is the one of largest likelihood.
    bandwidth : float or {"scott", "silverman", "isj"}, optional
        For `kde`: the standard deviation of the kernel (the paper's is 0.5), or a rule: Scott's, Silverman's (the
        default; the smaller of standard deviation and quartile distance / 1.349, times (3 n / 4) ** -0.2) or improved
        Sheather-Jones (Silverman's where it finds none; `parameters` says so).
    rows : float, optional
        With a family: how many rows the density stands for. `solve` needs it where there is no sketch; shares do too.
    below, above : float
        With a family: shares of the rows whose score is -inf or +inf.
    **parameters
        Of the family: `location` and `scale` (0 and 1 if not given; mean and standard deviation of `normal`), `df` of
        `student_t`, and `shape` of `gamma`, whose long tail is on the left with ``mirrored=True``. Names are those of
        `Density.parameters`, and SciPy's ``df``, ``a`` (shape), ``loc`` and ``scale``.

    Raises
    ------
    ValueError
        If the cell has no rows, or not the rows this kind needs: families and rules for the bandwidth need scores that
        differ; a Student t has no largest likelihood where a tenth of the rows share one score. If a family has no such
        parameter, or not with this value.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> table = gf.datasets.paper_synthetic(rows=8_000, seed=1)
    >>> sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups)
    >>> curve = gf.density(sketch, 1, 0, kind="kde", bandwidth=0.5)
    >>> round(1 - curve.cdf(0.0), 2)
    0.72
    >>> list(gf.density(sketch))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    >>> known = gf.density("normal", location=0.2, scale=1.0, rows=500)
    >>> known
    Density(normal, location=0.2, scale=1; 500 rows)
    >>> known.quantile(0.5)
    0.2
    """
    of_family: dict[str, object] = {"rows": rows, "below": below, "above": above, **parameters}
    of_sketch: dict[str, object] = {"label": label, "group": group, "kind": kind, "bandwidth": bandwidth}
    if isinstance(sketch, str):
        for name, value in of_sketch.items():
            if value is not None:
                raise refusal("family_with", name, value=sketch)
        return known(given(sketch, parameters, 0.0 if below is None else below, 0.0 if above is None else above, rows))
    check_sketch(sketch)
    for name, value in of_family.items():
        if value is not None:
            raise refusal("parameter_of_sketch", name, value=value)
    kind = "empirical" if kind is None else kind
    if label is None and group is None:
        return every_density(sketch, kind, bandwidth)
    if label is None or group is None:
        raise refusal("cell_of_sketch", "label" if label is None else "group")
    return make(cell_of(sketch, label, group), kind, bandwidth)


def known(of: Given) -> Density:
    """The density of a family with these parameters."""
    ends = of.below, of.above
    return Density(of, of.kind, of.parameters, lambda room: room.family(of.kind, of.values, *ends, *of.span()))


def every_density(sketch: Sketch, kind: str, bandwidth: float | str | None = None) -> dict[tuple[int, Name], Density]:
    """Densities of all cells that have rows, by (label, group)."""
    return {(cell.label, cell.group): make(cell, kind, bandwidth) for cell in cells_of(sketch)}


def make(cell: Cell, kind: str, bandwidth: float | str | None) -> Density:
    """The density of one cell."""
    if kind not in KINDS:
        raise refusal("not_one_of", "kind", value=kind, limit=KINDS)
    if bandwidth is not None and kind != "kde":
        raise bad_option("bandwidth", f"bandwidth is for kind='kde'; kind={kind!r} has none")
    if not cell.rows:
        raise NoDensityError(f"{cell} has no rows, so it has no density")
    if kind == "empirical":
        return Density(cell, kind, {}, lambda room: room.empirical(cell.edges, cell.cdf_at_edges, cell.atoms))
    if not cell.has_means:
        raise NoDensityError(
            f"the sketch was counted without sums of scores, so no {kind} density can be made; use kind='empirical', "
            "or count with exact=True"
        )
    if not cell.inside:
        raise NoDensityError(
            f"{cell} has no finite score inside the window, so no {kind} density can be made; use kind='empirical'"
        )
    if kind == "kde":
        width, rule = bandwidth_of(cell, "silverman" if bandwidth is None else bandwidth)
        parameters: dict[str, Parameter] = {"bandwidth": width}
        if rule is not None:
            parameters["rule"] = rule
        ends = cell.below / cell.rows, cell.above / cell.rows
        return Density(cell, kind, parameters, lambda room: room.kde(cell.points, cell.weights, width, *ends))
    room = _backends.room("density")
    return _best(cell, room) if kind == "best" else _family(cell, kind, room)


def _family(cell: Cell, kind: str, room: Densities) -> Density:
    values, mean_log_likelihood = _fit(cell, kind, room)
    shares = cell.below / cell.rows, cell.above / cell.rows
    return Density(
        cell,
        kind,
        dict(zip(PARAMETERS[kind], values, strict=True)),
        lambda room: room.family(kind, values, *shares, float(cell.edges[0]), float(cell.edges[-1])),
        mean_log_likelihood,
    )


def _fit(cell: Cell, kind: str, room: Densities) -> tuple[tuple[float, ...], float]:
    """Parameters of largest likelihood and its mean logarithm, or NoDensityError."""
    if not (cell.deviation > 0.0 and math.isfinite(cell.deviation)):
        raise NoDensityError(f"{cell} {cell.spread_words}, so no {kind} density can be fitted; use kind='empirical'")
    points, weights = cell.sample
    if kind == "normal":
        log_likelihood = -0.5 * math.log(2.0 * math.pi) - math.log(cell.deviation) - 0.5
        return (cell.mean, cell.deviation), log_likelihood
    if kind == "student_t":
        # The likelihood grows without end as the scale shrinks onto a tie of share m where m / (1 - m) > df.
        tie = float(cell.atom_shares[0]) if cell.atom_shares.size else 0.0
        if tie >= SMALLEST_DF * (1.0 - tie):
            raise NoDensityError(
                f"{tie:.0%} of the rows of {cell} share one score, so the Student-t likelihood has no maximum; "
                "use kind='empirical' or 'kde'"
            )
        df, location, scale, log_likelihood, at_bound = room.fit_student_t(points, weights, cell.typical_width / 8.0)
        if at_bound:
            raise NoDensityError(
                f"the Student-t likelihood of {cell} has no maximum: it still rises at df={df:.3g}, scale={scale:.3g} "
                f"(a bin is {cell.typical_width:.3g} wide); use kind='empirical' or 'kde'"
            )
        return (df, location, scale), log_likelihood
    upright, mirrored = (
        room.fit_gamma(points, weights, side, *cell.end(side), cell.effective) for side in (False, True)
    )
    better = mirrored if mirrored[3] > upright[3] else upright
    return (*better[:3], better is mirrored), better[3]


def _best(cell: Cell, room: Densities) -> Density:
    """The family of largest likelihood, as the paper chooses; one that has no maximum does not take part."""
    made: list[Density] = []
    refused: list[Compared] = []
    for kind in FAMILIES:
        try:
            made.append(_family(cell, kind, room))
        except NoDensityError as error:
            if kind == "normal":
                raise NoDensityError(str(error).replace("no normal density", "no family")) from None
            refused.append(Compared(kind, None, str(error)))
    # Where the others end in their normal limit, they are the normal density: take it under its own name.
    most = max(one.log_likelihood for one in made)
    made.sort(key=lambda one: -one.log_likelihood)
    made.sort(key=lambda one: one.kind != "normal" or most - one.log_likelihood > SAME * cell.rows)
    winner = made[0]
    winner.compared = (*(Compared(one.kind, one.log_likelihood, None) for one in made), *refused)
    return winner


def _numbers(x: ArrayLike, name: str) -> Array:
    try:
        return np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise bad_type(name, f"{name} must be a number or an array of numbers, got {type(x).__name__}") from None


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
