"""The service of examples/service counts, decides, and takes over replaced thresholds; no server is needed for it."""

import asyncio
import importlib.util
import json
from pathlib import Path

import pytest

import gstar_fast as gf

APP = Path(__file__).parent.parent / "examples" / "service" / "app.py"
pytestmark = pytest.mark.skipif(not APP.is_file(), reason="the examples are not here")


@pytest.fixture
def service(tmp_path, monkeypatch):
    path = tmp_path / "thresholds.json"
    gf.Decider({"F": 0.25, "M": 0.75}).save(path)
    monkeypatch.setenv("THRESHOLDS", str(path))
    spec = importlib.util.spec_from_file_location("service_app", APP)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, path


async def get(module, path, query=b""):
    sent = []

    async def send(message):
        sent.append(message)

    await module.app({"type": "http", "path": path, "query_string": query}, None, send)
    return sent[0]["status"], sent[1]["body"]


def test_requests_are_decided_and_counted(service):
    module, _ = service
    status, body = asyncio.run(get(module, "/decide", b"score=0.5&group=F"))
    assert (status, json.loads(body)) == (200, {"accepted": True, "version": 1})
    assert json.loads(asyncio.run(get(module, "/decide", b"score=0.5&group=M"))[1])["accepted"] is False
    for query in (b"score=0.5&group=X", b"score=nan&group=F", b"score=&group=F", b""):
        assert asyncio.run(get(module, "/decide", query))[0] == 400
    counted = gf.Sketch.from_bytes(asyncio.run(get(module, "/sketch"))[1])
    assert counted.n_rows == 2
    assert asyncio.run(get(module, "/empty", b"score=0.5&group=F"))[0] == 200
    assert asyncio.run(get(module, "/nowhere"))[0] == 404


def test_replaced_thresholds_are_taken_over_and_damaged_ones_are_not(service):
    module, path = service

    async def replaced(text, version):
        watching = asyncio.create_task(module.watch())
        await asyncio.sleep(0)
        path.write_text(text)
        for _ in range(60):
            await asyncio.sleep(0.05)
            if module.live.version == version:
                break
        watching.cancel()
        return module.live.version

    good = gf.Decider({"F": 0.75, "M": 0.75}).to_json()
    assert asyncio.run(replaced(good, 2)) == 2
    assert json.loads(asyncio.run(get(module, "/decide", b"score=0.5&group=F"))[1]) == {"accepted": False, "version": 2}

    async def damaged():
        watching = asyncio.create_task(module.watch())
        await asyncio.sleep(0)
        path.write_text(good.replace("0.75", "0.5"))
        await asyncio.sleep(0.3)
        watching.cancel()

    asyncio.run(damaged())
    assert module.live.version == 2
