"""The face of the package: what it names, where its classes say they live, and that their examples run."""

import ast
import doctest
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import gstar_fast as gf
from gstar_fast import results

CLASSES = [getattr(gf, name) for name in gf.__all__ if isinstance(getattr(gf, name), type)]
CLASSES = [one for one in CLASSES if one.__name__ not in gf.errors.__all__]
TYPES = [getattr(results, name) for name in results.__all__]


def test_type_checkers_read_the_table_that_python_reads():
    """The block under TYPE_CHECKING, import by import, is the table of rooms."""
    tree = ast.parse(Path(gf.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    assert isinstance(block.test, ast.Name)
    assert block.test.id == "TYPE_CHECKING"
    told = [(node.module, alias.name) for node in block.body for alias in node.names if alias.asname == alias.name]
    assert len(told) == len(block.body), "each line names one thing, `as` itself, so that it is exported"
    modules = {("gstar_fast", name) for name in gf._MODULES} | {("gstar_fast._engines", name) for name in gf._ENGINES}
    assert sorted(told) == sorted(modules | {(f"gstar_fast.{room}", name) for name, room in gf._HOMES.items()})


@pytest.mark.parametrize("public", CLASSES, ids=lambda one: one.__name__)
def test_public_classes_live_in_the_package(public):
    assert public.__module__ == "gstar_fast"
    assert getattr(gf, public.__name__) is public


@pytest.mark.parametrize("public", TYPES, ids=lambda one: one.__name__)
def test_types_of_answers_live_in_results(public):
    assert public.__module__ == "gstar_fast.results"
    assert public.__doc__


def answers():
    """An object of every public class that can be sent to another process, and of every type in `results`."""
    table = gf.datasets.paper_synthetic(rows=2_000, seed=1)
    sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups, bins=64)
    result = gf.solve(sketch, limits={"equalized_odds": 0.05})
    audit = gf.audit(result, sketch, replicates=100)
    bounds = gf.bounds(result, sketch, density="normal")
    quality = gf.fit_quality(sketch, kinds=("normal",))
    yield from (sketch, gf.Window(panes=2), sketch.moments(1, 0), result, result.decider(), audit, bounds, bounds[1])
    yield from (gf.report(result, sketch), gf.GroupThresholdClassifier(LogisticRegression()))
    yield from (
        result.evidence,
        result.rates[0],
        audit.gaps["equalized_odds"],
        audit.new_rows["equalized_odds"],
        quality,
        quality[0],
    )
    yield from (sketch.columns, results.Mixed.MIXED, gf.Segments((0.5,)), gf.ProxySketch(["a", "b"]))
    yield gf.GroupProbability(LogisticRegression())
    yield results.Question.of(limits={"equalized_odds": 0.05}, objective={"fp": 1, "fn": 5})
    unpromised = gf.solve(sketch, limits={"equalized_odds": 0.01}, confidence=0.95)
    yield from (unpromised.promise, unpromised.promise.rows_needed, unpromised.notes[0], gf.certify(result, sketch))


def test_pickles_come_back_as_what_they_were():
    sent = list(answers())
    left_out = {
        gf.results.Frontier,
        gf.LiveDecider,
        gf.results.Density,
        gf.use_backend,
    }  # belong to the process that made them
    assert [
        one for one in (*CLASSES, *TYPES) if one not in left_out and not any(isinstance(x, one) for x in sent)
    ] == []
    for one in sent:
        assert type(pickle.loads(pickle.dumps(one))) is type(one)


def test_a_pickle_is_read_where_nothing_was_imported(tmp_path):
    (tmp_path / "result.pickle").write_bytes(pickle.dumps(next(one for one in answers() if type(one) is gf.Result)))
    code = "import pickle; print(type(pickle.load(open('result.pickle', 'rb'))))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "<class 'gstar_fast.Result'>"


def test_a_clone_of_the_classifier_is_one():
    model = gf.GroupThresholdClassifier(LogisticRegression(C=2.0), limits={"equalized_odds": 0.1})
    again = clone(model)
    assert type(again) is gf.GroupThresholdClassifier
    assert again.get_params()["estimator__C"] == 2.0
    assert again.get_params()["limits"] == {"equalized_odds": 0.1}


def examples():
    """Docstrings of public classes and their methods that have examples.

    `pytest --doctest-modules` finds those of functions; a class that says it lives in the package is none of the module
    it is written in.
    """
    finder = doctest.DocTestFinder()
    for public in (*CLASSES, *TYPES):
        name = f"{public.__module__}.{public.__name__}"
        yield from (test for test in finder.find(public, name, module=False) if test.examples)


@pytest.mark.parametrize("example", list(examples()), ids=lambda test: test.name)
def test_examples_of_public_classes_run(example):
    printed = []
    failed, tried = doctest.DocTestRunner(verbose=False).run(example, out=printed.append)
    assert tried
    assert not failed, "".join(printed)
