"""Thresholds for systems without Python: a SQL CASE expression, and an ONNX graph.

Neither can refuse a row with an error. Where a decider would raise, SQL answers NULL and ONNX says so in a second
output.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gstar_fast._base.names import Name, Scalar, as_tuple
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.sql import DIALECTS, STANDARD, literal, quoted
from gstar_fast._decide.decider import Decider, SolvedLike, as_decider

if TYPE_CHECKING:
    import onnx

__all__ = ["to_onnx", "to_sql"]

Dialect = Literal["standard", "duckdb", "postgres", "sqlite"]

NAN_OF = {"standard": STANDARD.nan} | {name: DIALECTS[name].nan for name in ("duckdb", "postgres", "sqlite")}
LARGEST = 1.7976931348623157e308


def to_sql(
    decider: Decider | SolvedLike,
    *,
    score: str = "score",
    group: str | Sequence[str] = "group",
    dialect: Dialect = "standard",
) -> str:
    """A CASE expression that decides a row: TRUE, FALSE, or NULL where the decider would raise.

    Parameters
    ----------
    decider : Decider or Result
        With thresholds that are not randomised: SQL has no common hash for keys. A result decides as
        ``result.decider()`` does; for other policies pass ``result.decider(unknown=..., nan=...)``.
    score : str
        Name of the column of scores; it is quoted.
    group : str or list of str
        Name of the column of groups. Where groups are tuples, the names of their columns in that order.
    dialect : {"standard", "duckdb", "postgres", "sqlite"}
        How NaN is asked for. A NULL score counts as NaN, a NULL group as missing. SQLite stores NaN as NULL.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> print(gf.to_sql(gf.Decider({"F": 0.25, "M": 0.75}, nan=False), dialect="duckdb"))
    CASE
      WHEN "group" IS NULL OR "group" NOT IN ('F', 'M') THEN NULL
      WHEN "score" IS NULL OR isnan(CAST("score" AS DOUBLE PRECISION)) THEN FALSE
      WHEN "group" = 'F' THEN CAST("score" AS DOUBLE PRECISION) >= CAST('0.25' AS DOUBLE PRECISION)
      WHEN "group" = 'M' THEN CAST("score" AS DOUBLE PRECISION) >= CAST('0.75' AS DOUBLE PRECISION)
    END
    """
    if dialect not in NAN_OF:
        raise refusal("not_one_of", "dialect", value=dialect, limit=tuple(NAN_OF))
    decider = as_decider(decider)
    _refuse_randomized(decider, "SQL")
    columns = [quoted(column) for column in _group_columns(decider, group)]
    value = f"CAST({quoted(score)} AS DOUBLE PRECISION)"
    return "\n".join(["CASE", *_sql_cases(decider, quoted(score), value, columns, dialect), "END"])


def _sql_cases(decider: Decider, score: str, value: str, columns: list[str], dialect: str) -> Iterator[str]:
    form = NAN_OF[dialect]
    missing = f"{score} IS NULL" if form is None else f"{score} IS NULL OR {form.format(x=value)}"
    policy = {"raise": "NULL", False: "FALSE", True: "TRUE"}[decider.nan]
    if not decider.unified:  # a row without a group is refused before anything else is asked
        null = " OR ".join(f"{column} IS NULL" for column in columns)
        unseen = f" OR {_sql_unseen(columns, decider.groups)}" if decider.unknown == "raise" else ""
        yield f"  WHEN {null}{unseen} THEN NULL"
    yield f"  WHEN {missing} THEN {policy}"
    if decider.unified:
        yield f"  ELSE {_sql_compare(value, next(iter(decider.thresholds.values())))}"
        return
    for name, threshold in decider.thresholds.items():
        yield f"  WHEN {_sql_is(columns, name)} THEN {_sql_compare(value, threshold)}"
    if decider._thresholds.unknown_threshold is not None:
        yield f"  ELSE {_sql_compare(value, decider._thresholds.unknown_threshold)}"


def _sql_compare(value: str, threshold: float) -> str:
    """Both sides as double precision: a literal of many digits might else be read as a decimal, or as a float32."""
    if threshold == -math.inf:
        return "TRUE"
    if threshold == math.inf:
        return f"{value} > CAST('{LARGEST!r}' AS DOUBLE PRECISION)"
    return f"{value} >= CAST('{threshold!r}' AS DOUBLE PRECISION)"


def _sql_is(columns: list[str], name: Name) -> str:
    """Whether a row's group is this one; not as a row value, `(a, b) = (1, 2)`, which not every database has."""
    return " AND ".join(f"{column} = {literal(part)}" for column, part in zip(columns, as_tuple(name), strict=True))


