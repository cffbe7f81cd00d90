"""The settings of the study of promises: what is drawn, what is asked of it, and what must come out.

SETTINGS was committed before the first run of the study and is not changed after it. ADDED came later, when a look at
ten draws of other seeds had shown that the five and ten real groups of SETTINGS have cells too small for their limits:
the same groups with twice the limit, and as mixtures. No goal is judged by them.

The truth is known in two ways. A score file is taken as the population, all of its rows, and rows are drawn from it
with replacement. Or scores are normal in each cell, cut to steps, and rates follow from the normal distribution.
"""

from __future__ import annotations

from dataclasses import dataclass, field

DRAWS = 400
CONFIDENCE = 0.95
OTHERS = (0.8, 0.9, 0.99)  # also asked where `levels` says so
GOALS = {
    "false": 0.072,  # false promises among all calls: 5 % and two standard errors of 400 draws
    "pooled": 0.03,  # the same over all settings
    "false_made": 0.10,  # among the promises made, where a tenth of the calls or more get one
    "useful_many": 0.5,  # share of calls with a promise, for the two settings with five and ten real groups
    "refused": 0.98,
    "certify": 0.06,
    "certify_exact": 0.05,
    "at_rows_needed": 0.8,  # at least so many promises at the number of rows named,
    "at_half": 0.6,  # and at most so many at half of it
    "surely_broken": 0.02,
    "solves": 30,  # a promise for two groups takes at most so many plain solves and 20 ms,
    "many_seconds": 0.3,  # and one for ten groups so long
}


@dataclass(frozen=True)
class File:
    """A score file as the population; `groups` maps the file's `mgroup` to groups, None leaves rows of it out."""

    name: str
    groups: tuple[int | None, ...] | None = None  # None: the two groups of the file


@dataclass(frozen=True)
class Normal:
    """Normal scores: positives of a group around `shift + d`, negatives around `shift`, both of deviation `spread`."""

    shares: tuple[float, ...]  # of the rows, by group
    positive: tuple[float, ...]  # share of positives in the group
    d: tuple[float, ...]
    shift: tuple[float, ...]
    spread: tuple[float, ...] | None = None  # None: 1
    step: float = 2.0**-10  # scores are cut down to whole steps; a long step makes ties


@dataclass(frozen=True)
class Setting:
    """One population, one question, one number of rows."""

    name: str
    source: File | Normal
    criterion: str
    limit: float
    rows: int
    mixture: bool = False
    levels: bool = False  # whether the other confidences are asked too
    goal: dict[str, float] = field(default_factory=dict)  # most `cost`; least `made`; least `refused`; least `useful`
    tags: tuple[str, ...] = ()


ODDS, PARITY, OPPORTUNITY = "equalized_odds", "demographic_parity", "equal_opportunity"

# Adult's `mgroup` is race and sex: American Indian, Asian, Black, other, White; women before men in each
FIVE = (4, 4, 4, 4, 2, 3, 4, 4, 0, 1)  # White women, White men, Black women, Black men, all others
EIGHT = (None, 0, 1, 2, 3, 4, None, 5, 6, 7)  # without the two groups of fewer than 20 positives
TEN = tuple(range(10))
# CelebA's is sex and age, COMPAS' is race
CELEBA_THREE = (0, 1, 2, 2)
COMPAS_THREE = (0, 2, 1, 2, 2, 2)


def same(k: int, value: float) -> tuple[float, ...]:
    return (value,) * k


def falling(k: int, ratio: float) -> tuple[float, ...]:
    """Shares that fall from group to group; the first is `ratio` times the last."""
    sizes = [ratio ** (-i / (k - 1)) for i in range(k)]
    return tuple(size / sum(sizes) for size in sizes)


def odd(k: int, small: float, how_odd: tuple[float, ...]) -> Normal:
    """Groups alike, but for small ones at the end, of this share of the rows each, whose d' differs by so much.

    Made to attack a test that lets groups borrow from each other: the odd group's rates lie off the common curve, and
    there are few rows to see it.
    """
    n = len(how_odd)
    shares = (*same(k - n, (1 - n * small) / (k - n)), *same(n, small))
    return Normal(shares, same(k, 0.35), (*same(k - n, 1.5), *(1.5 + x for x in how_odd)), same(k, 0.0))


