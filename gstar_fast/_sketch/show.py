"""A sketch for people and for their tools: text, HTML, boost-histogram. No counting here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gstar_fast._base.names import listed

if TYPE_CHECKING:
    import boost_histogram as bh

    from gstar_fast._sketch.sketch import Sketch


def window_words(sketch: Sketch) -> str:
    """How many bins there are, how wide and where; the widest is not the one that covers a gap between scores."""
    core = sketch._core.copy()
    edges, widest = core.edges, 2.0**core.level
    widths = f" of {widest:g}" if core.fixed else f", at most {widest:.2g} wide,"
    lowest, highest = float(edges[0]), float(edges[-1])
    ends = f"from {lowest:g} to {highest:g}" if f"{lowest:g}" != f"{highest:g}" else f"from {lowest!r} to {highest!r}"
    return f"{core.bins} bins{widths} {ends}"


def _facts(sketch: Sketch) -> list[str]:
    rows, n = sketch.n_rows, len(sketch.groups)
    weight = f" of weight {sketch.weight:g}" if sketch.weighted else ""
    counted = f"{rows} row{'s' * (rows != 1)}{weight}, {n} group{'s' * (n != 1)}"
    groups = [f"{counted}: {listed(sketch.groups)}" if n else counted]
    skipped = [f"{sketch.skipped} without a score or a group skipped"] if sketch.skipped else []
    pooled = [f"pooled: {listed(sketch.pooled_groups)}"] if sketch.pooled_groups else []
    means = [] if sketch.has_means else ["without means"]
    return [*groups, window_words(sketch), *means, *skipped, *pooled]


def text(sketch: Sketch) -> str:
    """One line."""
    return f"Sketch({'; '.join(_facts(sketch))})"


def html(sketch: Sketch) -> str:
    """A small table of the cells, for notebooks."""
    from html import escape  # slow, and needed here only

    counts = sketch.counts.sum(axis=2) + sketch.below + sketch.above
    free = sketch.unlabelled.sum(axis=1) + sketch.unlabelled_below + sketch.unlabelled_above
    lines = [
        f"<tr><th>{escape(repr(name))}</th><td>{counts[0, i]:g}</td><td>{counts[1, i]:g}</td><td>{free[i]:g}</td></tr>"
        for i, name in enumerate(sketch.groups[:20])
    ]
    if len(sketch.groups) > 20:
        lines.append(f"<tr><td colspan=4>... {len(sketch.groups) - 20} more groups</td></tr>")
    head = "<tr><th>group</th><th>label 0</th><th>label 1</th><th>unlabelled</th></tr>"
    title = escape("; ".join([*_facts(sketch), f"resolution {sketch.resolution}"]))
    return f"<div><b>Sketch</b>: {title}<table>{head}{''.join(lines)}</table></div>"


def to_uhi(sketch: Sketch) -> bh.Histogram[bh.storage.Storage]:
    """The labelled counts as a boost_histogram.Histogram."""
    try:
        import boost_histogram as bh
    except ImportError:
        raise ImportError("to_uhi needs boost-histogram; install gstar-fast[uhi]") from None
    frozen = sketch.copy()
    names = frozen.groups
    numbers = [int(name) for name in names if isinstance(name, int)]
    groups: bh.axis.IntCategory | bh.axis.StrCategory
    if len(numbers) == len(names):
        groups = bh.axis.IntCategory(numbers, overflow=False)
    else:
        groups = bh.axis.StrCategory([name if isinstance(name, str) else repr(name) for name in names], overflow=False)
    edges = frozen.edges
    even = frozen._core.fixed  # all bins of one width
    scores = bh.axis.Regular(frozen.bins, float(edges[0]), float(edges[-1])) if even else bh.axis.Variable(edges)
    labels = bh.axis.IntCategory([0, 1], overflow=False)
    storage = bh.storage.Double() if frozen.weighted else bh.storage.Int64()
    histogram: bh.Histogram[bh.storage.Storage] = bh.Histogram(labels, groups, scores, storage=storage)
    view = histogram.view(flow=True)
    view[:, :, 1:-1] = frozen.counts
    view[:, :, 0] = frozen.below
    view[:, :, -1] = frozen.above
    return histogram
