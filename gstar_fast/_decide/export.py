"""Thresholds for systems without Python: a SQL CASE expression, and an ONNX graph.

Neither can raise for a row. Where a decider would raise, SQL answers NULL and ONNX says so in a second output.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gstar_fast._base.arrays import Values
from gstar_fast._base.names import Name, Scalar, as_tuple
from gstar_fast._base.refusals.place import bad_option, bad_option_type, bad_value
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._decide.decider import Decider, SolvedLike, as_decider
from gstar_fast._decide.dialects import DIALECTS, STANDARD, literal, quoted

if TYPE_CHECKING:
    import onnx

__all__ = ["to_onnx", "to_sql"]

Dialect = Literal["standard", "duckdb", "postgres", "sqlite"]

NAN_OF = {"standard": STANDARD.nan} | {name: DIALECTS[name].nan for name in ("duckdb", "postgres", "sqlite")}
LARGEST = 1.7976931348623157e308
POLICY = {"raise": "NULL", False: "FALSE", True: "TRUE"}


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
        Name of the column of groups. Where groups are tuples, the names of their columns in that order. Where
        thresholds have cut points, the column of the numbers that stand for groups.
    dialect : {"standard", "duckdb", "postgres", "sqlite"}
        How NaN is asked for. A NULL score counts as NaN, a NULL group as missing, a NULL in the place of a number that
        stands for a group as NaN. SQLite stores NaN as NULL.

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
    refuse_randomized(decider, "SQL")
    columns = [quoted(column) for column in group_columns_of(decider, group)]
    if decider.cuts is not None:
        return "\n".join(["CASE", *_sql_segments(decider, decider.cuts, quoted(score), columns[0], dialect), "END"])
    return "\n".join(["CASE", *_sql_cases(decider, quoted(score), columns, dialect), "END"])


def _sql_cases(decider: Decider, score: str, columns: list[str], dialect: str) -> Iterator[str]:
    value = _sql_double(score)
    if not decider.unified:  # a row without a group is NULL before anything else
        null = " OR ".join(f"{column} IS NULL" for column in columns)
        unseen = f" OR {_sql_unseen(columns, decider.groups)}" if decider.unknown == "raise" else ""
        yield f"  WHEN {null}{unseen} THEN NULL"
    yield f"  WHEN {_sql_missing(score, dialect)} THEN {POLICY[decider.nan]}"
    if decider.unified:
        yield f"  ELSE {_sql_compare(value, next(iter(decider.thresholds.values())))}"
        return
    for name, threshold in decider.thresholds.items():
        yield f"  WHEN {_sql_is(columns, name)} THEN {_sql_compare(value, threshold)}"
    if decider._thresholds.unknown_threshold is not None:
        yield f"  ELSE {_sql_compare(value, decider._thresholds.unknown_threshold)}"


def _sql_segments(decider: Decider, cuts: tuple[float, ...], score: str, number: str, dialect: str) -> Iterator[str]:
    """Ranges of the number that stands for the group, from the lowest on."""
    value, place = _sql_double(score), _sql_double(number)
    *by_segment, unknown = decider._thresholds.by_segment
    below = [f"{place} < {_sql_number(cut)}" for cut in cuts]
    refused = [_sql_missing(number, dialect)] if unknown is None else []
    for k, threshold in enumerate(by_segment):
        if threshold is None:
            least = [f"{place} >= {_sql_number(cuts[k - 1])}"] if k else []
            refused.append(f"({' AND '.join([*least, *below[k : k + 1]])})")
    if refused:
        yield f"  WHEN {' OR '.join(refused)} THEN NULL"
    yield f"  WHEN {_sql_missing(score, dialect)} THEN {POLICY[decider.nan]}"
    if unknown is not None:
        yield f"  WHEN {_sql_missing(number, dialect)} THEN {_sql_compare(value, unknown)}"
    answers = ["NULL" if threshold is None else _sql_compare(value, threshold) for threshold in by_segment]
    yield from (f"  WHEN {range_} THEN {answer}" for range_, answer in zip(below, answers, strict=False))
    yield f"  ELSE {answers[-1]}"


def _sql_double(column: str) -> str:
    """Both sides as double precision: a literal of many digits might else be read as a decimal, or as a float32."""
    return f"CAST({column} AS DOUBLE PRECISION)"


def _sql_number(number: float) -> str:
    return _sql_double(f"'{number!r}'")


def _sql_missing(column: str, dialect: str) -> str:
    form = NAN_OF[dialect]
    return f"{column} IS NULL" if form is None else f"{column} IS NULL OR {form.format(x=_sql_double(column))}"


def _sql_compare(value: str, threshold: float) -> str:
    if threshold == -math.inf:
        return "TRUE"
    return f"{value} > {_sql_number(LARGEST)}" if threshold == math.inf else f"{value} >= {_sql_number(threshold)}"


def _sql_is(columns: list[str], name: Name) -> str:
    """Whether a row's group is this one; not as a row value, `(a, b) = (1, 2)`, which not every database has."""
    return " AND ".join(f"{column} = {literal(part)}" for column, part in zip(columns, as_tuple(name), strict=True))


def _sql_unseen(columns: list[str], names: Sequence[Name]) -> str:
    if len(columns) == 1:
        return f"{columns[0]} NOT IN ({', '.join(literal(as_tuple(name)[0]) for name in names)})"
    return f"NOT ({' OR '.join(f'({_sql_is(columns, name)})' for name in names)})"


