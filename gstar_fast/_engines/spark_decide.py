"""Decisions as an expression of Spark's own: no row leaves the JVM."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any

from gstar_fast._base.names import Name, Scalar, as_tuple, listed
from gstar_fast._base.refusals.refusal import Words, refusal
from gstar_fast._base.thresholds import Nan, Unknown
from gstar_fast._decide.decider import Decider, SolvedLike, as_decider
from gstar_fast._decide.export import group_columns_of, refuse_randomized

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Type of a column of groups -> the type of the names that can stand in it, and what both are compared as.
_NAMES = {
    "string": (str, "string"),
    "char": (str, "string"),
    "varchar": (str, "string"),
    "boolean": (bool, "boolean"),
    "byte": (int, "long"),
    "short": (int, "long"),
    "integer": (int, "long"),
    "long": (int, "long"),
}


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
        An integer column has no text groups, and the other way around.
    column : str
        Name of the new column.
    unknown, nan
        As in `Decider`. A row that is refused fails the query with a message that says why.
    """
    from pyspark.sql import functions as F  # noqa: N812 (as Spark's own pages have it)

    decider = as_decider(result, unknown, nan)
    refuse_randomized(decider, "a Spark expression")
    value = df[quoted(score)].cast("double")
    is_nan = value.isNull() | F.isnan(value)
    policy = F.lit(decider.nan) if decider.nan != "raise" else _refused(f"column {score!r} has NaN or null; choose nan=")
    if decider.unified:
        decision = F.when(is_nan, policy).otherwise(value >= F.lit(next(iter(decider.thresholds.values()))))
    else:
        threshold = _threshold(df, decider, group_columns_of(decider, () if group is None else group))
        decision = F.when(is_nan, F.when(threshold.isNotNull(), policy)).otherwise(value >= threshold)
    return df.withColumn(column, decision.cast("boolean"))


def _threshold(df: DataFrame, decider: Decider, names: list[str]) -> Column:
    """The threshold of each row's group; a row without one fails the query."""
    from pyspark.sql import functions as F  # noqa: N812

    kinds, columns = [], []
    for name in names:
        found = df.schema[name].dataType.typeName()
        if found not in _NAMES:
            raise refusal("bad_group_type", f"column {name!r}", value=Words(found))
        kinds.append(_NAMES[found][0])
        columns.append(df[quoted(name)].cast(_NAMES[found][1]))
    unknown = decider._thresholds.unknown_threshold
    if unknown is not None:
        other: Any = F.lit(unknown)
    else:
        shown = F.concat_ws(", ", *[column.cast("string") for column in columns])
        words = f" has no threshold; there are {listed(decider.groups)}; choose unknown="
        other = _refused(F.concat(F.lit("group "), shown, F.lit(words)))
    null = reduce(or_, [column.isNull() for column in columns])
    cases = F.when(null, _refused(f"column {' and '.join(map(repr, names))} has a null; drop such rows"))
    for name, threshold in decider.thresholds.items():
        if all(type(part) is kind for part, kind in zip(as_tuple(name), kinds, strict=True)):
            cases = cases.when(_is(columns, name), F.lit(threshold))
    return cases.otherwise(other)


def _is(columns: list[Column], name: Name) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    parts: list[Scalar] = [*as_tuple(name)]
    return reduce(and_, [column == F.lit(part) for column, part in zip(columns, parts, strict=True)])


def _refused(words: Any) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.raise_error(F.lit(words) if isinstance(words, str) else words)


def quoted(name: str) -> str:
    """The name of a column as Spark reads it whatever is in it."""
    return "`" + name.replace("`", "``") + "`"
