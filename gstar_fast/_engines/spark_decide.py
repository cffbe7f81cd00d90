"""Decisions as an expression of Spark's own: no row leaves the JVM."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING

from gstar_fast._base.names import as_tuple, listed
from gstar_fast._base.refusals.refusal import Words, refusal
from gstar_fast._base.thresholds import Nan, Unknown
from gstar_fast._decide import dialects
from gstar_fast._decide.decider import Decider, SolvedLike, as_decider
from gstar_fast._decide.export import group_columns_of, refuse_randomized
from gstar_fast._engines.adapter import check_frame

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FRAME = "pyspark.sql.DataFrame"
_NUMBERS = ("boolean", "byte", "short", "integer", "long")
_TEXTS = ("string", "char", "varchar")
_REALS = ("float", "double", "decimal")


def decide(
    df: DataFrame,
    result: Decider | SolvedLike,
    *,
    score: str,
    group: str | Sequence[str] | None = None,
    column: str = "decision",
    unknown: Unknown = "raise",
    nan: Nan = "raise",
) -> DataFrame:
    """The data frame with a column of decisions, as an expression of Spark: no Python runs on the executors.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The rows; a stream too.
    result : Result or Decider
        What decides; randomised thresholds are refused. A decider keeps its own policies; those of a result are
        `unknown` and `nan`.
    score : str
        Name of the column of scores; they are compared as doubles, and a null is NaN.
    group : str or several
        Name of the column of groups, or names where groups are tuples; none where one threshold is for everybody.
        An integer column has no text groups, and the other way around. Where thresholds have cut points, the column of
        the numbers that stand for groups; a null is NaN.
    column : str
        Name of the new column.
    unknown, nan
        As in `Decider`. A row that the decider rejects fails the query with a message that says why.
    """
    check_frame(df, "df", FRAME)
    from pyspark.sql import functions as F  # noqa: N812 (as Spark's own pages have it)

    decider = as_decider(result, unknown, nan)
    refuse_randomized(decider, "a Spark expression")
    value = df[quoted(score)].cast("double")
    is_nan = value.isNull() | F.isnan(value)
    no_score = f"column {score!r} has NaN or null; drop such rows, or choose nan=False or nan=True"
    policy = _refused(no_score) if decider.nan == "raise" else F.lit(decider.nan)
    if decider.unified:
        decision = F.when(is_nan, policy).otherwise(value >= F.lit(next(iter(decider.thresholds.values()))))
    else:
        threshold = _threshold(df, decider, group_columns_of(decider, () if group is None else group))
        decision = F.when(is_nan, F.when(threshold.isNotNull(), policy)).otherwise(value >= threshold)
    return df.withColumn(column, decision.cast("boolean"))


def _threshold(df: DataFrame, decider: Decider, names: list[str]) -> Column:
    """The threshold of each row's group; a row without one fails the query."""
    from pyspark.sql import functions as F  # noqa: N812

    if decider.cuts is not None:
        return _threshold_of_number(df, decider, decider.cuts, names[0])
    found = [df.schema[name].dataType.typeName() for name in names]
    for name, kind in zip(names, found, strict=True):
        if kind not in _NUMBERS + _TEXTS:
            raise refusal("bad_group_type", f"column {name!r}", value=Words(kind))
    texts = [kind in _TEXTS for kind in found]
    forms = ["string" if text else "long" for text in texts]  # True is 1, as everywhere in Python
    columns = [df[quoted(name)].cast(form) for name, form in zip(names, forms, strict=True)]
    unknown = decider._thresholds.unknown_threshold
    if unknown is not None:
        other = F.lit(unknown)
    else:
        shown = F.concat_ws(", ", *[column.cast("string") for column in columns])
        words = f" has no threshold; there are {listed(decider.groups)}; choose unknown='default' or a number"
        other = _refused(F.concat(F.lit("group "), shown, F.lit(words)))
    null = reduce(or_, [column.isNull() for column in columns])
    cases = F.when(null, _refused(f"column {' and '.join(map(repr, names))} has a null; drop such rows"))
    for group, threshold in decider.thresholds.items():
        parts = [part if isinstance(part, str) else int(part) for part in as_tuple(group)]
        if [isinstance(part, str) for part in parts] == texts:
            same = [column == F.lit(part) for column, part in zip(columns, parts, strict=True)]
            cases = cases.when(reduce(and_, same), F.lit(threshold))
    return cases.otherwise(other)


def _threshold_of_number(df: DataFrame, decider: Decider, cuts: tuple[float, ...], name: str) -> Column:
    """The threshold of the segment that a number lies in; of NaN and null, that of unknown groups."""
    from pyspark.sql import functions as F  # noqa: N812

    kind = df.schema[name].dataType.typeName()
    if kind not in _REALS:
        raise refusal("needs_numbers", f"column {name!r}", value=Words(kind))
    number = df[quoted(name)].cast("double")
    *by_segment, unknown = decider._thresholds.by_segment
    choose = "choose unknown='default' or a number to decide for such rows"

    def of(threshold: float | None, why: str) -> Column:
        return _refused(f"column {name!r} has {why}; {choose}") if threshold is None else F.lit(threshold)

    empty = "a number of a segment that has no threshold"
    cases = F.when(number.isNull() | F.isnan(number), of(unknown, "NaN or null, which lies in no segment"))
    for cut, threshold in zip(cuts, by_segment, strict=False):
        cases = cases.when(number < F.lit(cut), of(threshold, empty))
    return cases.otherwise(of(by_segment[-1], empty))


def _refused(words: str | Column) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.raise_error(F.lit(words) if isinstance(words, str) else words)


def quoted(name: str) -> str:
    """The name of a column as Spark reads it whatever is in it."""
    return dialects.quoted(name, dialects.DIALECTS["spark"])
