"""Compiled classes raise TypeError when pickled or copied; the default of Python would crash the process."""

import copy
import inspect
import pickle

import pytest

import gstar_fast as gf

_core = pytest.importorskip("gstar_fast._core")
CLASSES = dict(inspect.getmembers(_core, inspect.isclass))


def instance_of(name):
    """An object of a compiled class; its C++ part is not needed for these tests."""
    if name in ("DecideCore", "LiveCore"):
        decider = gf.Decider({"F": 0.25})
        core = _core.DecideCore(decider.to_bytes(), {"F": 0.25})
        return core if name == "DecideCore" else _core.LiveCore(core)
    return CLASSES[name].__new__(CLASSES[name])


def test_every_compiled_class_is_known():
    assert {"SketchCore", "CellCopy", "DecideCore", "LiveCore", "Density", "Texts"} <= CLASSES.keys()


@pytest.mark.parametrize("name", CLASSES)
def test_a_compiled_object_cannot_be_pickled_or_copied(name):
    one = instance_of(name)
    for reduce in (one.__reduce__, lambda: one.__reduce_ex__(0), lambda: one.__reduce_ex__(4)):
        with pytest.raises(TypeError, match=f"{name} cannot be pickled; pickle the object"):
            reduce()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(one, protocol)
    for way in (copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled"):
            way(one)


def test_the_core_of_a_sketch_cannot_be_pickled():
    with gf.use_backend("native"):
        sketch = gf.Sketch.from_rows([0.5], [1], ["F"])
        with pytest.raises(TypeError, match="SketchCore cannot be pickled"):
            sketch._core.__reduce__()
        assert copy.deepcopy(sketch) == copy.copy(sketch) == sketch
