"""Types of the answers that users hold but do not make: for annotations and `isinstance`."""

from gstar_fast._audit.audit import Audit, Estimate
from gstar_fast._audit.certify import Certificate
from gstar_fast._audit.new_rows import NewRows
from gstar_fast._density.density import Density
from gstar_fast._density.quality import CellQuality, FitQuality
from gstar_fast._question.question import Question
from gstar_fast._report.report import Report
from gstar_fast._sketch.cell import Moments
from gstar_fast._sketch.columns import Columns, Mixed
from gstar_fast._solver.answer.parts import Evidence, GroupRates, Note, Promise, RowsNeeded
from gstar_fast._solver.answer.points import Frontier
from gstar_fast._verbs.bounds import Bound, Bounds

__all__ = [
    "Audit",
    "Bound",
    "Bounds",
    "CellQuality",
    "Certificate",
    "Columns",
    "Density",
    "Estimate",
    "Evidence",
    "FitQuality",
    "Frontier",
    "GroupRates",
    "Mixed",
    "Moments",
    "NewRows",
    "Note",
    "Promise",
    "Question",
    "Report",
    "RowsNeeded",
]
