"""A result as JSON, and back.

A saved result is saved thresholds with more members; `schemas/result.json` describes them for other tools. What decides
is read by `_decide/document.py`, the rest here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final, TypeVar

from gstar_fast._base.json import bad_document, decode_name, decode_number, encode_name, encode_number
from gstar_fast._base.names import MOST_GROUPS, Name, check_distinct
from gstar_fast._base.thresholds import Thresholds
from gstar_fast._criteria import CRITERION
from gstar_fast._decide import document
from gstar_fast._decide.document import (
    ANYTHING,
    COUNT,
    LIST,
    NULL,
    NUMBER,
    OBJECT,
    OF_GROUP,
    OF_THRESHOLDS,
    SWITCH,
    TEXT,
    THRESHOLD,
    Member,
    check_members,
    check_parts,
    word,
)
from gstar_fast._question.question import Question
from gstar_fast._solver.answer.parts import (
    Evidence,
    Gaps,
    GroupRates,
    GroupThresholds,
    Held,
    Note,
    Origin,
    Point,
    Promise,
    Proof,
    Rates,
    RowsNeeded,
    Slack,
)
from gstar_fast._solver.answer.proof import Steps
from gstar_fast._solver.answer.result import Result

Saved = TypeVar("Saved")

VERDICTS: Final = ("optimal", "converged", "not_converged", "infeasible", "unified", "promised", "unpromised")
_NUMBERS: Final = ("error", "loss", "lower_bound", "n_rows")
_RATES: Final = tuple(one.name for one in fields(GroupRates))
_NUMBER_OR_NULL: Final = NUMBER | NULL
OF_RATES: Final = {name: Member(NUMBER if name == "rows" else _NUMBER_OR_NULL) for name in _RATES}
_OF_PLAIN = {
    **OF_THRESHOLDS,
    "default_threshold": Member(THRESHOLD),
    **dict.fromkeys(("sketch_digest", "score_column", "group_column"), Member(TEXT | NULL)),
    "unified": Member(SWITCH),
    "question": Member(OBJECT),
    "verdict": Member(word(*VERDICTS)),
    "message": Member(TEXT),
    "iterations": Member(COUNT),
    **dict.fromkeys(_NUMBERS, Member(THRESHOLD)),
    **dict.fromkeys(("gaps", "before"), Member(OBJECT)),
    **dict.fromkeys(("held", "notes"), Member(LIST)),
    "cost": Member(NUMBER, required=False),
    "trace": Member(LIST, required=False),
    "protected": Member(LIST, required=False),
    **dict.fromkeys(("evidence", "slack", "point"), Member(OBJECT, required=False)),
    "proof": Member(LIST | NULL, required=False),  # read by `Result.check`
}
del _OF_PLAIN["checksum"]
OF_RESULT: Final = {**_OF_PLAIN, "checksum": Member(TEXT), "promise": Member(OBJECT, required=False)}
_OF_BEFORE: Final = {
    "error": Member(NUMBER),
    "cost": Member(NUMBER, required=False),
    "gaps": Member(OBJECT),
    "rates": Member(LIST),
}
_OF_HELD: Final = {name: Member(_NUMBER_OR_NULL) for name in ("reached", "before")}
_OF_NOTE: Final = {"code": Member(TEXT), "text": Member(TEXT), "fields": Member(OBJECT)}
_OF_SLACK: Final = {"each": Member(NUMBER), "least": Member(SWITCH)}
_OF_POINT: Final = {"criterion": Member(TEXT), "number": Member(COUNT), "of": Member(COUNT), "between": Member(SWITCH)}
_OF_EVIDENCE: Final = {"level": Member(NUMBER), **dict.fromkeys(("cost", "z", "needed"), Member(_NUMBER_OR_NULL))}
_OF_PROMISE: Final = {
    **dict.fromkeys(("confidence", "chance", "cost", "plain_chance"), Member(NUMBER)),
    **dict.fromkeys(("upper", "plain"), Member(OBJECT)),
    "rows_needed": Member(OBJECT | NULL),
}
_OF_ROWS_NEEDED: Final = {
    **dict.fromkeys(("times", "rows"), Member(_NUMBER_OR_NULL)),
    **dict.fromkeys(("by_group", "too_small"), Member(LIST)),
}


# ------------------------------------------------------------------------------------------------------------- writing


def content_of(r: Result) -> dict[str, object]:
    """What a document says of a result, before it is sealed."""
    by_segment, before, proof, origin = r.rates.by_segment, r.rates.before or r.rates, r.proof, r.origin

    def paid(cost: float) -> dict[str, object]:  # the error rate says it where errors have no prices
        return {"cost": cost} if r.question.weighted else {}

    optional = {
        "cuts": None if r.question.cuts is None else list(r.question.cuts),
        "protected": by_segment and [{"name": encode_name(name), **vars(at)} for name, at in r.rates.items()],
        "trace": [encode_number(x) for x in proof.trace] or None,
        "slack": proof.slack and vars(proof.slack),
        "point": origin.point and vars(origin.point),
        "promise": r.promise and _promise_content(r.promise),
        "evidence": r.evidence and vars(r.evidence),
        "proof": proof.steps and proof.steps.content,
    }
    return {
        "format": document.RESULT_FORMAT,
        "version": document.VERSION,
        "question": r.question.to_dict(),
        "verdict": proof.verdict,
        "message": proof.message,
        "iterations": proof.iterations,
        **{name: encode_number(getattr(r, name)) for name in _NUMBERS},
        **paid(r.cost),
        "unified": r.question.unified,
        "sketch_digest": origin.digest,
        "score_column": origin.score_column,
        "group_column": origin.group_column,
        "groups": document.encode_groups(r.thresholds, r.mixtures, lambda k: vars((by_segment or r.rates)[k])),
        "default_threshold": encode_number(r.thresholds.default),
        "gaps": dict(r.gaps),
        "held": [{"reached": one.reached, "before": one.before} for one in r.gaps.held],
        "before": {
            "error": before.error,
            **paid(before.cost),
            "gaps": dict(r.gaps.before),
            "rates": [vars(at) for at in before.values()],
        },
        "notes": [note.to_dict() for note in r.notes],
        **{name: value for name, value in optional.items() if value is not None},
    }


def _promise_content(p: Promise) -> dict[str, object]:
    """What a document says of a promise; groups stand in the order of the result."""
    needed = p.rows_needed
    return {
        **{name: getattr(p, name) for name in ("confidence", "chance", "cost", "plain_chance")},
        "upper": dict(p.upper),
        "rows_needed": needed
        and {
            "times": needed.times,
            "rows": needed.rows,
            "by_group": list(needed.by_group.values()),
            "too_small": [k for k, name in enumerate(needed.by_group) if name in needed.too_small],
        },
        "plain": content_of(p.plain),
    }


# ------------------------------------------------------------------------------------------------------------- reading


def result_of(saved: document.Document, where: str = "") -> Result:
    """The result that a document is; ValueError says what is wrong with it."""
    try:
        return _result(saved.content, OF_RESULT, saved.thresholds)
    except (TypeError, ValueError) as error:
        raise bad_document(f"{where}not a saved result: {error}") from None


def _result(content: Mapping[str, Any], members: Mapping[str, Member], found: Thresholds | None = None) -> Result:
    check_members(content, members, "")
    if content["format"] != document.RESULT_FORMAT:
        raise bad_document(f"'format' is not {document.RESULT_FORMAT!r}")
    document.check_version(content)
    question, found = Question.from_dict(content["question"]), found or document.thresholds_in(content, is_result=True)
    rates = _rates_of(list(found.values), content["groups"], "groups", OF_GROUP)
    by_segment = None
    if "protected" in content:
        by_segment, names = rates, _protected(content["protected"])
        rates = _rates_of(names, content["protected"], "protected", {"name": Member(ANYTHING)})
    if (by_segment is not None) != question.by_segment or found.unified != question.unified:
        raise bad_document("the question is not about these thresholds")
    before = content["before"]
    check_members(before, _OF_BEFORE, "before")
    for at, one in (("it", content), ("before", before)):
        if question.weighted and "cost" not in one:
            raise bad_document(f"{at} lacks 'cost', and errors have prices or are balanced")
    was = _rates_of(list(rates), before["rates"], "before.rates", {})
    if len(content["held"]) != len(question.limits):
        raise bad_document(f"held has {len(content['held'])} entries for {len(question.limits)} limits")
    for i, one in enumerate(content["held"]):
        check_members(one, _OF_HELD, f"held[{i}]")
    for i, note in enumerate(content["notes"]):
        check_members(note, _OF_NOTE, f"notes[{i}]")
    trace = content.get("trace", [])
    check_parts(trace, THRESHOLD, "trace")
    error, proof = decode_number(content["error"]), content.get("proof")
    mixtures = None if found.mixtures is None else dict(found.mixtures)
    return Result(
        question,
        GroupThresholds(found.values, decode_number(content["default_threshold"]), mixtures),
        Rates(
            rates,
            error,
            float(content.get("cost", error)),
            Rates(was, float(before["error"]), float(before.get("cost", before["error"]))),
            by_segment,
        ),
        Gaps(
            _by_criterion(content["gaps"], "gaps"),
            _by_criterion(before["gaps"], "before.gaps"),
            tuple(
                Held(limit, real(one["reached"]), real(one["before"]))
                for limit, one in zip(question.limits, content["held"], strict=True)
            ),
        ),
        Proof(
            content["verdict"],
            content["message"],
            decode_number(content["loss"]),
            decode_number(content["lower_bound"]),
            content["iterations"],
            _part(Slack, content.get("slack"), _OF_SLACK, "slack"),
            tuple(map(decode_number, trace)),
            None if proof is None else Steps(saved=proof),
        ),
        Origin(
            decode_number(content["n_rows"]),
            found.sketch_digest,
            found.score_column,
            found.group_column,
            _part(Point, content.get("point"), _OF_POINT, "point"),
        ),
        tuple(map(Note.from_dict, content["notes"])),
        None
        if "promise" not in content
        else _promise_of(content["promise"], question, list(found.values), list(rates)),
        _part(Evidence, content.get("evidence"), _OF_EVIDENCE, "evidence"),
    )


def _promise_of(saved: Mapping[str, Any], question: Question, own: list[Name], compared: list[Name]) -> Promise:
    """The promise of a result, and the result inside it, which is one for the same groups."""
    check_members(saved, _OF_PROMISE, "promise")
    try:
        plain = _result(saved["plain"], _OF_PLAIN)
    except (TypeError, ValueError) as error:
        raise bad_document(f"promise.plain: {error}") from None
    if repr(list(plain.thresholds)) != repr(own) or repr(list(plain.rates)) != repr(compared):
        raise bad_document("promise.plain has other groups")  # as text: True and 1 are equal, but not the same name
    numbers = {name: float(saved[name]) for name in ("confidence", "chance", "cost", "plain_chance")}
    upper = _by_criterion(saved["upper"], "promise.upper")
    return Promise(
        **numbers, upper=upper, plain=plain, rows_needed=_needed_of(saved["rows_needed"], question, compared)
    )


def _needed_of(saved: Mapping[str, Any] | None, question: Question, compared: list[Name]) -> RowsNeeded | None:
    if saved is None:
        return None
    where = "promise.rows_needed"
    check_members(saved, _OF_ROWS_NEEDED, where)
    by_group, too_small = saved["by_group"], saved["too_small"]
    check_parts(by_group, NUMBER | NULL, f"{where}.by_group")
    check_parts(too_small, COUNT, f"{where}.too_small")
    if len(by_group) != len(compared):
        raise bad_document(f"{where}.by_group has {len(by_group)} entries for {len(compared)} groups")
    if any(position >= len(compared) for position in too_small):
        raise bad_document(f"{where}.too_small has a position outside the {len(compared)} groups")
    return RowsNeeded(
        real(saved["times"]),
        real(saved["rows"]),
        dict(zip(compared, map(real, by_group), strict=True)),
        tuple(compared[k] for k in too_small),
        question.asked_limits,
        question.confidence or 0.95,
    )


def _part(kind: Callable[..., Saved], saved: Any, members: Mapping[str, Member], where: str) -> Saved | None:
    """A part of a result from its members; None where there is none."""
    if saved is None:
        return None
    check_members(saved, members, where)
    numbers = {name for name, member in members.items() if member.kind in (NUMBER, _NUMBER_OR_NULL)}
    return kind(**{name: real(value) if name in numbers else value for name, value in saved.items()})


def _protected(entries: list[Any]) -> list[Name]:
    """Names of protected groups, which differ."""
    names = [
        decode_name(entry.get("name") if isinstance(entry, dict) else None, f"protected[{i}].name")
        for i, entry in enumerate(entries)
    ]
    if not 0 < len(names) <= MOST_GROUPS:
        raise bad_document(f"protected must have 1 to {MOST_GROUPS} groups; got {len(names)}")
    if len(set(map(repr, names))) < len(names):
        raise bad_document("protected repeats a name")
    check_distinct(names)
    return names


def _rates_of(names: list[Name], entries: list[Any], where: str, more: Mapping[str, Member]) -> dict[Name, GroupRates]:
    """Rates by name; entries may have `more` members."""
    if len(entries) != len(names):
        raise bad_document(f"{where} has {len(entries)} entries for {len(names)} groups")
    members = {**OF_RATES, **more}
    for i, entry in enumerate(entries):
        check_members(entry, members, f"{where}[{i}]")
    return {name: GroupRates(*(real(entry[key]) for key in _RATES)) for name, entry in zip(names, entries, strict=True)}


def real(value: float | None) -> Any:
    """A number of JSON, where 1.0 may have been written as 1."""
    return None if value is None else float(value)


def _by_criterion(values: Mapping[str, object], where: str) -> dict[str, float]:
    for name, value in values.items():
        if name not in CRITERION:
            raise bad_document(f"{where} has {name!r}; there are {', '.join(CRITERION)}")
        NUMBER.check(value, f"{where}.{name}")
    return {name: float(value) for name, value in values.items()}  # type: ignore[arg-type]