def _sql_unseen(columns: list[str], names: Sequence[Name]) -> str:
    if len(columns) == 1:
        return f"{columns[0]} NOT IN ({', '.join(literal(as_tuple(name)[0]) for name in names)})"
    return f"NOT ({' OR '.join(f'({_sql_is(columns, name)})' for name in names)})"


def _group_columns(decider: Decider, group: str | Sequence[str]) -> list[str]:
    """Names of the columns of groups, as many as every group has parts."""
    columns = [group] if isinstance(group, str) else list(group)
    if not all(isinstance(column, str) for column in columns):
        raise TypeError(f"group must be the name of a column, or a list of names, got {group!r}")
    if len(set(columns)) < len(columns):
        raise ValueError(f"group names a column twice: {group!r}")
    for name in () if decider.unified else decider.groups:
        width = len(as_tuple(name))
        if width != len(columns):
            raise ValueError(
                f"the group {name!r} is made of {width} column{'s' if width > 1 else ''}, and group={group!r} names "
                f"{len(columns)}; name {'them all in this order: group=[...]' if width > 1 else 'one'}"
            )
    return columns


def _refuse_randomized(decider: Decider, what: str) -> None:
    if decider.randomized:
        raise ValueError(
            f"randomised thresholds need the hash of a key, which {what} does not have; decide with gstar_fast"
        )


# ----------------------------------------------------------------------------------------------------------------- ONNX


