"""Types of the answers that users hold but never make: for annotations and `isinstance`."""

from gstar_fast._audit.audit import Estimate
from gstar_fast._audit.new_rows import NewRows
from gstar_fast._density.quality import CellQuality, FitQuality
from gstar_fast._question.question import Question
from gstar_fast._sketch.columns import Columns, Mixed
from gstar_fast._solver.answer.note import Note
from gstar_fast._solver.bounds import Bound
from gstar_fast._solver.evidence.record import Evidence
from gstar_fast._solver.result import GroupRates

__all__ = [
    "Bound",
    "CellQuality",
    "Columns",
    "Estimate",
    "Evidence",
    "FitQuality",
    "GroupRates",
    "Mixed",
    "NewRows",
    "Note",
    "Question",
]
