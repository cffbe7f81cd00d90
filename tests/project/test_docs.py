"""The site: builds without a warning, names everything public, links only to what is there, fetches nothing."""

import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from helpers.pages import PAGES, ROOT, prose, text_of

import gstar_fast as gf

LINK = re.compile(r"\]\(([^)\s]+)\)")
SPAN = re.compile(r"`([^`\n]+)`")
OURS = re.compile(r"(?:docs|examples|benchmarks|tests|csrc|gstar_fast)/[\w./*-]*")


def anchors(text):
    """The headings of a page, as GitHub and MyST name them."""
    headings = re.findall(r"^#{1,6} (.+)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_anchors_are_those_of_headings():
    assert anchors("# A name: `x`, twice\n\n```sh\n# not a heading\n```\n## Bytes, version 1\n") == {
        "a-name-x-twice",
        "bytes-version-1",
    }


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for target in LINK.findall(prose((ROOT / page).read_text(encoding="utf-8"))):
        if re.match(r"https?://", target):
            continue
        file, _, anchor = target.partition("#")
        there = (ROOT / page).parent / file if file else ROOT / page
        assert there.exists(), f"{page} links to {target}"
        if anchor:
            assert anchor in anchors(text_of(there)), f"{page} links to {target}"


SOURCES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("gstar_fast/**/*.py", "csrc/**/*.hpp", "csrc/**/*.cpp", "tests/**/*.py", "examples/**/*.py")
    for path in ROOT.glob(pattern)
)


def test_files_that_are_named_exist():
    """Pages name files in backticks; comments and docstrings name pages."""
    named = {(page, path) for page in PAGES for span in SPAN.findall(text_of(page)) for path in OURS.findall(span)}
    named |= {
        (source, path)
        for source in SOURCES
        if source != "tests/project/test_docs.py"
        for path in re.findall(r"docs/[\w/]+\.md", text_of(source))
    }
    assert len(named) > 30
    missing = [f"{page}: {path}" for page, path in sorted(named) if not list(ROOT.glob(path.rstrip(".")))]
    assert not missing


MODULES = ("config", "dask", "datasets", "errors", "plot", "ray", "results", "spark", "sql")


def test_every_public_name_is_in_the_reference_and_no_other():
    shown = re.findall(r"^\.\. auto\w+:: ([\w.]+)$", text_of("docs/api.md"), re.MULTILINE)
    assert [name for name in shown if "._" in name] == [], "nobody may import that"
    shown = [name.removeprefix("gstar_fast.") for name in shown]
    public = [name for name in gf.__all__ if name not in MODULES]
    for module in MODULES:
        here = getattr(gf, module)
        public += [f"{module}.{name}" for name in here.__all__ if getattr(gf, name, None) is not getattr(here, name)]
    assert sorted(shown) == sorted(public)


@pytest.mark.parametrize("name", [name for name in gf.__all__ if name != "__version__"])
def test_everything_public_is_explained(name):
    public = getattr(gf, name)
    assert public.__doc__
    if isinstance(public, type):
        members = [m for m in vars(public) if not m.startswith("_") and callable(getattr(public, m))]
        unexplained = [m for m in members if not (getattr(public, m).__doc__ or "").strip()]
        assert not unexplained


def test_results_of_benchmarks_are_all_shown_with_what_was_missed():
    results = {path.name for path in (ROOT / "benchmarks/results").glob("*.md")}
    index = text_of("docs/benchmarks/index.md")
    for name in results:
        assert f"](../../benchmarks/results/{name})" in index
        for goal in re.findall(r"^\| (.+?) +\|.*\| +NO \|$", text_of(f"benchmarks/results/{name}"), re.MULTILINE):
            assert f"- {goal}" in index, f"{name}: the page does not say that this goal was missed: {goal}"


class Fetched(HTMLParser):
    """What a browser would load to show a page."""

    def __init__(self):
        super().__init__()
        self.urls = []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag in ("script", "img", "iframe"):
            self.urls.append(attrs.get("src"))
        if tag == "link" and attrs.get("rel") in ("stylesheet", "preload", "icon"):
            self.urls.append(attrs.get("href"))


