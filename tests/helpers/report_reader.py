"""Scores to report on, and a reader that sees a page as a browser would: a tree that must be whole, tables, texts."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np

import gstar_fast as gf

VOID = {"meta", "input", "br"}


def synthetic(rows=8_000, seed=1, names=("women", "men"), **options):
    """A sketch of the paper's synthetic table."""
    table = gf.datasets.paper_synthetic(rows=rows, seed=seed)
    return gf.Sketch.from_rows(table.scores, table.labels, np.array(names)[table.groups], **options)


class Node:
    """An element with its attributes, children (nodes and texts) and parent."""

    def __init__(self, name, attributes, parent):
        self.name, self.attributes, self.parent, self.children = name, dict(attributes), parent, []

    def walk(self):
        yield self
        for child in self.children:
            if isinstance(child, Node):
                yield from child.walk()

    def all(self, *names, **attributes):
        """Descendants of these names with these attributes; `class_` asks for one of its classes."""

        def fits(node):
            for key, value in attributes.items():
                found = node.attributes.get(key.rstrip("_").replace("_", "-"))
                if found is None or (value not in found.split() if key == "class_" else found != value):
                    return False
            return not names or node.name in names

        return [node for node in self.walk() if node is not self and fits(node)]

    def one(self, *names, **attributes):
        found = self.all(*names, **attributes)
        assert len(found) == 1, f"{names} {attributes}: found {len(found)}"
        return found[0]

    @property
    def text(self):
        return "".join(child.text if isinstance(child, Node) else child for child in self.children)


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.root = self.here = Node("", {}, None)

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice"
        node = Node(tag, attrs, self.here)
        self.here.children.append(node)
        if tag not in VOID:
            self.here = node

    def handle_startendtag(self, tag, attrs):
        self.here.children.append(Node(tag, attrs, self.here))

    def handle_endtag(self, tag):
        assert tag == self.here.name, f"</{tag}> closes <{self.here.name}>"
        self.here = self.here.parent

    def handle_data(self, data):
        self.here.children.append(data)


def read(html):
    """The tree of a page; an element that is not closed, or in the wrong order, is an AssertionError."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert reader.here is reader.root, f"<{reader.here.name}> is not closed"
    return reader.root


def rows_of(page, caption):
    """Body rows of the table with this caption, as lists of texts; the small text of a cell follows after a space."""
    table = next(t for t in page.all("table") if t.one("caption").text == caption)
    rows = []
    for row in table.all("tr"):
        if row.parent.name != "thead":
            rows.append([cell_text(cell) for cell in row.children if isinstance(cell, Node)])
    return rows


def cell_text(cell):
    small = [node.text for node in cell.all("small")]
    whole = cell.text
    return whole if not small else f"{whole.removesuffix(small[0])} {small[0]}"


def head_of(page, caption):
    """Texts of the head of the table with this caption."""
    table = next(t for t in page.all("table") if t.one("caption").text == caption)
    return [cell.text for cell in table.one("thead").all("th")]
