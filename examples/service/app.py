"""A service that counts and decides on every request, and takes over new thresholds while it runs.

    THRESHOLDS=thresholds.json uvicorn app:app

    GET /decide?score=0.31&group=F     {"accepted": true, "version": 1}
    GET /empty?score=0.31&group=F      the same request and answer without our work, to measure against
    GET /sketch                        the bytes counted so far, for gf.Sketch.from_bytes to merge
    GET /counts                        {"rows": 12, "uncounted": 0}

What the policies of the thresholds decide is answered, also where it cannot be counted. Anybody may make up a group,
and each group of a sketch takes memory: those without a threshold are counted under one name.

A plain ASGI application: no framework, so that what is measured is uvicorn and us.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import gstar_fast as gf

PATH = Path(os.environ.get("THRESHOLDS", "thresholds.json"))

OTHERS = "(others)"  # groups without a threshold, where `unknown=` decides them

sketch = gf.Sketch()
uncounted = 0
live = gf.LiveDecider(gf.Decider.load(PATH))
known = frozenset(live.decider.groups)
watcher: asyncio.Task[None] | None = None


async def watch() -> None:
    """Take over the file whenever it is replaced; one that is damaged or stale leaves things as they are."""
    global known
    seen = PATH.stat().st_mtime_ns
    while True:
        await asyncio.sleep(0.05)
        with contextlib.suppress(OSError, ValueError):
            now = PATH.stat().st_mtime_ns
            if now != seen:
                seen = now
                live.swap(gf.Decider.load(PATH))
                known = frozenset(live.decider.groups)


def decide(query: bytes) -> tuple[int, bytes]:
    fields = parse_qs(query.decode("latin-1"))
    try:
        score, group = float(fields["score"][0]), fields["group"][0]
        accepted, version = live.one_with_version(score, group)
    except (KeyError, ValueError) as error:
        return 400, f'{{"error": "{type(error).__name__}"}}'.encode()
    count(score, group)
    return 200, b'{"accepted": %s, "version": %d}' % (b"true" if accepted else b"false", version)


def count(score: float, group: str) -> None:
    """Count a decided row; a sketch takes neither NaN nor finite scores beyond 2**1000, which thresholds can decide."""
    global uncounted
    try:
        sketch.update_one(score, None, group if group in known else OTHERS)
    except (ValueError, MemoryError):
        uncounted += 1


def empty(query: bytes) -> tuple[int, bytes]:
    fields = parse_qs(query.decode("latin-1"))
    try:
        float(fields["score"][0]), fields["group"][0]
    except (KeyError, ValueError) as error:
        return 400, f'{{"error": "{type(error).__name__}"}}'.encode()
    return 200, b'{"accepted": %s, "version": %d}' % (b"true", 1)


HANDLERS: dict[str, Callable[[bytes], tuple[int, bytes]]] = {
    "/decide": decide,
    "/empty": empty,
    "/sketch": lambda query: (200, sketch.to_bytes()),  # noqa: ARG005
    "/counts": lambda query: (200, b'{"rows": %d, "uncounted": %d}' % (sketch.n_rows, uncounted)),  # noqa: ARG005
}


async def app(
    scope: dict[str, Any],
    receive: Callable[[], Awaitable[dict[str, Any]]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    """Answer one connection's request, or follow the server's life."""
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
        return
    handler = HANDLERS.get(scope["path"])
    try:
        status, body = (404, b"") if handler is None else handler(scope["query_string"])
    except MemoryError:
        status, body = 503, b""
    length = str(len(body)).encode()
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", length)]})
    await send({"type": "http.response.body", "body": body})


async def lifespan(
    receive: Callable[[], Awaitable[dict[str, Any]]], send: Callable[[dict[str, Any]], Awaitable[None]]
) -> None:
    global watcher
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            watcher = asyncio.create_task(watch())
            await send({"type": "lifespan.startup.complete"})
        else:
            if watcher is not None:
                watcher.cancel()
            await send({"type": "lifespan.shutdown.complete"})
            return
