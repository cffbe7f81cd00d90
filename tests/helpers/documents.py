"""Documents that were changed: each value, each key and each length of a tree of JSON, one at a time."""

import copy


def changes(document):
    """The document with one thing changed, for each thing there is."""
    for path, value in places(document):
        if isinstance(value, dict):
            for key in value:
                yield changed(document, path, {k: v for k, v in value.items() if k != key})
                yield changed(document, path, {k + "_" if k == key else k: v for k, v in value.items()})
            yield changed(document, path, {**value, "another": None})
        elif isinstance(value, list):
            yield changed(document, path, [*value, 0])
            for i in range(len(value)):
                yield changed(document, path, value[:i] + value[i + 1 :])
        else:
            yield changed(document, path, other(value))


def places(value, path=()):
    """All values in a tree, each with the keys that lead to it."""
    yield path, value
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


def changed(document, path, value):
    """A copy with another value at one place."""
    if not path:
        return value
    out = copy.deepcopy(document)
    inner = out
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return out


def other(value):
    """A value of the same kind that says something else."""
    if value is None:
        return "something"
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return value + "."
    return value + 1 if isinstance(value, int) else -value or 0.25
