"""Apache Beam: a CombineFn that counts rows, and gives the bytes of one pass.

pip install apache-beam
python examples/engines/beam.py
"""

import random

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

import gstar_fast as gf


class CountRows(beam.CombineFn):
    """Batches of rows (score, label, group) -> the bytes of their sketch."""

    def create_accumulator(self):
        """No rows."""
        return gf.Sketch()

    def add_input(self, sketch, rows):
        """One more batch."""
        scores, labels, groups = zip(*rows, strict=True)
        return sketch.update(scores, labels, groups)

    def merge_accumulators(self, sketches):
        """A new sketch: the runner may keep those that it handed in, and merge them again."""
        return gf.merge_all([gf.Sketch(), *sketches])

    def extract_output(self, sketch):
        """Some kilobytes."""
        return sketch.to_bytes()


def main():
    chance = random.Random(0)
    rows = [(chance.gauss(0, 1), chance.randrange(2), chance.choice("FM")) for _ in range(100_000)]
    expected = gf.Sketch.from_rows(*zip(*rows, strict=True)).to_bytes()

    # The merge must leave what it is given as it is.
    count = CountRows()
    parts = [
        count.add_input(count.create_accumulator(), rows[:50_000]),
        gf.Sketch.from_rows(*zip(*rows[50_000:], strict=True)),
    ]
    before = [part.to_bytes() for part in parts]
    assert count.merge_accumulators(parts).to_bytes() == expected
    assert [part.to_bytes() for part in parts] == before

    def check(found):
        assert found == expected
        print(f"{gf.Sketch.from_bytes(found).n_rows:,} rows, the bytes of one pass")

    with beam.Pipeline(
        options=PipelineOptions(["--direct_num_workers=2", "--direct_running_mode=multi_threading"])
    ) as run:
        (
            run
            | beam.Create(rows)
            | beam.BatchElements(min_batch_size=1_000, max_batch_size=10_000)
            | beam.CombineGlobally(CountRows())
            | beam.Map(check)
        )


if __name__ == "__main__":
    main()
