"""Thresholds by segment as a `Result`: what `solve` does where `decide_by` differs from `fair_between`.

Groups are segments too: limits on rates of several groups together are answered here for thresholds by group.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from gstar_fast._backends import room
from gstar_fast._backends.common.segments import Mix
from gstar_fast._base.arrays import Floats, Ints
from gstar_fast._base.text import row_count
from gstar_fast._question.cut import EACH
from gstar_fast._question.question import Question
from gstar_fast._rates import SELECTION_INDEX, has_rate, rates_of
from gstar_fast._solver.answer.parts import Note, Proof, Slack
from gstar_fast._solver.answer.proof import Steps
from gstar_fast._solver.answer.result import Result
from gstar_fast._solver.cells import Cells, Outcome, Parts, effective_rows, rates_by_group
from gstar_fast._solver.finish import ended_early, likeliest, made, none_found, paired_z, parts_again, settled
from gstar_fast._solver.notes import cautions
from gstar_fast._solver.search import Problem, nearest, seconds_left
from gstar_fast._solver.segments.search import (
    SegmentChoice,
    SegmentSearch,
    choose_by_segment,
    loosened,
    mix_by_segment,
    parts_of,
)

NODES = 1000  # of a search for one slack; there are 17 of them


@dataclass(frozen=True)
class Answer:
    """A question about segments, and what is the same in all its answers."""

    cells: Cells
    question: Question

    def result(
        self,
        search: SegmentSearch,
        parts: Parts,
        verdict: str,
        message: str,
        iterations: int,
        *,
        mixed: bool = False,
        bound: float | None = None,
        steps: Steps | None = None,
    ) -> Result:
        """Put candidates with weights into words and numbers; `bound` is one of E where it is not the answer's own."""
        cells, scale, question, totals = self.cells, search.scale, search.question, search.totals
        accepted, alike = cells.accepted(parts), cells.rows[:, :, search.unified :].sum(axis=2)
        after = Outcome.of(cells.by_group(accepted), totals, scale)
        before = Outcome.of(cells.by_group(alike), totals, scale)
        loss = after.weighted_error**2
        least = after.weighted_error if bound is None else min(bound, after.weighted_error)
        lower = max(least - scale.slack, 0.0) ** 2 if bound is not None or scale.slack else loss
        if not message:
            message = ended_early(loss - lower, iterations)
        asked = cells, question, scale, after, before
        rates = None
        if cells.by_segments:
            by_segment = cells.by_segment(cells.rows.sum(axis=2))
            at_segment = rates_of(cells.by_segment(accepted), by_segment)
            segments = cells.segments, at_segment[SELECTION_INDEX], by_segment
            n_rows = cells.by_segment(cells.n_rows).sum(axis=0)
            rates = rates_by_group(cells.segments, at_segment, has_rate(by_segment), n_rows)
            notes = cautions(*asked, can_mix=not mixed, can_pool=False, segments=segments)
            if question.limits and verdict != "unified":  # one threshold for all does not overfit
                notes += too_many(cells, effective_rows(cells))
        else:
            notes = cautions(*asked, can_mix=not mixed)
        mixtures = {
            name: tuple((float(cells.candidates[t]), w) for t, w in part.items())
            for name, part in zip(cells.segments, parts, strict=True)
        }
        return made(
            search,
            likeliest(mixtures),
            after,
            before,
            Proof(verdict, message, loss, lower, iterations, steps=steps if cells.by_segments else None),
            float(cells.candidates[search.unified]),
            mixtures=mixtures if mixed else None,
            by_segment=rates,
            notes=notes,
        )

    def solved(self, randomize: bool, evidence: float = 0.0) -> Result:
        """The best mixture or thresholds by segment, or one threshold for all where `evidence` asks for it."""
        return self.mixed(evidence) if randomize else self.chosen(evidence)

    def chosen(self, evidence: float = 0.0) -> Result:
        """One threshold for each segment, or one for all where `evidence` asks for it."""
        seconds = self.question.seconds
        end = time.monotonic() + seconds
        choice = choose_by_segment(Problem.of(self.cells, self.question), seconds=seconds)
        proof = choice.proof() if choice.finished else None
        if choice.candidates is None:
            return self._settled(choice.search, self._without(choice, proof, end), evidence)
        parts = [{t: 1.0} for t in choice.candidates]
        if not choice.finished:
            bound = max(choice.bound, 0.0)
            found = self.result(choice.search, parts, "not_converged", "", choice.nodes, bound=bound)
            return self._settled(choice.search, found, evidence)
        found = self.result(choice.search, parts, "optimal", self.least(), choice.nodes, steps=proof)
        return self._settled(choice.search, found, evidence)

    def _settled(self, search: SegmentSearch, best: Result, evidence: float) -> Result:
        """The best thresholds, or the unified one if there is no evidence against it."""
        if evidence == 0:
            return best
        cells = self.cells

        def z() -> float:
            return paired_z(cells, parts_again(cells, best), search.unified, search.scale)

        def unified() -> Result:
            parts: Parts = [{search.unified: 1.0}] * len(cells.segments)
            return self.result(search, parts, "unified", "", best.proof.iterations, mixed=best.randomized)

        labelled = int(cells.by_segment(cells.rows[:2].sum(axis=2)).any(axis=0).sum())
        return settled(best, evidence, labelled, z, unified)

    def _without(self, choice: SegmentChoice, proof: Steps | None, end: float) -> Result:
        """The thresholds that come closest to the limits, or the closest found by `end`, as `finish.infeasible`."""
        searches = [search for search, _ in choice.parts]
        if not choice.finished:
            everybody = self.result(
                choice.search, [{0: 1.0}] * len(choice.search.order), "not_converged", "", choice.nodes, bound=0.0
            )
            if everybody.meets_limits:
                return everybody

        def find(slack: float) -> tuple[tuple[SegmentSearch, Ints] | None, bool]:
            found, least, proven = None, math.inf, True
            for search in searches:
                best = room("segments").choose(loosened(search.arrays, slack), NODES, seconds_left(end))
                proven &= bool(best.finished)
                if best.numbers[0] >= 0:
                    cost = int(search.arrays.cost[search.arrays.start[:-1] + best.numbers].sum())
                    if cost < least:
                        found, least = (search, search.candidates(best.numbers)), cost
            return found, proven

        near = nearest(find)
        search, candidates = near.found
        parts = [{t: 1.0} for t in candidates.tolist()]
        if choice.finished:
            verdict, message = "infeasible", self.none(near.slack)
        else:
            verdict = "not_converged"
            message = none_found(near.slack, choice.nodes)
        found = self.result(search, parts, verdict, message, choice.nodes, bound=0.0, steps=proof)
        return found.but(slack=near.slack)

    def mixed(self, evidence: float = 0.0) -> Result:
        """The best mixture for each segment, or one threshold for all where `evidence` asks for it."""
        found = mix_by_segment(Problem.of(self.cells, self.question))
        if found.best is not None:
            search, mix = found.best
            parts, proof = parts_of(search, mix), found.proof()
            best = self.result(search, parts, "optimal", self.least(mixed=True), mix.scans, mixed=True, steps=proof)
            return self._settled(search, best, evidence)

        def find(slack: float) -> tuple[tuple[SegmentSearch, Mix] | None, bool]:
            mixes = [(search, room("segments").mix(loosened(search.nominal(), slack))) for search, _ in found.parts]
            met = [(search, mix) for search, mix in mixes if mix is not None]
            return min(met, key=lambda one: one[1].value, default=None), True

        near = nearest(find)
        search, mix = near.found
        message = f"no mixture of thresholds {self.where()} meets these limits; {near.slack.words('mixtures')}"
        best = self.result(search, parts_of(search, mix), "infeasible", message, mix.scans, mixed=True, bound=0.0)
        return self._settled(search, best.but(slack=near.slack), evidence)

    def where(self) -> str:
        """Where thresholds lie, in messages."""
        return "by segment, at bin edges," if self.cells.by_segments else "at bin edges"

    def none(self, slack: Slack) -> str:
        """The message of a proof that no thresholds meet the limits."""
        return f"no thresholds {self.where()} meet these limits; {slack.words('thresholds')}"

    def least(self, mixed: bool = False) -> str:
        """The message of a proof, for thresholds or for a mixture."""
        lower = self.question.lower + (", rising or falling along the segments" if self.question.monotone else "")
        return f"no {'mixture of' if mixed else 'other'} thresholds {self.where()} {'has' if mixed else 'have'} {lower}"


def too_many(cells: Cells, effective: Floats) -> list[Note]:
    """A note where there are more segments than the smallest label of a group can carry."""
    each, m = effective[[1, 0]], len(cells.segments)  # rows of labels 0 and 1
    label, a = np.unravel_index(int(np.argmin(np.where(each > 0, each, np.inf))), each.shape)
    enough = max(1, int(each[label, a] // EACH))
    if m <= enough:
        return []
    rows = row_count(round(float(each[label, a]))) + " effective" * cells.weighted
    group = cells.groups[int(a)]
    return [Note.warned("overfit", segments=m, group=group, rows=rows, label=int(label), enough=enough)]
