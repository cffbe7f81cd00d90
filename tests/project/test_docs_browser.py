"""The site in a real Chromium: at every width all of a page is there, or one scrolls to it and sees that one can.

Needs playwright, a Chromium and the extra `docs`; without them it is skipped, unless GSTAR_FAST_REQUIRE_BROWSER=1 says
that it must run.
"""

import pytest

# What is wider than its place: [what, width it needs, width it has]. Whatever scrolls is allowed if a shadow shows it.
CUT_OFF = """() => {
  const found = [], width = document.documentElement.clientWidth;
  const scrolls = e => ['auto', 'scroll'].includes(getComputedStyle(e).overflowX);
  const shows = e => getComputedStyle(e).backgroundAttachment.includes('local');
  const called = e => `${e.tagName} in ${e.closest('[class*=highlight-], .table-wrapper')?.className ?? 'text'}`;
  for (const e of document.querySelectorAll('article *')) {
    let inside = e.parentElement;
    while (inside && !(scrolls(inside) && shows(inside))) inside = inside.parentElement;
    const right = e.getBoundingClientRect().right;
    if (right > width + 1 && !inside) found.push([called(e), right, width]);
    const hides = getComputedStyle(e).overflowX !== 'visible' && !(scrolls(e) && shows(e));
    if (hides && e.clientWidth && e.scrollWidth > e.clientWidth + 1)
      found.push([called(e), e.scrollWidth, e.clientWidth]);
  }
  if (document.documentElement.scrollWidth > width)
    found.push(['the page', document.documentElement.scrollWidth, width]);
  return found;
}"""


@pytest.mark.parametrize("width", [390, 768, 1200, 1600])
def test_nothing_on_a_page_is_cut_off(chromium, site, width):
    pages = [page for page in sorted(site.rglob("*.html")) if "_static" not in page.parts]
    assert len(pages) > 20
    context = chromium.new_context(viewport={"width": width, "height": 900})
    try:
        tab = context.new_page()
        wrong = {}
        for page in pages:
            tab.goto(page.as_uri())
            if found := tab.evaluate(CUT_OFF):
                wrong[page.relative_to(site).as_posix()] = found[:5]
    finally:
        context.close()
    assert wrong == {}


def test_the_browser_test_finds_cut_off_text(chromium, tmp_path):
    """The check above can fail: for code that is hidden, a wide table, and a scroller that does not show it is one."""
    long = "x" * 400
    page = tmp_path / "page.html"
    context = chromium.new_context(viewport={"width": 390, "height": 900})
    try:
        tab = context.new_page()
        for body, cut in (
            ("<p>short</p>", False),
            (f"<p>{long}</p>", True),
            (f"<pre style='overflow: hidden'>{long}</pre>", True),
            (f"<pre style='overflow: auto'>{long}</pre>", True),
            (f"<pre style='overflow: auto; background: linear-gradient(red, red) local'>{long}</pre>", False),
            (f"<div style='overflow: auto'><table><tr><td>{long}</td></tr></table></div>", True),
        ):
            page.write_text(f"<!doctype html><article>{body}</article>", encoding="utf-8")
            tab.goto(page.as_uri())
            assert bool(tab.evaluate(CUT_OFF)) == cut, body
    finally:
        context.close()