SETTINGS = (
    # named in the goals
    Setting("Adult .05", File("adult_lr_s0"), ODDS, 0.05, 34_000, levels=True, goal={"cost": 0.0005}),
    Setting("Adult .02, 100,000", File("adult_lr_s0"), ODDS, 0.02, 100_000, levels=True, goal={"cost": 0.008}),
    Setting("Adult .02, 34,000", File("adult_lr_s0"), ODDS, 0.02, 34_000, goal={"refused": 0.98}),
    Setting("CelebA .02", File("celeba_lr_s0"), ODDS, 0.02, 40_000),
    Setting("COMPAS .10", File("compas_lr_s0"), ODDS, 0.10, 4_000, levels=True, goal={"cost": 0.004}),
    Setting("Adult parity .05", File("adult_lr_s0"), PARITY, 0.05, 10_000, levels=True, goal={"cost": 0.004}),
    Setting(
        "Adult .02, mixture", File("adult_lr_s0"), ODDS, 0.02, 100_000, mixture=True, goal={"cost": 0.007, "made": 0.95}
    ),
    Setting(
        "CelebA .02, mixture",
        File("celeba_lr_s0"),
        ODDS,
        0.02,
        40_000,
        mixture=True,
        goal={"cost": 0.007, "made": 0.95},
    ),
    Setting("Adult, five groups .05", File("adult_lr_s0", FIVE), ODDS, 0.05, 50_000, levels=True, goal={"useful": 0.5}),
    Setting("Adult, ten groups .10", File("adult_lr_s0", TEN), ODDS, 0.10, 300_000, goal={"useful": 0.5}),
    # other criteria, models and numbers of rows
    Setting("Adult opportunity .05", File("adult_lr_s1"), OPPORTUNITY, 0.05, 10_000),
    Setting("Adult .02, 300,000", File("adult_lr_s1"), ODDS, 0.02, 300_000),
    Setting("Adult boosted .03", File("adult_hgb_s0"), ODDS, 0.03, 50_000),
    Setting("COMPAS .10, 2,000", File("compas_aa_lr_s0"), ODDS, 0.10, 2_000),
    Setting("COMPAS opportunity .10", File("compas_hgb_s1"), OPPORTUNITY, 0.10, 4_000),
    Setting("German parity .15", File("german_lr_s0"), PARITY, 0.15, 2_000),
    Setting("CelebA parity .02", File("celeba_lr_s1"), PARITY, 0.02, 20_000),
    # overconfident scores; ties and atoms
    Setting("Adult overconfident .05", File("adult_xconf_s0"), ODDS, 0.05, 34_000, tags=("overconfident",)),
    Setting("COMPAS overconfident .10", File("compas_xconf_s0"), ODDS, 0.10, 4_000, tags=("overconfident",)),
    Setting("Adult tree .05", File("adult_tree_s0"), ODDS, 0.05, 20_000, tags=("atoms",)),
    Setting("COMPAS tree parity .05", File("compas_tree_s0"), PARITY, 0.05, 4_000, tags=("atoms",)),
    Setting(
        "ties, steps of 1/4",
        Normal((0.6, 0.4), (0.4, 0.25), (1.5, 1.4), (0.0, 0.3), step=0.25),
        ODDS,
        0.06,
        20_000,
        tags=("atoms",),
    ),
    # small groups
    Setting(
        "a group of 2 %", Normal((0.98, 0.02), (0.4, 0.3), (1.5, 1.3), (0.0, 0.2)), ODDS, 0.10, 20_000, tags=("small",)
    ),
    Setting(
        "a group of 1 %, parity",
        Normal((0.99, 0.01), (0.4, 0.3), (1.5, 1.3), (0.0, 0.2)),
        PARITY,
        0.10,
        30_000,
        tags=("small",),
    ),
    # three groups
    Setting("CelebA, three groups .03", File("celeba_lr_s0", CELEBA_THREE), ODDS, 0.03, 60_000),
    Setting("COMPAS, three groups .15", File("compas_lr_s0", COMPAS_THREE), OPPORTUNITY, 0.15, 6_000),
    # five
    Setting("Adult, five groups parity .05", File("adult_lr_s0", FIVE), PARITY, 0.05, 50_000),
    Setting(
        "five normal groups .05",
        Normal(falling(5, 8), (0.4, 0.35, 0.3, 0.35, 0.4), (1.5, 1.45, 1.5, 1.55, 1.5), (0.0, 0.1, 0.2, 0.3, 0.4)),
        ODDS,
        0.05,
        50_000,
    ),
    # eight
    Setting("Adult, eight groups .10", File("adult_lr_s1", EIGHT), ODDS, 0.10, 150_000),
    Setting(
        "eight normal groups .08",
        Normal(
            falling(8, 20),
            same(8, 0.35),
            (1.5, 1.4, 1.45, 1.5, 1.6, 1.5, 1.55, 1.5),
            (0, 0.1, 0.2, 0, 0.1, 0.2, 0, 0.1),
        ),
        ODDS,
        0.08,
        80_000,
    ),
    Setting(
        "eight normal groups, opportunity .10",
        Normal(falling(8, 20), same(8, 0.35), same(8, 1.5), falling(8, 3)),
        OPPORTUNITY,
        0.10,
        20_000,
    ),
    # ten
    Setting("Adult, ten groups parity .10", File("adult_lr_s0", TEN), PARITY, 0.10, 100_000),
    Setting(
        "ten normal groups .10",
        Normal(
            falling(10, 10),
            same(10, 0.35),
            tuple(1.4 + 0.02 * i for i in range(10)),
            tuple(0.05 * i for i in range(10)),
        ),
        ODDS,
        0.10,
        50_000,
    ),
    # made to attack the test
    Setting("attack: two groups, one odd", odd(2, 0.05, (-0.3,)), ODDS, 0.08, 30_000, tags=("attack",)),
    Setting("attack: five groups, one odd", odd(5, 0.02, (-0.35,)), ODDS, 0.10, 50_000, tags=("attack",)),
    Setting("attack: five groups, two odd", odd(5, 0.02, (-0.25, 0.25)), ODDS, 0.10, 50_000, tags=("attack",)),
    Setting("attack: ten groups, one odd", odd(10, 0.01, (-0.35,)), ODDS, 0.10, 100_000, tags=("attack",)),
    Setting("attack: ten groups, two odd", odd(10, 0.01, (-0.25, 0.25)), ODDS, 0.10, 100_000, tags=("attack",)),
)

