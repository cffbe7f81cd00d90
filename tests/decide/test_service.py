"""The service of examples/service counts, decides, and takes over replaced thresholds; no server is needed for it."""

import asyncio
import importlib.util
import json
from pathlib import Path

import pytest

import gstar_fast as gf

APP = Path(__file__).parent.parent.parent / "examples" / "service" / "app.py"
pytestmark = pytest.mark.skipif(not APP.is_file(), reason="the examples are not here")


def module_of(path):
    spec = importlib.util.spec_from_file_location(f"service_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Starts the service with a decider."""

    def start(decider):
        path = tmp_path / "thresholds.json"
        decider.save(path)
        monkeypatch.setenv("THRESHOLDS", str(path))
        return module_of(APP), path

    return start


@pytest.fixture
def service(started):
    return started(gf.Decider({"F": 0.25, "M": 0.75}))


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
        for _ in range(600):
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


@pytest.mark.parametrize("unified", [False, True])
def test_groups_that_are_made_up_take_no_memory(started, unified):
    decider = gf.Decider({"F": 0.25, "M": 0.25} if unified else {"F": 0.25, "M": 0.75}, unknown=0.5, unified=unified)
    module, _ = started(decider)
    assert module.decide(b"score=0.5&group=F")[0] == module.decide(b"score=0.5&group=one")[0] == 200
    before = module.sketch.nbytes
    for i in range(5_000):
        assert module.decide(b"score=0.5&group=made-up-%d" % i)[0] == 200
    assert module.sketch.nbytes == before
    assert set(module.sketch.groups) == {"F", module.OTHERS}
    assert json.loads(asyncio.run(get(module, "/counts"))[1]) == {"rows": 5_002, "uncounted": 0}


def test_what_the_policies_decide_is_answered(started):
    module, _ = started(gf.Decider({"F": 0.25}, unknown=2e305, nan=True))
    for query, accepted in (
        (b"score=nan&group=F", True),
        (b"score=1e305&group=F", True),
        (b"score=-1e305&group=F", False),
        (b"score=1e305&group=X", False),
        (b"score=inf&group=F", True),
    ):
        status, body = asyncio.run(get(module, "/decide", query))
        assert (status, json.loads(body)["accepted"]) == (200, accepted)
    assert json.loads(asyncio.run(get(module, "/counts"))[1]) == {"rows": 1, "uncounted": 4}


def test_running_out_of_memory_is_answered_without_a_traceback(service, monkeypatch):
    module, _ = service

    class Full:
        n_rows = 0

        def update_one(self, *_):
            raise MemoryError

        to_bytes = update_one

    monkeypatch.setattr(module, "sketch", Full())
    status, body = asyncio.run(get(module, "/decide", b"score=0.5&group=F"))
    assert (status, json.loads(body)["accepted"]) == (200, True)
    assert json.loads(asyncio.run(get(module, "/counts"))[1])["uncounted"] == 1
    assert asyncio.run(get(module, "/sketch")) == (503, b"")


def test_groups_of_replaced_thresholds_are_counted_by_their_names(service):
    module, path = service

    async def replaced():
        watching = asyncio.create_task(module.watch())
        await asyncio.sleep(0)
        path.write_text(gf.Decider({"F": 0.25, "X": 0.25}).to_json())
        for _ in range(600):
            await asyncio.sleep(0.05)
            if module.live.version == 2:
                break
        watching.cancel()

    asyncio.run(replaced())
    assert module.decide(b"score=0.5&group=X")[0] == 200
    assert module.sketch.groups == ("X",)


def test_the_load_is_told_with_its_spread():
    """Every figure is over all rounds: a median alone, or the best round, would say nothing of the noise."""
    load = module_of(APP.with_name("load.py"))
    costs = [3.0, 1.0, 2.0, 9.0, 4.0]
    runs = {
        "empty": [{"p50": 1e-4, "p99": 2e-4, "rate": 1e4} for _ in costs],
        "decide": [{"p50": 1e-4 * cost, "p99": 2e-4, "rate": 1e6 / (1e2 + cost)} for cost in costs],
    }
    text = load.report(runs, 1234)
    assert "median of 5 rounds" in text
    assert "our work: 3.00 (1.40 to 7.00, least 1.00) us a request; 1,234 rows counted" in text
    assert "decide  p50 300 (140 to 700, least 100) us; p99 200 (200 to 200, least 200) us; 9709 (" in text
    assert load.spread([7.0], ".0f") == "7 (7 to 7, least 7)"
