"""The state of a fitted classifier in a pickle or a skops file."""

from __future__ import annotations

from typing import Any

from gstar_fast._estimator.decide_by import ByColumns, ByProbability, Roles
from gstar_fast._estimator.groups import Named, Source


class Saved:
    """Saves a fitted classifier as plain values and public classes, the only types that skops must trust."""

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        if "_source" not in state:  # not fitted
            return state
        source, roles = state["_source"], state["_roles"]
        return {
            **state,
            "_source": {**vars(source), "named": [dict(vars(one)) for one in source.named]},
            "_roles": {**vars(roles), "by": None if roles.by is None else dict(vars(roles.by))},
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "_source" in state:
            source, roles, by = state["_source"], state["_roles"], state["_roles"]["by"]
            kind = ByColumns if by is None or "place" not in by else ByProbability
            state = {
                **state,
                "_source": Source(**{**source, "named": tuple(Named(**one) for one in source["named"])}),
                "_roles": Roles(**{**roles, "by": None if by is None else kind(**by)}),
            }
        super().__setstate__(state)  # type: ignore[misc]
