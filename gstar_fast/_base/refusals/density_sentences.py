"""Sentences on densities whose parameters are given: for each code its class and its words."""

from __future__ import annotations

from typing import Any

from gstar_fast._base.refusals.wording import Entry, Face, entries
from gstar_fast._base.text import near
from gstar_fast.errors import OptionTypeError, OptionValueError

DENSITIES: dict[str, Entry] = {}
MEANT = {  # by words of other libraries
    **dict.fromkeys(("mean", "mu", "loc", "median"), "location"),
    **dict.fromkeys(("std", "sigma", "deviation", "sd"), "scale"),
    **dict.fromkeys(("nu", "degrees"), "df"),
    **dict.fromkeys(("a", "alpha", "k"), "shape"),
}


def _family_parameter(e: Any, _: Face) -> str:
    meant = MEANT.get(e.argument)
    hint = f"; did you mean {meant}?" if meant in e.limit else near(e.argument, e.limit)
    return f"{e.value} has the parameters {', '.join(e.limit)}; got {e.argument}{hint}"


DENSITIES |= entries(
    OptionTypeError,
    family_number=lambda e, _: f"{e.argument} must be a number, got {e.value!r}",
    mirrored_type=lambda e, _: f"mirrored must be True or False, got {e.value!r}",
    family_parameter=_family_parameter,
    family_needs=lambda e, _: f"{e.value} needs the parameter {e.argument}; it has {', '.join(e.limit)}",
    family_with=lambda e, _: (
        f"{e.argument} is for a density of a sketch; density({e.value!r}, ...) takes the parameters of the family, "
        "rows, below and above"
    ),
    cell_of_sketch=lambda e, _: f"density(sketch, label, group) needs {e.argument} too; density(sketch) has every cell",
    parameter_of_sketch=lambda e, _: (
        f"{e.argument}={e.value!r} is for a family, as in density('normal', location=0, scale=1); the density of a "
        "sketch takes kind and bandwidth"
    ),
    densities_type=lambda e, _: (
        f"densities must be gf.results.Density by (label, group): {{(0, 'a'): gf.density('normal', rows=500)}}; "
        f"got {e.value}"
    ),
)
DENSITIES |= entries(
    OptionValueError,
    family=lambda e, _: (
        f"a density without a sketch must be one of {', '.join(e.limit)}; got {e.value!r}{near(str(e.value), e.limit)}"
    ),
    family_location=lambda e, _: f"location must be finite and within 1e100, got {e.value!r}",
    family_scale=lambda e, _: f"scale must be above 0 and at most 1e100, got {e.value!r}",
    family_df=lambda e, _: (
        f"df must be from {e.limit[0]:g} to {e.limit[1]:g}, got {e.value!r}"
        + ("; use 'normal', which it equals by then" if float(e.value) > e.limit[1] else "")
    ),
    family_shape=lambda e, _: f"shape must be from {e.limit[0]:g} to {e.limit[1]:g}, got {e.value!r}",
    family_share=lambda e, _: f"{e.argument} is a share of the rows, from 0 to less than 1; got {e.value!r}",
    family_ends=lambda e, _: (
        f"below and above are shares of the rows and must leave some for scores; got {e.value[0]:g} + {e.value[1]:g}"
    ),
    family_rows=lambda e, _: f"rows must be a number above 0, got {e.value!r}",
    no_counts=lambda e, _: (
        f"this {e.value} density was given by its parameters, so there are no counts to compare it with; "
        "gf.density(sketch, label, group, kind=...) has them"
    ),
    no_densities=lambda _, __: "there are no densities to solve on: the mapping is empty",
    densities_label=lambda e, _: f"the label of a density must be 0 or 1, got {e.value!r}; keys are (label, group)",
    densities_rows=lambda e, _: (
        f"the density of label {e.value[0]}, group {e.value[1]!r} does not say how many rows it stands for; without a "
        "sketch the error needs it: gf.density(..., rows=500), or shares of all rows"
    ),
)
