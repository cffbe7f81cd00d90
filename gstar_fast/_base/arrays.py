"""Arrays by what they hold, as annotations name them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:  # slow to import, and annotations are not evaluated
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

Bools: TypeAlias = "NDArray[np.bool_]"
Flags: TypeAlias = "NDArray[np.uint8]"  # 0 and 1, or labels
Floats: TypeAlias = "NDArray[np.float64]"
Hashes: TypeAlias = "NDArray[np.uint64]"
Ints: TypeAlias = "NDArray[np.int64]"
Objects: TypeAlias = "NDArray[np.object_]"  # Python values
DType: TypeAlias = "np.dtype[Any]"
Values: TypeAlias = "NDArray[Any]"  # of one type, whichever it is: what callers gave, or counts that may be weights
