"""One kind of error: what is wrong has a code and fields, so no room raises the built-in ones."""

import ast
import copyreg
import pickle
from pathlib import Path

import pytest

import gstar_fast as gf
from gstar_fast import errors

PACKAGE = Path(gf.__file__).parent
PLAIN = {"Exception", "LookupError", "MemoryError", "TypeError", "ValueError"}  # RuntimeError is a mistake of ours
EXEMPT = {"_cli"}  # it has an error of its own, for a person at a terminal


def raised(path):
    """Names of what a file raises."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and node.exc is not None:
            made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if isinstance(made, ast.Name):
                yield made.id


def test_no_file_raises_a_built_in_error():
    found = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if PLAIN.intersection(raised(path))}
    assert not {name for name in found if name.split("/")[0] not in EXEMPT}, "use gstar_fast._base.refusals"


@pytest.mark.parametrize(
    "act",
    [
        lambda: gf.Decider({}),
        lambda: gf.Decider({"F": "low"}),
        lambda: gf.Decider.from_json("[1,]"),
        lambda: gf.Result.from_json("{}"),
        lambda: gf.use_backend("cuda"),
        lambda: gf.density(gf.Sketch.from_rows([1.0, 2.0], [1, 1], [0, 0]), 1, 0, kind="kde", bandwidth="far"),
        lambda: gf.datasets.paper_synthetic(rows=0.5),
    ],
)
def test_an_error_has_a_code_and_an_argument(act):
    with pytest.raises(errors.InputError) as told:
        act()
    assert told.value.code
    assert told.value.argument


@pytest.mark.parametrize("name", errors.__all__)
@pytest.mark.parametrize("by_new", [False, True])
def test_errors_and_warnings_can_be_pickled(name, by_new):
    """Also by a pickler that makes them without their constructor, as tblib's in a Dask cluster does."""
    kind = getattr(errors, name)
    fields = {"code": "bad_rows", "argument": "rows", "row": 3, "value": 7, "limit": 5}
    told = kind("words", **fields) if issubclass(kind, errors._Coded) else kind("words")
    if by_new:
        twin = copyreg.__newobj__(kind)
        for key, value in {**vars(told), "args": told.args}.items():
            setattr(twin, key, value)
    else:
        twin = pickle.loads(pickle.dumps(told))
    assert type(twin) is kind
    assert str(twin) == "words"
    assert vars(twin) == vars(told)
