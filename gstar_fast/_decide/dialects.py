"""SQL's dialects: how each writes names, texts, types, and what its NaN is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gstar_fast._base.names import Scalar
from gstar_fast._base.refusals.refusal import refusal


@dataclass(frozen=True)
class Dialect:
    """What differs between databases, as far as our queries meet it."""

    double: str  # type of a float64 that may be NULL
    whole: str  # {x}, a whole number or NULL, as one of 32 bits or more, whose sum has 64 or more
    nan: str | None  # asks whether {x} is NaN; None where no value is
    open: str = '"'  # around names
    close: str = '"'
    backslash_in_names: bool = False  # whether it escapes what follows
    backslash_in_texts: bool = False
    floor: str = "FLOOR({x})"
    count: str = "COUNT(*)"
    constant: str = ""  # type of a float64 that is not NULL, where it has another name
    score: str = "CAST({x} AS {double})"  # a column of scores as float64, its texts rejected or left as they are
    first: str = "LIMIT {n}"  # ends a query of which the first {n} rows are wanted
    infinity: str = "Infinity"  # a text that it casts to a float64; none where no value is infinite
    fence: str = ""  # ends a subquery that the planner must not copy into each place that reads it


SPARK: Final = Dialect("DOUBLE", "CAST({x} AS BIGINT)", "isnan({x})", "`", "`", backslash_in_texts=True)
TRINO: Final = Dialect("DOUBLE", "CAST({x} AS BIGINT)", "is_nan({x})")

# A NaN is a number like others to most databases, larger than all and equal to itself, where it is not simply NULL.
DIALECTS: Final = {
    "duckdb": Dialect("DOUBLE", "CAST({x} AS INTEGER)", "isnan({x})"),
    "postgres": Dialect("DOUBLE PRECISION", "CAST({x} AS INTEGER)", "{x} = 'NaN'::double precision", fence="OFFSET 0"),
    "sqlite": Dialect(
        "REAL",
        "CAST({x} AS INTEGER)",
        None,
        floor="(CAST({x} AS INTEGER) - (CAST({x} AS INTEGER) > {x}))",  # older ones have no FLOOR; CAST cuts off
        score="CASE WHEN typeof({x}) IN ('text', 'blob') THEN {x} ELSE CAST({x} AS REAL) END",  # of N/A CAST makes 0
        fence="LIMIT -1",
    ),
    "clickhouse": Dialect(
        "Nullable(Float64)",
        "accurateCastOrNull({x}, 'Int64')",  # it also runs on NULL, where CAST would fail
        "isNaN({x})",
        backslash_in_names=True,
        backslash_in_texts=True,
        constant="Float64",
    ),
    "spark": SPARK,
    "databricks": SPARK,
    "bigquery": Dialect("FLOAT64", "CAST({x} AS INT64)", "IS_NAN({x})", "`", "`", True, True),
    "snowflake": Dialect(
        "DOUBLE", "CAST({x} AS BIGINT)", "{x} = CAST('NaN' AS DOUBLE)", backslash_in_texts=True, infinity="inf"
    ),
    "redshift": Dialect(
        "DOUBLE PRECISION", "CAST({x} AS BIGINT)", "{x} = 'NaN'::double precision", backslash_in_texts=True
    ),
    "trino": TRINO,
    "athena": TRINO,
    "presto": TRINO,
    "mssql": Dialect(
        "DOUBLE PRECISION",
        "CAST({x} AS BIGINT)",
        None,
        "[",
        "]",
        count="COUNT_BIG(*)",
        first="OFFSET 0 ROWS FETCH NEXT {n} ROWS ONLY",
    ),
}


def dialect_named(name: object, among: Sequence[str] = tuple(DIALECTS)) -> Dialect:
    """The dialect of this name."""
    if not isinstance(name, str) or name not in among:
        raise refusal("not_one_of", "dialect", value=name, limit=tuple(among))
    return DIALECTS[name]


STANDARD: Final = Dialect("DOUBLE PRECISION", "CAST({x} AS BIGINT)", "{x} <> {x}")


def quoted(name: str, dialect: Dialect = STANDARD) -> str:
    """A column or table by name, whatever the name is."""
    if not isinstance(name, str):
        raise refusal("column_name_type", "column", value=name)
    if not name or "\0" in name:
        raise refusal("column_name", "column", value=name)
    if dialect.backslash_in_names:
        name = name.replace("\\", "\\\\")
        if dialect.open == "`":  # BigQuery escapes its quotes too
            return "`" + name.replace("`", "\\`") + "`"
    return dialect.open + name.replace(dialect.close, dialect.close * 2) + dialect.close


def literal(value: Scalar, dialect: Dialect = STANDARD) -> str:
    """A bool, an int or a text."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int):
        return str(value)
    if "\0" in value:
        raise refusal("null_character", value=value)
    if dialect.backslash_in_texts:
        value = value.replace("\\", "\\\\")
        return "'" + value.replace("'", "\\'") + "'"
    return "'" + value.replace("'", "''") + "'"