def test_the_site_builds_without_a_warning_and_fetches_nothing(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for result in (ROOT / "benchmarks/results").glob("*.md"):
        assert site / f"benchmarks/results/{result.stem}.html" in pages
    for page in pages:
        reader = Fetched()
        reader.feed(page.read_text(encoding="utf-8"))
        assert not [url for url in reader.urls if url and re.match(r"(https?:)?//", url)], page.name


def test_landmarks_of_law_are_dated():
    """Law changes: each landmark says from when it is, and the page when it was last checked."""
    page = text_of("docs/fairness_words.md")
    assert re.search(r"last checked on \d+ \w+ 20\d\d", page)
    law = page.split("Reducing the second by means of the first")[1].split("### ")[0]
    landmarks = re.findall(r"^- (\S.*)$", law, re.MULTILINE)
    assert len(landmarks) > 10
    same = [text for text in landmarks if not re.match(r"\*[^*]*\b(19|20)\d\d\b[^*]*\*", text)]
    assert same == [text for text in landmarks if text.startswith("*The same.*")]


@pytest.mark.parametrize(
    "fact",
    [
        "sex, marital status or age, because income comes from public assistance,",  # 15 U.S.C. 1691(a)
        "has in good faith exercised a right under the Consumer Credit Protection Act.",
        "data that reveal racial or ethnic origin,",  # GDPR, Art. 9(1)
        "data about health, sex life or sexual orientation.",
        "Sex and age are not among them;",
        "Art. 22(4) goes further for special categories: such a decision may not be based on them, unless",
        "Art. 5(2) of Directive 2004/113",
        "is invalid from 21 December 2012",  # Test-Achats
        "This is no safe harbour either:",  # unified=True, after Ricci
        "The thresholds still depend on labels:",
        "may be wrong, and promises nothing",
    ],
)
def test_what_is_said_of_law_and_labels_stays(fact):
    """Each of these was missing or wrong once."""
    assert fact in re.sub(r"\s+", " ", text_of("docs/fairness_words.md"))


def test_the_noise_of_a_gap_on_new_rows_is_what_a_simulation_gives():
    """Chance is in the counted rows and in the new ones: the formula of the page has a 2 for that."""
    page = re.sub(r"\s+", " ", text_of("docs/fairness_words.md"))
    formula = re.search(r"differs by about `(sqrt\(.*?\))`, where", page)[1]
    n, p, said = re.search(r"with (\d+) positives in each group and a tpr of ([\d.]+), by ([\d.]+)\.", page).groups()
    n, p = int(n), float(p)
    python = formula.replace("2 p (1 - p) (", "2 * p * (1 - p) * (")
    value = eval(python, {"sqrt": math.sqrt, "p": p, "n_a": n, "n_b": n})
    a, b, new_a, new_b = np.random.default_rng(0).binomial(n, p, (4, 100_000)) / n
    assert value == pytest.approx(np.std((a - b) - (new_a - new_b)), rel=0.02)
    assert float(said) == pytest.approx(value, abs=0.005)


@pytest.mark.parametrize("page", PAGES)
def test_no_page_gives_an_audit_arrays_by_position(page):
    """Such a call is refused; prose is not run, so that a page could teach it."""
    assert not re.search(r"audit\(\s*(decisions|decided|accepted|labels|y\w*|d)\s*,", text_of(page))


PROMISES = ("fair decisions", "cannot be done better", "guarantee", "debias", "unbiased decisions", "fairest")


@pytest.mark.parametrize("page", [*PAGES, "pyproject.toml", "CITATION.cff", "gstar_fast/__init__.py"])
def test_no_page_promises_fairness(page):
    """We say what is proven: the least error within the limits, on the rows that were counted."""
    text = re.sub(r"\s+", " ", text_of(page)).lower()
    assert [words for words in PROMISES if words in text] == []


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_first_words_say_where_the_proof_holds(page):
    first = prose(text_of(page)).split("\n\n")[1]
    assert re.search("proof|proven|proves", first)
    assert re.search(r"rows\s+(that\s+were|it)\s+counted|counted\s+rows", first)


GUIDE = [page for page in PAGES if page.startswith(("docs/guide/", "docs/quickstart", "docs/install", "docs/fairness"))]


@pytest.mark.parametrize("page", GUIDE)
def test_a_guide_starts_with_what_the_reader_can_do(page):
    assert prose(text_of(page)).split("\n\n")[1].startswith("After this page you ")


def test_the_readme_shows_use_before_speed():
    headings = re.findall(r"^## (.+)$", prose(text_of("README.md")), re.MULTILINE)
    assert headings == [
        "Install",
        "Ten lines",
        "From a data frame",
        "From a folder of files",
        "Where to start",
        "Speed",
        "Backends",
        "Links",
    ]
