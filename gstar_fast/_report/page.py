"""The page of a report: all its sections in one file that may run one script and one style, both its own."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from string import Template

from gstar_fast._base.text import row_count
from gstar_fast._report import tables, trade_off, verdict, views
from gstar_fast._report.contents import Contents
from gstar_fast._report.html import html, join, tag

SECTIONS = (
    ("verdict", "Verdict", verdict.verdict_section),
    ("asked", "What was asked", tables.asked_section),
    ("thresholds", "Thresholds", tables.thresholds_section),
    ("gaps", "Gaps", tables.gaps_section),
    ("rates", "Rates", tables.rates_section),
    ("scores", "Scores", views.score_section),
    ("roc", "ROC curves", views.roc_section),
    ("frontier", "Trade-off", trade_off.frontier_section),
    ("notes", "Notes", tables.notes_section),
    ("reproduce", "Reproduce", tables.reproduce_section),
)


def page(contents: Contents) -> str:
    """The whole file."""
    folder = files("gstar_fast._report") / "templates"
    template, style, script = (
        (folder / name).read_text(encoding="utf-8") for name in ("page.html", "style.css", "slider.js")
    )
    n = len(contents.audit.groups)
    many = f"{n} group{'s' * (n != 1)}"
    if contents.kind == "segment":
        many += f" and {len(contents.result.thresholds)} segments"
    facts = f"{row_count(contents.audit.n_rows)} rows in {many} · made {contents.made}"
    footer = (
        f"Made by gstar_fast on {contents.made} from the sketch {contents.digest[:12]}. One file, no network: what it "
        "shows is what it holds."
    )
    return Template(template).substitute(
        title=html(contents.title),
        generator=html(f"gstar_fast {contents.versions['gstar_fast']}"),
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        facts=html(facts),
        contents=join(tag("li", tag("a", words, href=f"#{name}")) for name, words, _ in SECTIONS),
        sections=join((make(contents) for _, _, make in SECTIONS), "\n"),
        footer=html(footer),
        result=_json(json.loads(contents.result.to_json())),
        points=_json(trade_off.slider_points(contents)),
    )


def _hash(text: str) -> str:
    """How a content security policy names the one script and the one style that may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _json(value: object) -> str:
    """JSON that cannot end the script element it stands in."""
    escapes = {ord(c): f"\\u{ord(c):04x}" for c in "<>&"}
    return json.dumps(value, allow_nan=False, separators=(",", ":")).translate(escapes)
