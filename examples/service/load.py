"""What deciding and counting cost a service: wrk on loopback, our handler and an empty one in turn.

    python load.py [--seconds 3] [--rounds 5] [--connections 8]

Needs uvicorn and wrk. Thresholds are swapped twenty times a second meanwhile. Everything is on this machine and over
after rounds * 2 * seconds.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import gstar_fast as gf

HOST = "127.0.0.1"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        if server.poll() is not None:
            raise SystemExit("the service did not start; is uvicorn installed?")
        try:
            urllib.request.urlopen(url, timeout=1).read()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit("the service did not answer")


def seconds(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()  # type: ignore[union-attr]
    return float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1.0}[unit]


def wrk(url: str, duration: int, connections: int) -> dict[str, float]:
    command = ["wrk", "-t1", f"-c{connections}", f"-d{duration}s", "--latency", url]
    text = subprocess.run(command, check=True, capture_output=True, text=True, timeout=duration + 30).stdout
    if "Non-2xx" in text or "Socket errors" in text:
        raise SystemExit(f"requests failed:\n{text}")
    found = dict(re.findall(r"^\s+(50|99)%\s+(\S+)", text, re.MULTILINE))
    rate = re.search(r"Requests/sec:\s+([\d.]+)", text)
    assert rate is not None
    return {"p50": seconds(found["50"]), "p99": seconds(found["99"]), "rate": float(rate[1])}


Runs = list[dict[str, float]]


def spread(values: list[float], form: str) -> str:
    """Median of the rounds, with the range that eight of ten lie in, and the least."""
    tenths = statistics.quantiles(values, n=10, method="inclusive") if len(values) > 1 else values * 9
    return f"{statistics.median(values):{form}} ({tenths[0]:{form}} to {tenths[8]:{form}}, least {min(values):{form}})"


def report(found: dict[str, Runs], rows: int) -> str:
    """What was measured: every figure over all rounds."""
    rounds = len(found["empty"])
    lines = [f"median of {rounds} rounds (10 % to 90 % of them, least):"]
    for name, runs in found.items():
        p50, p99 = (spread([1e6 * run[key] for run in runs], ".0f") for key in ("p50", "p99"))
        lines.append(
            f"  {name:7} p50 {p50} us; p99 {p99} us; {spread([run['rate'] for run in runs], '.0f')} requests/s"
        )
    cost = [1e6 / d["rate"] - 1e6 / e["rate"] for d, e in zip(found["decide"], found["empty"], strict=True)]
    lines.append(f"our work: {spread(cost, '.2f')} us a request; {rows:,} rows counted")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=3, choices=range(1, 31))
    parser.add_argument("--rounds", type=int, default=5, choices=range(1, 11))
    parser.add_argument("--connections", type=int, default=8, choices=range(1, 257))
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        raise SystemExit("wrk is not installed; try: apt install wrk")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "thresholds.json")
        gf.Decider({"F": 0.25, "M": 0.5}).save(path)
        port = free_port()
        command = [sys.executable, "-m", "uvicorn", "app:app", "--host", HOST, "--port", str(port), "--no-access-log"]
        environment = {**os.environ, "THRESHOLDS": str(path)}
        here = Path(__file__).parent
        server = subprocess.Popen([*command, "--log-level", "warning"], cwd=here, env=environment)
        done = threading.Event()

        def replace() -> None:
            turn = 0
            while not done.wait(0.05):
                turn += 1
                gf.Decider({"F": 0.25, "M": 0.5 + turn % 2 / 4}).save(path)

        swaps = threading.Thread(target=replace)
        try:
            base = f"http://{HOST}:{port}"
            wait_for(f"{base}/empty?score=0&group=F", server)
            swaps.start()
            found: dict[str, Runs] = {"empty": [], "decide": []}
            for _ in range(options.rounds):
                for name, runs in found.items():
                    runs.append(wrk(f"{base}/{name}?score=0.31&group=M", options.seconds, options.connections))
            counted = gf.Sketch.from_bytes(urllib.request.urlopen(f"{base}/sketch", timeout=10).read())
        finally:
            done.set()
            if swaps.is_alive():
                swaps.join()
            server.terminate()
            server.wait(10)
    print(report(found, counted.n_rows))


if __name__ == "__main__":
    main()
