"""Tables of comparisons at equal gap: every one of them, how often who is better, and the same in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.harness import table
from benchmarks.paper.frontier import Comparison
from benchmarks.paper.records import DATA, FIT_ROWS, GAP_WORDS, SHOWN, TRAINED_ON, Record, trained_on_part
from benchmarks.paper.tables import title_of


def compared(found: Sequence[Comparison], records: Sequence[Record], with_gap: bool = False) -> str:
    """Every comparison of some criteria and classes, in points of accuracy."""
    body = []
    for one in sorted(found, key=lambda one: (DATA.index(one.data), one.ours, one.rival, one.criterion)):
        body.append(
            [
                SHOWN[one.data],
                *([GAP_WORDS[one.criterion]] if with_gap else []),
                title_of(records, one.rival),
                trained_on_part(one.data, one.rival) or "all",
                "yes" if one.rival_uses_group else "no",
                title_of(records, one.ours),
                str(one.splits),
                f"{100 * one.difference:+.2f}" + ("" if one.steady else " ~"),
                *(tested(one) if one.tested else ["not at equal gap", "-", "-", "-"]),
                f"{100 * one.overlap:.0f} %",
                f"{one.apart:.3f} / {one.floor:.3f}",
            ]
        )
    head = [
        "data",
        *(["gap"] if with_gap else []),
        "rival",
        "its fit rows",
        "asks for the group",
        "ours",
        "splits",
        "ours - rival",
        "95 % interval",
        "p",
        "p, Holm",
    ]
    return table([*head, "visible alone / Holm", "lines overlap", "gaps apart / floor"], body)


def tested(one: Comparison) -> list[str]:
    """What the test says."""
    return [
        f"{100 * one.low:+.2f} to {100 * one.high:+.2f}",
        probability(one.p),
        probability(one.p_holm),
        f"{100 * one.visible:.2f} / {100 * one.visible_holm:.2f}",
    ]


def probability(p: float) -> str:
    return "< .001" if p < 0.001 else f"{p:.3f}".lstrip("0") if p < 1 else "1"


def tally(found: Sequence[Comparison], records: Sequence[Record]) -> str:
    """For each rival and form of ours: in how many comparisons which of them is better; losses first."""
    body = []
    pairs = {(one.rival, one.ours): None for one in sorted(found, key=lambda one: (one.rival, one.ours))}
    for rival, form in pairs:
        all_of = [one for one in found if (one.rival, one.ours) == (rival, form)]
        some = [one for one in all_of if one.tested]
        worse, better = ([one for one in some if (one.difference > 0) == sign] for sign in (False, True))
        counts = [
            sum(one.p_holm <= 0.05 for one in worse),
            sum(one.p <= 0.05 < one.p_holm for one in worse),
            sum(one.p <= 0.05 < one.p_holm for one in better),
            sum(one.p_holm <= 0.05 for one in better),
            sum(one.p_holm <= 0.05 and bool(trained_on_part(one.data, one.rival)) for one in better),
        ]
        seen = f"{100 * float(np.median([one.visible for one in some])):.2f}" if some else "-"
        fewest = str(min(one.splits for one in all_of))
        words = [title_of(records, rival), title_of(records, form), f"{len(some)} of {len(all_of)}", fewest]
        body.append([*words, *map(str, counts), seen])
    head = [
        "rival",
        "ours",
        "tested",
        "splits, fewest",
        "ours worse, Holm",
        "worse, before only",
        "better, before only",
    ]
    part = f"of these, rival on {TRAINED_ON:,} of {FIT_ROWS:,} rows"
    return table([*head, "ours better, Holm", part, "visible, median"], body)


def verdicts(found: Sequence[Comparison], records: Sequence[Record]) -> list[str]:
    """Who is better where, after Holm's correction and before it, as lines of a list; losses first."""
    apart = [one for one in found if not one.tested]
    found = [one for one in found if one.tested]
    lines = []
    for words, better in (("Ours is worse", False), ("Ours is better", True)):
        for after in (True, False):
            some = [
                one
                for one in found
                if (one.difference > 0) == better and (one.p_holm <= 0.05 if after else one.p <= 0.05 < one.p_holm)
            ]
            told: dict[str, list[str]] = {}
            for one in some:
                model = "" if one.model == "lr" else ", boosted"
                part = trained_on_part(one.data, one.rival)
                points = f"{100 * one.difference:+.2f}" + (f"; rival on {part} rows" if part else "")
                place = f"{SHOWN[one.data]} {GAP_WORDS[one.criterion].split()[0]}{model} ({points})"
                told.setdefault(f"{title_of(records, one.ours)} against {title_of(records, one.rival)}", []).append(
                    place
                )
            when = "after Holm's correction" if after else "before the correction only"
            listed = "; ".join(f"{names}: {', '.join(places)}" for names, places in told.items())
            thin = sum(bool(trained_on_part(one.data, one.rival)) for one in some)
            note = f" ({thin} of these against rivals on a part of CelebA's fit rows)" if thin else ""
            lines.append(f"{words} {when}, {len(some)} of {len(found)}{note}: {listed or 'nowhere'}.")
    lines.append(f"Not compared, since the two have no gaps in common: {len(apart)}.")
    return lines
