"""Thresholds for systems without Python: a SQL CASE expression, and an ONNX graph.

Neither can refuse a row with an error. Where a decider would raise, SQL answers NULL and ONNX says so in a second
output. Reads from: the decider.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from gstar_fast._decide import Decider
from gstar_fast._groups import Name

__all__ = ["to_onnx", "to_sql"]

Dialect = Literal["standard", "duckdb", "postgres", "sqlite"]

# A NaN is a number like others to SQL, larger than all and equal to itself, where it is not simply NULL.
IS_NAN = {
    "standard": "{score} <> {score}",
    "duckdb": "isnan({score})",
    "postgres": "{score} = 'NaN'::double precision",
    "sqlite": None,
}
LARGEST = 1.7976931348623157e308


def to_sql(decider: Decider, *, score: str = "score", group: str = "group", dialect: Dialect = "standard") -> str:
    """A CASE expression that decides a row: TRUE, FALSE, or NULL where the decider would raise.

    Parameters
    ----------
    decider : Decider
        With thresholds that are not randomised: SQL has no common hash for keys.
    score, group : str
        Names of columns; they are quoted.
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
    if dialect not in IS_NAN:
        raise ValueError(f"dialect must be one of {', '.join(IS_NAN)}; got {dialect!r}")
    _refuse_randomized(decider, "SQL")
    column, value = _quoted(group), f"CAST({_quoted(score)} AS DOUBLE PRECISION)"
    return "\n".join(["CASE", *_sql_cases(decider, _quoted(score), value, column, dialect), "END"])


def _sql_cases(decider: Decider, score: str, value: str, group: str, dialect: str) -> Iterator[str]:
    form = IS_NAN[dialect]
    missing = f"{score} IS NULL" if form is None else f"{score} IS NULL OR {form.format(score=value)}"
    policy = {"raise": "NULL", False: "FALSE", True: "TRUE"}[decider.nan]
    if not decider.unified:  # a row without a group is refused before anything else is asked
        unseen = (
            f" OR {group} NOT IN ({', '.join(map(_sql_name, decider.groups))})" if decider.unknown == "raise" else ""
        )
        yield f"  WHEN {group} IS NULL{unseen} THEN NULL"
    yield f"  WHEN {missing} THEN {policy}"
    if decider.unified:
        yield f"  ELSE {_sql_compare(value, next(iter(decider.thresholds.values())))}"
        return
    for name, threshold in decider.thresholds.items():
        yield f"  WHEN {group} = {_sql_name(name)} THEN {_sql_compare(value, threshold)}"
    if decider._thresholds.unknown_threshold is not None:
        yield f"  ELSE {_sql_compare(value, decider._thresholds.unknown_threshold)}"


def _sql_compare(value: str, threshold: float) -> str:
    """Both sides as double precision: a literal of many digits might else be read as a decimal, or as a float32."""
    if threshold == -math.inf:
        return "TRUE"
    if threshold == math.inf:
        return f"{value} > CAST('{LARGEST!r}' AS DOUBLE PRECISION)"
    return f"{value} >= CAST('{threshold!r}' AS DOUBLE PRECISION)"


def _sql_name(name: Name) -> str:
    if isinstance(name, tuple):
        raise ValueError(f"SQL cannot compare a column with the tuple {name!r}; join its parts into one string column")
    if isinstance(name, bool):
        return str(name).upper()
    if isinstance(name, int):
        return str(name)
    if "\0" in name:
        raise ValueError(f"SQL has no string with a null character, as in {name!r}")
    return "'" + name.replace("'", "''") + "'"


def _quoted(column: str) -> str:
    if not column or "\0" in column:
        raise ValueError(f"a column must have a name, got {column!r}")
    return '"' + column.replace('"', '""') + '"'


def _refuse_randomized(decider: Decider, what: str) -> None:
    if decider.randomized:
        raise ValueError(
            f"randomised thresholds need the hash of a key, which {what} does not have; decide with gstar_fast"
        )


# ----------------------------------------------------------------------------------------------------------------- ONNX


def to_onnx(decider: Decider, *, score: str = "score", group: str = "group") -> Any:
    """An ONNX model that decides rows as the decider does; needs the extra `gstar-fast[onnx]`.

    Inputs are `score` (double, any length) and, unless thresholds are unified, `group` (string or int64 as the groups
    are). Outputs are `decision` (bool) and `valid` (bool): False where the decider would raise, and then the decision
    is False too. Give float32 scores as double; the conversion is exact.

    Parameters
    ----------
    decider : Decider
        Its groups all ints or all strings, its thresholds not randomised.
    score, group : str
        Names of the inputs.

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
    _refuse_randomized(decider, "ONNX")
    nodes: list[Any] = []

    def node(kind: str, ins: list[str], out: str, **options: Any) -> str:
        nodes.append(helper.make_node(kind, ins, [out], **options))
        return out

    names: list[Any] = list(decider.groups)
    unknown = decider._thresholds.unknown_threshold
    inputs = [helper.make_tensor_value_info(score, TensorProto.DOUBLE, ["rows"])]
    constants = {"nan_accepted": np.array(decider.nan is True), "nan_refused": np.array(decider.nan == "raise")}
    known = None
    if decider.unified:
        constants["threshold"] = np.array(next(iter(decider.thresholds.values())))
    else:
        kind = _onnx_kind(names)
        onnx_type = TensorProto.STRING if kind is str else TensorProto.INT64
        inputs.append(helper.make_tensor_value_info(group, onnx_type, ["rows"]))
        node(
            "LabelEncoder",
            [group],
            "place",
            domain="ai.onnx.ml",
            keys_tensor=helper.make_tensor("keys", onnx_type, [len(names)], names),
            values_tensor=helper.make_tensor("places", TensorProto.INT64, [len(names)], list(range(len(names)))),
            default_tensor=helper.make_tensor("beyond", TensorProto.INT64, [1], [len(names)]),
        )
        constants["thresholds"] = np.array([*decider.thresholds.values(), math.inf if unknown is None else unknown])
        node("Gather", ["thresholds", "place"], "threshold")
        if unknown is None:
            constants["n_groups"] = np.array(len(names), np.int64)
            known = node("Less", ["place", "n_groups"], "known")
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


def _onnx_kind(names: list[Name]) -> type:
    for kind in (str, int):
        if all(type(name) is kind for name in names):
            return kind
    raise ValueError("ONNX compares groups that are all strings or all ints; rename them before solving")
