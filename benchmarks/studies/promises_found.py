"""What the study of promises found, from the lines that it wrote: counts and means, and which goals were met."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from benchmarks.studies.promises_settings import ADDED, CONFIDENCE, GOALS, OTHERS, SETTINGS, Normal, Setting

KEPT = 0.75  # of what plain thresholds gain over the best constant decision

Line = dict[str, Any]
Report = dict[str, Any]


def summary(lines: list[Line], about: dict[str, Any]) -> Report:
    """Counts and means by setting: everything that the page shows."""
    by_part: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        by_part[line["part"]].append(line)
    of_name: dict[str, list[Line]] = defaultdict(list)
    for line in by_part["draws"]:
        of_name[line["name"]].append(line)
    settings, added = (
        [of_setting(setting, of_name[setting.name]) for setting in some if of_name[setting.name]]
        for some in (SETTINGS, ADDED)
    )
    planned = defaultdict(list)
    for line in by_part["planned"]:
        planned[line["name"]].append(line)
    shown = ("part", "number")
    return {
        "machine": about,
        "settings": settings,
        "added": added,
        "planned": [of_plan(name, some) for name, some in planned.items()],
        "certified": [{k: v for k, v in line.items() if k not in (*shown, "name")} for line in by_part["certified"]],
        "halves": [{k: v for k, v in line.items() if k not in shown} for line in by_part["halves"]],
        "times": [{k: v for k, v in line.items() if k not in shown} for line in by_part["times"]],
    }


def n_groups(setting: Setting) -> int:
    if isinstance(setting.source, Normal):
        return len(setting.source.shares)
    groups = setting.source.groups
    return 2 if groups is None else len({g for g in groups if g is not None})


def above(line: Line, limit: float) -> bool:
    return bool(line["gap"] > limit + 1e-12)


def of_setting(setting: Setting, lines: list[Line]) -> Report:
    """What came out of one setting: counts of draws, and mean errors."""
    plain_error = float(np.mean([line["plain"]["error"] for line in lines]))
    found: Report = {
        "name": setting.name,
        "groups": n_groups(setting),
        "criterion": setting.criterion,
        "limit": setting.limit,
        "rows": setting.rows,
        "mixture": setting.mixture,
        "goal": setting.goal,
        "tags": setting.tags,
        "draws": len(lines),
        "plain_holds": sum(not above(line["plain"], setting.limit) for line in lines),
        "plain_error": plain_error,
        "levels": {},
    }
    for level in map(str, (CONFIDENCE, *OTHERS)):
        some = [(line["plain"], line["levels"][level]) for line in lines if level in line["levels"]]
        if some:
            found["levels"][level] = of_level(setting, some, lines[0]["constant"])
    return found


def of_level(setting: Setting, draws: list[tuple[Line, Line]], constant: float) -> Report:
    """What came out at one confidence; costs and shares of the gain are of true errors."""
    made = [(plain, asked) for plain, asked in draws if asked["verdict"] == "promised"]
    costs = [asked["error"] - plain["error"] for plain, asked in made]
    useful = [constant - asked["error"] >= KEPT * (constant - plain["error"]) for plain, asked in made]
    return {
        "draws": len(draws),
        "made": len(made),
        "refused": sum(asked["verdict"] == "unpromised" for _, asked in draws),
        "false": sum(above(asked, setting.limit) for _, asked in made),
        "useful": sum(useful),
        "cost": float(np.mean(costs)) if costs else None,
        "cost_error": float(np.std(costs) / len(costs) ** 0.5) if costs else None,
        "seconds": float(np.median([asked["seconds"] for _, asked in draws])),
    }


def of_plan(name: str, lines: list[Line]) -> Report:
    """How often promises came at the number of rows that was named, and at half of it."""
    named = [line for line in lines if "at" in line]
    told = {key: [one for line in named for one in line[key]] for key in ("at", "half")}
    return {
        "name": name,
        "pilots": len(lines),
        "named": len(named),
        "times": float(np.median([line["times"] for line in named])) if named else None,
        "seconds": float(np.median([line["seconds"] for line in lines])),
        **{key: sum(some) for key, some in told.items()},
        **{f"{key}_draws": len(some) for key, some in told.items()},
    }


# ------------------------------------------------------------------------------------------------------------- goals


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}" if whole else "-"


def signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.4f}"


def at(one: Report, level: float = CONFIDENCE) -> Report:
    found: Report = one["levels"][str(level)]
    return found


def allowed(confidence: float, draws: int) -> float:
    """Most false promises among all calls: the level and two standard errors of so many draws."""
    chance = 1 - confidence
    return float(chance + 2 * (chance * confidence / draws) ** 0.5)


Goal = tuple[str, str, str, bool]  # what, goal, figure, met


def goals(report: Report) -> list[Goal]:
    """Every goal that this run can speak of."""
    out: list[Goal] = []
    settings = report["settings"]

    def note(what: str, goal: str, figure: str, met: bool) -> None:
        out.append((what, goal, figure, bool(met)))

    if settings:
        worst = max(settings, key=lambda one: at(one)["false"] / at(one)["draws"])
        share = at(worst)["false"] / at(worst)["draws"]
        worst_text = f"{100 * share:.1f} % ({worst['name']})"
        note("false among all calls, in every setting", "at most 7.2 %", worst_text, share <= GOALS["false"])
        false, calls = (sum(at(one)[key] for one in settings) for key in ("false", "draws"))
        pooled = f"{percent(false, calls)} % ({false:,} of {calls:,})"
        note("false among all calls, pooled", "at most 3 %", pooled, false <= GOALS["pooled"] * calls)
        often = [one for one in settings if at(one)["made"] >= at(one)["draws"] / 10 and at(one)["made"]]
        if often:
            worst = max(often, key=lambda one: at(one)["false"] / at(one)["made"])
            share = at(worst)["false"] / at(worst)["made"]
            worst_text = f"{100 * share:.1f} % ({worst['name']})"
            what = "false among promises made, where a tenth of the calls get one"
            note(what, "under 10 %", worst_text, share < GOALS["false_made"])
    for level in OTHERS:
        some = [(at(one, level), one["name"]) for one in settings if str(level) in one["levels"]]
        if some:
            worst_of, name = max(some, key=lambda pair: pair[0]["false"] / pair[0]["draws"])
            share, most = worst_of["false"] / worst_of["draws"], allowed(level, worst_of["draws"])
            text = f"{100 * share:.1f} % ({name})"
            note(
                f"the same at confidence {level:g}, in every setting",
                f"at most {100 * most:.1f} %",
                text,
                share <= most,
            )
    for one in settings:
        out += goals_of(one)
    return out + other_goals(report)


def goals_of(one: Report) -> list[Goal]:
    """The goals of one setting."""
    found, out = at(one), []
    for key, goal in one["goal"].items():
        if key == "cost":
            met = found["cost"] is not None and found["cost"] <= goal
            out.append((f"{one['name']}: cost in error", f"at most {goal:+.4f}", signed(found["cost"]), met))
        else:
            share = found[key] / found["draws"]
            word = {"made": "promised", "refused": "refused", "useful": "useful promises"}[key]
            out.append((f"{one['name']}: {word}", f"at least {goal:.0%}", f"{share:.1%}", share >= goal))
    return out


def other_goals(report: Report) -> list[Goal]:
    """Planning, certificates, halves, times."""
    out: list[Goal] = []
    for plan in report["planned"]:
        for key, word, sign in (("at", "at the rows named", 1), ("half", "at half of them", -1)):
            if plan[f"{key}_draws"]:
                share = plan[key] / plan[f"{key}_draws"]
                goal = GOALS["at_rows_needed" if sign > 0 else "at_half"]
                text = f"at {'least' if sign > 0 else 'most'} {goal:.0%}"
                out.append((f"{plan['name']}: promises {word}", text, f"{share:.0%}", sign * share >= sign * goal))
    for key, goal, name in (
        ("mover", GOALS["certify"], "certify"),
        ("exact", GOALS["certify_exact"], "certify, exact"),
    ):
        if report["certified"]:
            worst = max(one[key] / one["draws"] for one in report["certified"])
            out.append((f"{name}: false just above the limit", f"at most {goal:.0%}", f"{worst:.1%}", worst <= goal))
    made, broken = (sum(one[key] for one in report["halves"]) for key in ("promised", "broken"))
    if made:
        met = broken <= GOALS["surely_broken"] * made
        out.append(("halves of files: surely broken", "at most 2 %", f"{percent(broken, made)} % of {made}", met))
    for one in report["times"]:
        many = "ten" in one["name"]
        most = GOALS["many_seconds"] if many else GOALS["solves"] * one["plain"] + 0.02
        text = "at most 0.3 s" if many else f"at most 30 solves + 20 ms = {1e3 * most:.0f} ms"
        what = f"time of a promise: {one['name']}, {one['rows']:,} rows"
        out.append((what, text, f"{1e3 * one['promised']:.0f} ms", one["promised"] <= most))
    for one in report["times"]:
        ratio = one["planned"] / one["promised"]
        what = f"planner over promise: {one['name']}, {one['rows']:,} rows"
        out.append((what, "at most 20 times", f"{ratio:.1f}", ratio <= 20))
    return out