ADDED = (
    Setting("Adult, five groups .10", File("adult_lr_s0", FIVE), ODDS, 0.10, 50_000),
    Setting("Adult, ten groups .20", File("adult_lr_s0", TEN), ODDS, 0.20, 300_000),
    Setting("Adult, five groups .05, mixture", File("adult_lr_s0", FIVE), ODDS, 0.05, 50_000, mixture=True),
    Setting("Adult, ten groups .10, mixture", File("adult_lr_s0", TEN), ODDS, 0.10, 300_000, mixture=True),
)

# `gf.rows_needed` is asked on draws of these rows; promises are asked at the number it names and at half of it
PLANNED = (
    Setting("Adult .02, 34,000", File("adult_lr_s0"), ODDS, 0.02, 34_000),
    Setting("COMPAS .05, 4,000", File("compas_lr_s0"), ODDS, 0.05, 4_000),
    Setting("Adult parity .02, 10,000", File("adult_lr_s0"), PARITY, 0.02, 10_000),
    Setting("five normal groups .05, 10,000", odd(5, 0.1, ()), ODDS, 0.05, 10_000),
)

# `gf.certify` at true rates just above the limit: rows of each cell, number of groups, limit, the lowest rate
CERTIFIED = tuple(
    (cell, groups, limit, low)
    for cell in (30, 100, 1_000)
    for groups in (2, 5)
    for limit, low in ((0.05, 0.02), (0.1, 0.45), (0.2, 0.7))
)
CERTIFIED_DRAWS = 4_000

# halves of every shared file, each half once for the promise and once as the new rows
HALVES = tuple((criterion, limit) for criterion in (ODDS, PARITY, OPPORTUNITY) for limit in (0.05, 0.1))
