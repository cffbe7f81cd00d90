"""A result as JSON, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from gstar_fast._base.json import bad_document, decode_number, encode_name, encode_number
from gstar_fast._base.names import Name
from gstar_fast._criteria import CRITERION
from gstar_fast._decide import document
from gstar_fast._solver.answer.parts import Evidence, Note, Point, Promise, RowsNeeded, Slack
from gstar_fast._solver.answer.proof import Proof
from gstar_fast._solver.answer.result import GroupRates, Result
from gstar_fast._solver.answer.words import is_weighted

Part = TypeVar("Part")

_NUMBERS = ("error", "loss", "lower_bound", "optimality_gap", "n_rows")
_PLAIN = (
    *("verdict", "message", "method", "density", "iterations"),
    *("balanced", "unified", "score_column", "group_column"),
)


def content_of(r: Result) -> dict[str, object]:
    """What a document says of a result, before it is sealed."""

    def paid(cost: float) -> dict[str, object]:  # the error rate says it where errors have no prices
        return {"cost": cost} if is_weighted(r) else {}

    return {
        "format": document.RESULT_FORMAT,
        "version": document.VERSION,
        **{name: getattr(r, name) for name in _PLAIN},
        **{name: encode_number(getattr(r, name)) for name in _NUMBERS},
        **paid(r.cost),
        "sketch_digest": r.sketch_digest,
        "limits": dict(r.limits),
        "penalties": dict(r.penalties),
        "costs": list(r.costs),
        "min_rows": r.min_rows,
        "groups": document.encode_groups(r.thresholds, r.mixtures, lambda k: vars((r.segment_rates or r.rates)[k])),
        "gaps": dict(r.gaps),
        "default_threshold": encode_number(r.default_threshold),
        "before": {"error": r.before_error, **paid(r.before_cost), "gaps": dict(r.before_gaps)},
        "notes": [note.to_dict() for note in r.notes],
        "trace": [encode_number(x) for x in r.trace],
        **document.encode_cuts(r.cuts),
        **({} if r.slack is None else {"slack": vars(r.slack)}),
        **({} if r.point is None else {"point": vars(r.point)}),
        **({} if r.promise is None else {"promise": _promise_content(r.promise)}),
        **({} if r.evidence is None else {"evidence": vars(r.evidence)}),
        **({} if r.decide_by is None else {"roles": _roles_content(r)}),
        **({} if r._proof is None else {"proof": r._proof.content}),
    }


def _roles_content(r: Result) -> dict[str, object]:
    """What a document says of protected groups; its "groups" are segments then."""
    return {
        "fair_between": list(r.fair_between or ()),
        "decide_by": list(r.decide_by or ()),
        "monotone": r.monotone,
        "protected": [{"name": encode_name(name), **vars(at)} for name, at in r.rates.items()],
    }


def _promise_content(p: Promise) -> dict[str, object]:
    """What a document says of a promise; groups stand in the order of the result."""
    needed = p.rows_needed
    return {
        **{name: getattr(p, name) for name in ("confidence", "chance", "cost", "plain_chance")},
        "upper": dict(p.upper),
        "rows_needed": None
        if needed is None
        else {
            "times": needed.times,
            "rows": needed.rows,
            "by_group": list(needed.by_group.values()),
            "too_small": [k for k, name in enumerate(needed.by_group) if name in needed.too_small],
        },
        "plain": content_of(p.plain),
    }


def _promise_of(saved: document.Document, limits: Mapping[str, float]) -> Promise | None:
    """The promise that a document has; its reader has checked every member."""
    plain, content = saved.plain, saved.content.get("promise")
    if plain is None or content is None:
        return None
    needed, names = content["rows_needed"], plain.protected or list(plain.thresholds.values)
    confidence = float(content["confidence"])
    return Promise(
        confidence=confidence,
        chance=float(content["chance"]),
        upper=_by_criterion(content["upper"], "promise.upper"),
        cost=float(content["cost"]),
        plain=result_of(plain),
        plain_chance=float(content["plain_chance"]),
        rows_needed=None
        if needed is None
        else RowsNeeded(
            times=_real(needed["times"]),
            rows=_real(needed["rows"]),
            by_group={name: _real(times) for name, times in zip(names, needed["by_group"], strict=True)},
            too_small=tuple(names[k] for k in needed["too_small"]),
            limits=limits,
            confidence=confidence,
        ),
    )


def _evidence_of(saved: Mapping[str, float | None] | None) -> Evidence | None:
    return None if saved is None else Evidence(**{name: _real(value) for name, value in saved.items()})


def _proof_of(saved: object) -> Proof | None:
    return None if saved is None else Proof(saved=saved)


def result_of(saved: document.Document) -> Result:
    """The result that a document is; its reader has checked every member."""
    content, found = saved.content, saved.thresholds
    rates, roles = _rates_of(found.values, content["groups"]), content.get("roles")
    more: dict[str, Any] = {}
    if roles is not None:
        more = {"fair_between": tuple(roles["fair_between"]), "decide_by": tuple(roles["decide_by"])}
        more |= {"monotone": roles["monotone"], "segment_rates": rates}
        rates = _rates_of(saved.protected, roles["protected"])
    plain: dict[str, Any] = {name: content[name] for name in _PLAIN}
    plain |= {name: decode_number(content[name]) for name in _NUMBERS}
    return Result(
        thresholds=dict(found.values),
        rates=rates,
        mixtures=None if found.mixtures is None else dict(found.mixtures),
        cuts=found.cuts,
        gaps=_by_criterion(content["gaps"], "gaps"),
        limits=_by_criterion(content["limits"], "limits"),
        penalties=_by_criterion(content["penalties"], "penalties"),
        costs=(float(content["costs"][0]), float(content["costs"][1])),
        min_rows=float(content.get("min_rows", 0.0)),
        default_threshold=decode_number(content["default_threshold"]),
        cost=decode_number(content.get("cost", content["error"])),
        before_error=float(content["before"]["error"]),
        before_cost=decode_number(content["before"].get("cost", content["before"]["error"])),
        before_gaps=_by_criterion(content["before"]["gaps"], "before.gaps"),
        notes=tuple(map(Note.from_dict, content["notes"])),
        slack=_part(Slack, content.get("slack")),
        point=_part(Point, content.get("point")),
        trace=tuple(decode_number(x) for x in content["trace"]),
        sketch_digest=found.sketch_digest,
        promise=_promise_of(saved, _by_criterion(content["limits"], "limits")),
        evidence=_evidence_of(content.get("evidence")),
        _proof=_proof_of(content.get("proof")),
        **plain,
        **more,
    )


def _part(kind: type[Part], saved: Mapping[str, Any] | None) -> Part | None:
    return None if saved is None else kind(**saved)


def _rates_of(names: Iterable[Name], entries: list[Any]) -> dict[Name, GroupRates]:
    keys = [key.name for key in fields(GroupRates)]
    read = (GroupRates(**{key: _real(entry[key]) for key in keys}) for entry in entries)
    return dict(zip(names, read, strict=True))


def _real(value: float | None) -> Any:
    """A number of JSON, where 1.0 may have been written as 1."""
    return None if value is None else float(value)


def _by_criterion(values: Mapping[str, float], where: str) -> dict[str, float]:
    for name in values:
        if name not in CRITERION:
            raise bad_document(f"not a saved result: {where} has {name!r}; there are {', '.join(CRITERION)}")
    return {name: float(value) for name, value in values.items()}