def group_columns_of(decider: Decider, group: str | Sequence[str]) -> list[str]:
    """Names of the columns of groups, as many as every group has parts."""
    columns = [group] if isinstance(group, str) else list(group)
    if not all(isinstance(column, str) for column in columns):
        raise bad_option_type("group", f"group must be the name of a column, or a list of names, got {group!r}")
    if len(set(columns)) < len(columns):
        raise bad_option("group", f"group names a column twice: {group!r}")
    for name in () if decider.unified else decider.groups:
        width = len(as_tuple(name))
        if width != len(columns):
            raise bad_option(
                "group",
                f"the group {name!r} is made of {width} column{'s' if width > 1 else ''}, and group={group!r} names "
                f"{len(columns)}; name {'them all in this order: group=[...]' if width > 1 else 'one'}",
            )
    return columns


def refuse_randomized(decider: Decider, what: str) -> None:
    if decider.randomized:
        raise bad_value(
            "decider",
            f"randomised thresholds need the hash of a key, which {what} does not have; decide with gstar_fast",
        )


# ----------------------------------------------------------------------------------------------------------------- ONNX


def to_onnx(
    decider: Decider | SolvedLike,
    *,
    score: str = "score",
    group: str | Sequence[str] = "group",
    score_type: Literal["float64", "float32"] = "float64",
) -> onnx.ModelProto:
    """An ONNX model that decides rows as the decider does; needs the extra `gstar-fast[onnx]`.

    Inputs are `score` (any length) and, unless thresholds are unified, `group` (string or int64 as the groups
    are), or one input for each column of groups. Where thresholds have cut points, `group` is a double, the number that
    stands for the group. Outputs are `decision` (bool) and `valid` (bool): False where the
    decider would raise, and then the decision is False too.

    Parameters
    ----------
    decider : Decider or Result
        In each column its groups are all ints or all strings. Its thresholds are not randomised.
    score : str
        Name of the input of scores.
    group : str or list of str
        Name of the input of groups. Where groups are tuples, the names of their inputs in that order.
    score_type : {"float64", "float32"}
        Type of the scores: "float32" to merge the graph behind a model with such an output. Each threshold is then the
        least float32 that is not below it, which decides every float32 score alike.

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
    if score_type not in ("float64", "float32"):
        raise refusal("not_one_of", "score_type", value=score_type, limit=("float64", "float32"))
    decider = as_decider(decider)
    refuse_randomized(decider, "ONNX")
    columns = group_columns_of(decider, group)
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
    score_kind = TensorProto.DOUBLE if score_type == "float64" else TensorProto.FLOAT
    inputs = [helper.make_tensor_value_info(score, score_kind, ["rows"])]
    constants = {"nan_accepted": np.array(decider.nan is True), "nan_refused": np.array(decider.nan == "raise")}
    known = None
    if decider.unified:
        constants["threshold"] = _least(next(iter(decider.thresholds.values())), score_type)
    elif decider.cuts is not None:
        inputs.append(helper.make_tensor_value_info(columns[0], TensorProto.DOUBLE, ["rows"]))
        by_segment = decider._thresholds.by_segment
        constants["thresholds"] = _least([math.inf if one is None else one for one in by_segment], score_type)
        constants["cut/beyond"] = np.array(len(by_segment) - 1, np.int64)  # the place of NaN
        if decider.cuts:
            constants |= {"cut/cuts": np.array([decider.cuts]), "cut/across": np.array([1], np.int64)}
            below = node(
                "Less", [node("Unsqueeze", [columns[0], "cut/across"], "cut/numbers"), "cut/cuts"], "cut/below"
            )
            reached = node("Cast", [node("Not", [below], "cut/reached")], "cut/reached_as_int", to=TensorProto.INT64)
            segment = node("ReduceSum", [reached, "cut/across"], "cut/segment", keepdims=0)
        else:
            segment, constants["cut/segment"] = "cut/segment", np.array(0, np.int64)
        place = node("Where", [node("Equal", [columns[0]] * 2, "cut/has_segment"), segment, "cut/beyond"], "cut/place")
        node("Gather", ["thresholds", place], "threshold")
        if None in by_segment:
            constants["cut/refused"] = np.array([one is None for one in by_segment])
            known = node("Not", [node("Gather", ["cut/refused", place], "cut/is_refused")], "known")
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
        thresholds = [*decider.thresholds.values(), math.inf if unknown is None else unknown]
        constants["thresholds"] = _least(thresholds, score_type)
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


def _least(thresholds: float | list[float], score_type: str) -> Values:
    """The least numbers of this type that are not below the thresholds."""
    exact = np.array(thresholds)
    with np.errstate(over="ignore"):
        rounded = exact.astype(score_type)
        return np.where(rounded < exact, np.nextafter(rounded, rounded.dtype.type(math.inf)), rounded)


def _numbered(names: Sequence[Name]) -> tuple[list[list[Scalar]], list[int]]:
    """The values of each column of groups, and the number of each group: the places of its values as digits.

    A column has one digit more than values, for values that no group has.
    """
    columns = list(zip(*map(as_tuple, names), strict=True))
    if not all({*map(type, column)} in ({str}, {int}) for column in columns):
        raise bad_value("decider", "ONNX compares groups that are all strings or all ints; rename them before solving")
    values = [list(dict.fromkeys(column)) for column in columns]
    if math.prod(len(here) + 1 for here in values) > 2**63:
        raise bad_value(
            "decider", "ONNX numbers the combinations of columns in 64 bits, and these have more; use fewer columns"
        )
    codes = [0] * len(names)
    for here, column in zip(values, columns, strict=True):
        place = dict(zip(here, range(len(here)), strict=True))
        codes = [code * (len(here) + 1) + place[value] for code, value in zip(codes, column, strict=True)]
    return values, codes
