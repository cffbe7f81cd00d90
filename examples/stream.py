"""An ML engineer: millions of streaming scores, thresholds that follow them as they drift.

    python examples/stream.py

A day has 24 hours with 200,000 scores each. In the afternoon the scores of group 1 sink, for example because a feature
breaks or people change. Every row is decided and counted when it comes, and not kept. When the gap has grown, new
thresholds are found from the last three hours.
"""

# %% Make the scores of an hour. In production they come from a queue, and labels come later.

import numpy as np

import gstar_fast as gf
from gstar_fast.datasets import paper_synthetic

HOURS, ROWS = 24, 200_000
LIMIT, ALARM = 0.02, 0.03  # what thresholds are held to, and the gap at which they are found again


def rows_of(hour):
    table = paper_synthetic(ROWS, seed=hour)
    sunk = 0.25 * np.clip(hour - 11, 0, 4)  # from noon to four o'clock, by one in all
    return table.scores - np.float32(sunk) * (table.groups == 1), table.labels, table.groups


def odds_gap(accepted, labels, groups):
    """The larger of the gaps in tpr and fpr, counted."""
    rates = [[accepted[(labels == y) & (groups == a)].mean() for a in (0, 1)] for y in (0, 1)]
    return max(abs(a - b) for a, b in rates)


# %% The first hour gives the first thresholds. A window keeps the last three hours, a sketch for each.

window = gf.Window(panes=3)
window.update(*rows_of(0))
first = gf.solve(window.sketch, limits={"equalized_odds": LIMIT})
live = gf.LiveDecider(first)
stale = first.decider()  # never replaced, to compare with
print(f"hour  0: {first.verdict}, thresholds {first.thresholds}")

# %% The day. `live` may be asked by any number of threads meanwhile: a batch is decided by one version from its first
# row to its last.

for hour in range(1, HOURS):
    scores, labels, groups = rows_of(hour)
    accepted, version = live(scores, groups, with_version=True)
    window.advance().update(scores, labels, groups)
    gap = odds_gap(accepted, labels, groups)
    if gap > ALARM:
        found = gf.solve(window.sketch, limits={"equalized_odds": LIMIT})
        live.swap(found)
        shown = ", ".join(f"{group}: {threshold:.3f}" for group, threshold in found.thresholds.items())
        print(f"hour {hour:2}: gap {gap:.3f} under version {version}; version {live.version} is {shown}")

# %% Compare with the thresholds of the morning. A window with fewer panes follows the drift faster, but has fewer rows.

kept = odds_gap(live(scores, groups), labels, groups)
lost = odds_gap(stale(scores, groups), labels, groups)
print(f"\n{HOURS * ROWS:,} scores decided and counted; the window holds {window.sketch.n_rows:,} of them")
print(f"in the last hour: gap {kept:.3f} with thresholds that follow, {lost:.3f} with those of the morning")
