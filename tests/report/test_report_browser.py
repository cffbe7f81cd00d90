"""The report in a real Chromium: opens from a file, follows the keyboard, reads in light, dark, print and 360 px.

Needs playwright and a Chromium; without them it is skipped, unless GSTAR_FAST_REQUIRE_BROWSER=1 says that it must run.
"""

import numpy as np
import pytest
from helpers.report_reader import read, rows_of, synthetic

import gstar_fast as gf
from gstar_fast._base.text import short_number

HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def saved(sketch, tmp_path_factory):
    """One report of each kind that is looked at."""
    folder = tmp_path_factory.mktemp("reports")
    result = gf.solve(sketch, limits={"equalized_odds": 0.02})
    gf.report(result, sketch, title="Two groups").save(folder / "two.html")
    hostile = synthetic(2_000, names=(HOSTILE, "x" * 300))
    mixed = gf.solve(hostile, limits={"equalized_odds": 0.02}, randomize=True)
    gf.report(mixed, hostile, title=HOSTILE * 3, command=HOSTILE * 5).save(folder / "hostile.html")
    random = np.random.default_rng(0)
    labels, groups = random.integers(0, 2, 3_000), random.integers(0, 12, 3_000)
    many = gf.Sketch.from_rows(random.normal(labels + groups / 12), labels, groups)
    limited = gf.solve(many, limits={"accuracy_parity": 0.0001, "demographic_parity": 0.3}, unified=True)
    assert limited.verdict == "infeasible"
    gf.report(limited, many, title="Twelve groups").save(folder / "many.html")
    return folder


class Opened:
    """A page, what it asked the network for, and what it complained about."""

    def __init__(self, chromium, path, width=1180, **options):
        self.context = chromium.new_context(viewport={"width": width, "height": 900}, **options)
        self.page = self.context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog {dialog.message}"))
        self.page.goto(path.as_uri())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()


@pytest.mark.parametrize("name", ["two", "hostile", "many"])
def test_the_page_opens_from_a_file_without_console_messages(chromium, saved, name):
    path = saved / f"{name}.html"
    with Opened(chromium, path) as opened:
        opened.page.wait_for_selector("html.alive")
        assert opened.complaints == []
        assert opened.requests == [path.as_uri()]
        assert opened.page.locator("img").count() == 0


def test_the_policy_stops_what_is_not_the_pages_own(chromium, saved):
    """An element that got in would not run: the check that the policy is alive."""
    with Opened(chromium, saved / "two.html") as opened:
        opened.page.evaluate(
            "const s = document.createElement('script'); s.text = 'window.ran = 1'; document.body.append(s)"
        )
        assert opened.page.evaluate("window.ran") is None
        assert any("Content Security Policy" in text for text in opened.complaints)


def shown(page):
    """Texts of the two tables that follow the slider."""
    rows = page.evaluate(
        "[...document.querySelectorAll('#explore tbody tr')].map(r => [...r.children].map(c => c.textContent))"
    )
    return {row[0]: row[1:] for row in rows}


def at_point(point):
    groups = {
        name: [short_number(x) for x in (point.thresholds[name], at.selection_rate, at.tpr, at.fpr)]
        for name, at in point.rates.items()
    }
    gaps = {name.replace("_", " "): [short_number(value)] for name, value in point.gaps.items()}
    return {**groups, "error rate": [short_number(point.error)], **gaps}


def test_the_slider_follows_the_keyboard_and_shows_the_frontier(chromium, saved, sketch):
    frontier = gf.frontier(sketch, "equalized_odds")
    with Opened(chromium, saved / "two.html") as opened:
        page = opened.page
        slider = page.get_by_role("slider", name="Move along the curve")
        chosen = int(slider.input_value())
        assert shown(page) == at_point(gf.solve(sketch, limits={"equalized_odds": 0.02}))
        slider.focus()
        ring = page.locator("#ring").get_attribute("transform")
        page.keyboard.press("Home")
        assert shown(page) == at_point(frontier.result(0))
        assert slider.get_attribute("aria-valuetext").startswith("point 1 of ")
        assert page.locator("#said").text_content() == slider.get_attribute("aria-valuetext")
        assert page.locator("#said").get_attribute("aria-live") == "polite"
        assert page.locator("#ring").get_attribute("transform") != ring
        page.keyboard.press("End")
        assert shown(page) == at_point(frontier.result(len(frontier) - 1))
        page.get_by_role("button", name="chosen thresholds").press("Enter")
        assert int(slider.input_value()) == chosen
        assert shown(page) == at_point(gf.solve(sketch, limits={"equalized_odds": 0.02}))
        slider.focus()
        page.keyboard.press("ArrowRight")
        assert int(slider.input_value()) == chosen + 1
        assert slider.get_attribute("aria-valuetext").startswith(f"point {chosen + 2} of ")
        gap = float(shown(page)["equalized odds"][0])
        assert shown(page) == at_point(frontier.at(gap=gap + 5e-5))
        assert opened.complaints == []


