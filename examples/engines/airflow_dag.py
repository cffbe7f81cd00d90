"""Apache Airflow: one task counts one day into one file, the next one merges the files and solves.

cp examples/engines/airflow_dag.py $AIRFLOW_HOME/dags/
airflow dags reserialize
SCORES=/data/scores airflow dags test scores      # with a file such as 2026-01-01.parquet for each day
"""

import os
from pathlib import Path

import pyarrow.parquet as pq
from airflow.sdk import dag, task

import gstar_fast as gf

FOLDER = Path(os.environ.get("SCORES", "."))
DAYS = ["2026-01-01", "2026-01-02"]


@task(retries=2)
def count_day(day):
    """Replace the day's sketch: a task that is repeated counts its rows once."""
    table = pq.read_table(FOLDER / f"{day}.parquet", columns=["p", "y", "sex"])
    path = FOLDER / f"{day}.gstar"
    gf.Sketch().update_table(table, score="p", label="y", group="sex").save(path)  # whole or not at all
    return str(path)


@task
def thresholds(paths):
    """Merge all days and solve."""
    sketch = gf.merge_all(list(paths))
    gf.solve(sketch, limits={"equalized_odds": 0.02}).save(FOLDER / "thresholds.json")
    print(f"{sketch.n_rows:,} rows of {len(DAYS)} days, digest {sketch.digest()[:12]}")


@dag(schedule=None)
def scores():
    """The days in parallel, then one answer."""
    thresholds(count_day.expand(day=DAYS))


scores()
