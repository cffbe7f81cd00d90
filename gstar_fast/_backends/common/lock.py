"""The lock of the Python backends."""

from __future__ import annotations

import os
import threading

# One lock for all sketches of the Python backends: it is held for short commits only, no two are ever needed at once,
# and taking it before a fork hands the child sketches that nobody is in the middle of changing.
LOCK = threading.Lock()
if hasattr(os, "register_at_fork"):  # Windows has no forks
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)