def test_everything_is_reached_with_the_tab_key(chromium, saved):
    with Opened(chromium, saved / "two.html") as opened:
        page = opened.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the verdict"
        reached = set()
        for _ in range(80):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
        assert {"slider", "BUTTON", "SUMMARY", "A", "PRE", "DIV"} <= reached


CONTRAST = """() => {
  const parse = c => { const m = c.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const over = (top, under) => top.slice(0, 3).map((v, i) => v * top[3] + under[i] * (1 - top[3]));
  const linear = v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = c => { const [r, g, b] = c.map(v => linear(v / 255)); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const paper = e => { const layers = [];
    for (; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((under, layer) => over(layer, under), [255, 255, 255]); };
  const worst = {};
  document.querySelectorAll('details').forEach(d => d.open = true);
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    const style = getComputedStyle(e);
    if (!own || ['SCRIPT', 'STYLE', 'TITLE', 'title'].includes(e.tagName) || style.display === 'none') continue;
    const ink = parse(e.namespaceURI.includes('svg') ? style.fill : style.color), under = paper(e);
    const [a, b] = [light(over(ink, under)), light(under)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05), key = e.tagName + '.' + (e.getAttribute('class') || '');
    if (!(key in worst) || ratio < worst[key]) worst[key] = ratio;
  }
  return worst;
}"""


@pytest.mark.parametrize("name", ["two", "many"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out(chromium, saved, name, scheme):
    """WCAG AA: 4.5 between every text and what it stands on."""
    with Opened(chromium, saved / f"{name}.html", color_scheme=scheme) as opened:
        worst = opened.page.evaluate(CONTRAST)
        assert len(worst) > 20
        assert {key: ratio for key, ratio in worst.items() if ratio < 4.5} == {}
        dark = opened.page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(251, 251, 249)"
        assert dark == (scheme == "dark")


@pytest.mark.parametrize("name", ["two", "hostile", "many"])
@pytest.mark.parametrize("width", [360, 768, 1920])
def test_nothing_makes_the_page_wider_than_the_screen(chromium, saved, name, width):
    with Opened(chromium, saved / f"{name}.html", width=width) as opened:
        opened.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_a_small_screen_the_pictures_can_be_read(chromium, saved):
    with Opened(chromium, saved / "two.html", width=360) as opened:
        heights = opened.page.evaluate(
            "[...document.querySelectorAll('.chart text')].map(t => "
            "parseFloat(getComputedStyle(t).fontSize) * t.ownerSVGElement.getScreenCTM().a)"
        )
        assert min(heights) >= 9


@pytest.mark.parametrize("name", ["two", "many"])
def test_paper_shows_the_chosen_point_on_white_and_cuts_nothing(chromium, saved, name):
    with Opened(chromium, saved / f"{name}.html", width=680, color_scheme="dark") as opened:
        page = opened.page
        chosen = shown(page)
        page.get_by_role("slider").focus()
        page.keyboard.press("End")
        assert shown(page) != chosen
        assert page.pdf(prefer_css_page_size=True)[:5] == b"%PDF-"
        page.emulate_media(media="print", color_scheme="dark")
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert shown(page) == chosen
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        for hidden in ("#slider", "nav", ".ring"):
            assert not page.locator(hidden).first.is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 680
        heights = page.evaluate(
            "[...document.querySelectorAll('.wide')].filter(d => d.checkVisibility())"
            ".map(d => d.scrollHeight - d.clientHeight)"
        )
        assert max(heights) <= 1
        page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert shown(page) != chosen


def test_without_a_script_all_tables_and_pictures_are_there(chromium, saved):
    path = saved / "two.html"
    tree = read(path.read_text(encoding="utf-8"))
    with Opened(chromium, path, java_script_enabled=False) as opened:
        page = opened.page
        assert not page.locator("#slider").is_visible()
        assert "needs JavaScript" in page.locator(".needs").inner_text()
        for caption in ("Thresholds and what they do", "Gaps", "Groups at this point"):
            table = page.get_by_role("table", name=caption, exact=True)
            assert table.is_visible()
            assert table.locator("tbody tr").count() == len(rows_of(tree, caption))
        summaries = page.locator("summary")
        for i in range(summaries.count()):
            summaries.nth(i).click()
        assert all(table.is_visible() for table in page.locator("table").all())
        assert all(picture.is_visible() for picture in page.locator("svg[role=img]").all())
        assert opened.complaints == []
