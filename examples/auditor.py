"""An auditor: reproduce a threshold bit for bit, from the counts alone.

    python examples/auditor.py

The operator hands over two files: the sketch of the scores, and the thresholds in use. The auditor checks that the
thresholds follow from the sketch. For this the auditor needs no rows and no model, and need not trust the operator.
"""

# %% The operator's part. The auditor sees only the two files.

import json
import tempfile
from pathlib import Path

import numpy as np

import gstar_fast as gf
from gstar_fast.datasets import paper_synthetic

here = tempfile.TemporaryDirectory()  # gone when the script ends
folder = Path(here.name)
table = paper_synthetic(rows=400_000, seed=7)
counted = gf.Sketch.from_rows(table.scores, table.labels, table.groups)
counted.save(folder / "scores.gstar")
gf.solve(counted, limits={"equalized_odds": 0.02}).save(folder / "thresholds.json")
del table, counted

# %% Do the files belong together? The thresholds carry the digest of their sketch, and a checksum of their own.

sketch = gf.Sketch.load(folder / "scores.gstar")
decider = gf.Decider.load(folder / "thresholds.json", digest=sketch.digest())
claimed = gf.Result.load(folder / "thresholds.json")
print(f"sketch {sketch.digest()[:12]} of {sketch.n_rows:,} rows; asked for {dict(claimed.limits)}")

# %% Solve again, with every implementation there is: compiled, Numba and the NumPy reference. Compare bits.

for backend in ("native", "numba", "numpy"):
    try:
        with gf.use_backend(backend):
            again = gf.solve(gf.Sketch.load(folder / "scores.gstar"), limits=claimed.limits)
    except ImportError:
        print(f"{backend:6} is not built here")
        continue
    assert again.thresholds == claimed.thresholds == decider.thresholds
    print(f"{backend:6} gives the same thresholds bit for bit: {[t.hex() for t in again.thresholds.values()]}")

# %% Is it optimal? The proof can be spot-checked by brute force on the counts: rows accepted at every edge are sums of
# counts, so the error and the gaps of any pair of thresholds can be written down here, without the solver.

counts = np.concatenate([sketch.counts, sketch.above[:, :, None]], axis=2)
accepted = np.flip(np.flip(counts, axis=2).cumsum(axis=2), axis=2)  # at or above each edge, by label and group
rows = sketch.below + counts.sum(axis=2)
rates = accepted / rows[:, :, None]
wrong = accepted[0] + (rows[1][:, None] - accepted[1])  # false positives and false negatives, by group

tried = np.random.default_rng(0).integers(0, len(sketch.edges), size=(2, 1_000_000))
near = [np.searchsorted(sketch.edges, claimed.thresholds[group]) for group in sketch.groups]
close = np.stack(np.meshgrid(*[np.arange(i - 300, i + 300) for i in near]), axis=0).reshape(2, -1)
tried = np.concatenate([tried, close], axis=1)  # a million pairs at random, and all those around the claimed one
error = (wrong[0][tried[0]] + wrong[1][tried[1]]) / rows.sum()
gap = np.abs(rates[:, 0][:, tried[0]] - rates[:, 1][:, tried[1]]).max(axis=0)
allowed = gap <= claimed.limits["equalized_odds"]
assert error[allowed].min() >= claimed.error
print(f"{allowed.sum():,} of {len(error):,} pairs keep the limit; none has less error than {claimed.error:.6f}")

# %% What do the thresholds do? Every rate and gap, with intervals, from the same sketch.

audit = gf.audit(claimed.thresholds, sketch)
odds = audit.gaps["equalized_odds"]
print(f"equalized odds gap {odds.value:.4f}, with 95 % confidence between {odds.low:.4f} and {odds.high:.4f}")

# %% What if somebody edits the file? It is refused.

edited = json.loads((folder / "thresholds.json").read_text(encoding="utf-8"))
edited["groups"][1]["threshold"] += 0.125
(folder / "edited.json").write_text(json.dumps(edited), encoding="utf-8")
try:
    gf.Decider.load(folder / "edited.json", digest=sketch.digest())
except ValueError as refusal:
    print("an edited file is refused:", str(refusal).split(": ", 1)[1])