def to_onnx(
    decider: Decider | SolvedLike, *, score: str = "score", group: str | Sequence[str] = "group"
) -> onnx.ModelProto:
    """An ONNX model that decides rows as the decider does; needs the extra `gstar-fast[onnx]`.

    Inputs are `score` (double, any length) and, unless thresholds are unified, `group` (string or int64 as the groups
    are), or one input for each column of groups. Outputs are `decision` (bool) and `valid` (bool): False where the
    decider would raise, and then the decision is False too. Give float32 scores as double; the conversion is exact.

    Parameters
    ----------
    decider : Decider or Result
        In each column its groups are all ints or all strings. Its thresholds are not randomised.
    score : str
        Name of the input of scores.
    group : str or list of str
        Name of the input of groups. Where groups are tuples, the names of their inputs in that order.

    Returns
    -------
    onnx.ModelProto
        For `onnx.save`, or `SerializeToString()` for onnxruntime.
    """
    try:
        import onnx
        from onnx import TensorProto, helper, numpy_helper
    except ImportError:
        raise ImportError("to_onnx needs the package onnx; install it with: pip install gstar-fast[onnx]") from None
    decider = as_decider(decider)
    _refuse_randomized(decider, "ONNX")
    columns = _group_columns(decider, group)
    nodes: list[onnx.NodeProto] = []

    def node(kind: str, ins: list[str], out: str, **options: Any) -> str:
        nodes.append(helper.make_node(kind, ins, [out], **options))
        return out

    def encode(column: str, kind: int, keys: list[Any], out: str) -> str:
        """The place of each value among the keys; their number for one that is not there."""
        n = len(keys)
        tensors = {
            "keys_tensor": helper.make_tensor(f"{out}_keys", kind, [n], keys),
            "values_tensor": helper.make_tensor(f"{out}_places", TensorProto.INT64, [n], list(range(n))),
            "default_tensor": helper.make_tensor(f"{out}_beyond", TensorProto.INT64, [1], [n]),
        }
        return node("LabelEncoder", [column], out, domain="ai.onnx.ml", **tensors)

    names = decider.groups
    unknown = decider._thresholds.unknown_threshold
    inputs = [helper.make_tensor_value_info(score, TensorProto.DOUBLE, ["rows"])]
    constants = {"nan_accepted": np.array(decider.nan is True), "nan_refused": np.array(decider.nan == "raise")}
    known = None
    if decider.unified:
        constants["threshold"] = np.array(next(iter(decider.thresholds.values())))
    else:
        values, codes = _numbered(names)
        for i, (column, here) in enumerate(zip(columns, values, strict=True)):
            kind = TensorProto.STRING if isinstance(here[0], str) else TensorProto.INT64
            inputs.append(helper.make_tensor_value_info(column, kind, ["rows"]))
            digit = encode(column, kind, here, f"digit_{i}")
            if i == 0:
                code = digit
            else:
                constants[f"base_{i}"] = np.array(len(here) + 1, np.int64)
                code = node("Add", [node("Mul", [code, f"base_{i}"], f"shifted_{i}"), digit], f"code_{i}")
        place = code if len(columns) == 1 else encode(code, TensorProto.INT64, codes, "place")
        constants["thresholds"] = np.array([*decider.thresholds.values(), math.inf if unknown is None else unknown])
        node("Gather", ["thresholds", place], "threshold")
        if unknown is None:
            constants["n_groups"] = np.array(len(names), np.int64)
            known = node("Less", [place, "n_groups"], "known")
    # a NaN is neither equal to itself nor less than anything, so it is asked for by name
    is_number = node("Equal", [score, score], "is_number")
    is_nan = node("Not", [is_number], "is_nan")
    at_least = node("Not", [node("Less", [score, "threshold"], "less")], "at_least")
    by_score = node("And", [is_number, at_least], "by_score")
    accepted = node("Or", [by_score, node("And", [is_nan, "nan_accepted"], "by_policy")], "accepted")
    fine = node("Not", [node("And", [is_nan, "nan_refused"], "refused")], "fine")
    valid = node("And", [fine, known], "valid") if known is not None else node("Identity", [fine], "valid")
    node("And", [accepted, valid], "decision")
    graph = helper.make_graph(
        nodes,
        "gstar_fast_decider",
        inputs,
        [helper.make_tensor_value_info(name, TensorProto.BOOL, ["rows"]) for name in ("decision", "valid")],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 4)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="gstar_fast")
    origin = {"checksum": decider._thresholds.checksum, "unknown": str(decider.unknown), "nan": str(decider.nan)}
    helper.set_model_props(model, origin)
    onnx.checker.check_model(model)
    return model


def _numbered(names: Sequence[Name]) -> tuple[list[list[Scalar]], list[int]]:
    """The values of each column of groups, and the number of each group: the places of its values as digits.

    A column has one digit more than values, for values that no group has.
    """
    columns = list(zip(*map(as_tuple, names), strict=True))
    if not all({*map(type, column)} in ({str}, {int}) for column in columns):
        raise ValueError("ONNX compares groups that are all strings or all ints; rename them before solving")
    values = [list(dict.fromkeys(column)) for column in columns]
    if math.prod(len(here) + 1 for here in values) > 2**63:
        raise ValueError("ONNX numbers the combinations of columns in 64 bits, and these have more; use fewer columns")
    codes = [0] * len(names)
    for here, column in zip(values, columns, strict=True):
        place = dict(zip(here, range(len(here)), strict=True))
        codes = [code * (len(here) + 1) + place[value] for code, value in zip(codes, column, strict=True)]
    return values, codes
