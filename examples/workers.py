"""A platform team: a hundred workers count, and their sketches merge in any order to the same bytes.

    python examples/workers.py

The workers are threads, so that the example is one file; counting releases the GIL. Machines work the same way: each
sends a file of some kilobytes for its shard, and no rows.
"""

# %% A hundred shards of twenty thousand rows. Each worker counts its own, batch by batch, and saves a sketch.

import random
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gstar_fast as gf
from gstar_fast.datasets import paper_synthetic_batches

SHARDS, ROWS = 100, 20_000
here = tempfile.TemporaryDirectory()  # gone when the script ends
folder = Path(here.name)


def count(shard):
    sketch = gf.Sketch()
    for batch in paper_synthetic_batches(ROWS, batch=4_096, seed=shard):
        sketch.update(batch.scores, batch.labels, batch.groups)
    path = folder / f"shard-{shard:03}.gstar"
    sketch.save(path)  # whole or not at all: a worker that dies leaves nothing half written
    return path


with ThreadPoolExecutor() as workers:
    paths = list(workers.map(count, range(SHARDS)))
size = sum(path.stat().st_size for path in paths)
print(f"{SHARDS} workers counted {SHARDS * ROWS:,} rows into {size / SHARDS / 1000:.0f} kB each")

# %% Merge the files one after the other, in a shuffled order, and as a tree. A sketch depends on the rows alone.

in_turn = gf.merge_all(paths)
shuffled = gf.merge_all(random.Random(0).sample(paths, SHARDS))

tree = [gf.Sketch.load(path) for path in paths]
while len(tree) > 1:
    tree = [a + b for a, b in zip(tree[::2], tree[1::2], strict=False)] + tree[len(tree) // 2 * 2 :]

assert in_turn.to_bytes() == shuffled.to_bytes() == tree[0].to_bytes()
print(f"in turn, shuffled and as a tree: the same {len(in_turn.to_bytes()):,} bytes, digest {in_turn.digest()[:12]}")

# %% So the thresholds are the same too.

results = [gf.solve(sketch, limits={"equalized_odds": 0.02}) for sketch in (in_turn, shuffled, tree[0])]
assert len({str(result) for result in results}) == 1
print(f"and the same thresholds: {results[0].thresholds}")

# %% A damaged file is refused; nothing of it is counted.

damaged = bytearray(paths[17].read_bytes())
damaged[1000] ^= 1
try:
    in_turn += gf.Sketch.from_bytes(bytes(damaged))
except ValueError as error:
    print(f"shard 17 with one bit turned over: {error}")
assert in_turn == shuffled
