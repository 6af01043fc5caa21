"""Measure the page of `hearth up`, and its rings, on a home with the shipped demonstrations.

    python -m hearth_bench.measure.agent.serving          writes packages/hearth-bench/results/serving.json

A real process serves; requests come over real connections. Malformed requests are made from right ones by a seed.
Reminders ring by a clock of the benchmark's own, which jumps, in processes that end and begin anew. With Chromium and
Playwright the first load is that of a browser.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import gzip
import importlib.util
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import httpx2
import mcp
from mcp.client.streamable_http import streamable_http_client

from hearth.serve.background.background_sync import AFTER_S
from hearth.serve.background.ringing import Ringing
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW, InMemoryWorkspace, make_call
from hearth.tools.pim.reminders import add_reminder
from hearth_bench.measure.result_file import write_result

SEED = 20261123
N_MALFORMED = 10_000
N_LOADS, N_ASKED, N_AT_ONCE, N_ROUND_TRIPS = 20, 5, 20, 30
IDLE_S = 20.0
REST_S = AFTER_S + 70
N_REMINDERS, N_KILLS = 1_000, 50
READ, CHANGE = "what is 15% of 80", "take a note: the boiler was serviced"


_BUDGETS = """async () => {
    const entries = (type) => new Promise((found) => {
        new PerformanceObserver((list) => found(list.getEntries())).observe({ type, buffered: true });
        setTimeout(() => found([]), 500);
    });
    const [paints, shifts] = await Promise.all([entries("largest-contentful-paint"), entries("layout-shift")]);
    const parts = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
    return {
        painted: paints.length ? paints[paints.length - 1].startTime : 0,
        moved: shifts.reduce((sum, one) => sum + (one.hadRecentInput ? 0 : one.value), 0),
        bytes: parts.reduce((sum, one) => sum + one.encodedBodySize, 0),
    };
}"""
"""What Lighthouse's budgets look at: the largest paint, what moved, what was loaded."""


def main() -> None:
    started, cpu = time.perf_counter(), os.times()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        _hearth(home, "init", "--name", "A")
        token = _hearth(home, "clients", "add", "bench").strip()
        with _up(home) as (link, process):
            address = re.match(r"http://[^/]+", link)[0]  # type: ignore[index]
            with httpx.Client(base_url=address, headers={"origin": address}, timeout=60) as browser:
                browser.get(link)
                results: dict[str, object] = {
                    **_page(browser, link),
                    **_questions(browser),
                    **_round_trips(address, token, browser),
                    **_crowd(address, dict(browser.cookies)),
                    **_malformed(address, dict(browser.cookies), token),
                    **_idle(process.pid),
                    **_after_a_question(address, token, process.pid),
                }
    results |= _rings()
    after = os.times()
    cpu_s = sum(after[:4]) - sum(cpu[:4])
    write_result("serving", results, seed=SEED, cpu_s=cpu_s, wall_s=time.perf_counter() - started)


def _hearth(home: Path, *arguments: str) -> str:
    command = [str(Path(sys.executable).parent / "hearth"), "--home", str(home), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@contextmanager
def _up(home: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [str(Path(sys.executable).parent / "hearth"), "--home", str(home), "up", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().split(": ", 1)[1].strip(), process
        process.send_signal(signal.SIGINT)


def _page(browser: httpx.Client, link: str) -> dict[str, object]:
    parts = ("/", "/static/page.css", "/static/page.js", "/static/icon.svg")
    times = []
    for _ in range(N_LOADS):
        before = time.perf_counter()
        bodies = [browser.get(part).content for part in parts]
        times.append(time.perf_counter() - before)
    found: dict[str, object] = {
        "page_gzip_kb": round(sum(len(gzip.compress(body)) for body in bodies) / 1000, 1),
        "page_p50_ms": round(1000 * statistics.median(times), 1),
    }
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        return {**found, "first_load_ms": None}
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        loads, painted, moved, n_bytes = [], [], [], []
        for _ in range(5):
            page = opened.new_context().new_page()
            before = time.perf_counter()
            page.goto(link, wait_until="load")
            loads.append(1000 * (time.perf_counter() - before))
            seen = page.evaluate(_BUDGETS)
            painted.append(seen["painted"])
            moved.append(seen["moved"])
            n_bytes.append(seen["bytes"])
        opened.close()
    return {
        **found,
        "first_load_ms": round(statistics.median(loads), 1),
        "largest_paint_ms": round(statistics.median(painted), 1),
        "layout_shift": round(max(moved), 4),
        "loaded_kb": round(max(n_bytes) / 1000, 1),
    }


def _questions(browser: httpx.Client) -> dict[str, object]:
    """Milliseconds from the plan to the question on the page: from the request on, less what planning took."""
    waits = []
    for _ in range(N_ASKED):
        with browser.stream("GET", "/events?last=") as stream:
            lines = stream.iter_lines()
            next(lines)
            before = time.perf_counter()
            browser.post("/ask", json={"text": CHANGE})
            id = next(found[1] for line in lines if (found := re.search(r'data-asked=\\"(\w+)', line)))
            whole_ms = 1000 * (time.perf_counter() - before)
        browser.post("/answer", json={"id": id, "reply": "no"})
        time.sleep(0.5)
        newest = re.findall(r'href="(/history/[\w-]+)"', browser.get("/history").text)[0]
        planning = re.search(r"of which planning ([\d.]+) (ms|s)", browser.get(newest).text)
        assert planning is not None
        waits.append(whole_ms - float(planning[1]) * (1000 if planning[2] == "s" else 1))
    return {"question_after_plan_p50_ms": round(statistics.median(waits), 1)}


def _round_trips(address: str, token: str, browser: httpx.Client) -> dict[str, object]:
    """Milliseconds of a completion, and of MCP's `do`, beyond what the agent's own record says."""
    body = {"model": "hearth", "messages": [{"role": "user", "content": READ}]}
    extra = []
    with httpx.Client(base_url=address, headers={"authorization": f"Bearer {token}"}, timeout=60) as program:
        for _ in range(N_ROUND_TRIPS):
            before = time.perf_counter()
            answer = program.post("/v1/chat/completions", json=body).json()
            whole_ms = 1000 * (time.perf_counter() - before)
            extra.append(whole_ms - _own_ms(browser, answer["id"].removeprefix("chatcmpl-")))
    extra_mcp, bare_mcp = asyncio.run(_mcp_round_trips(address, token, browser))
    return {
        "openai_above_agent_p50_ms": round(statistics.median(extra), 1),
        "mcp_above_agent_p50_ms": round(statistics.median(extra_mcp), 1),
        "mcp_above_agent_least_ms": round(min(extra_mcp), 1),
        "mcp_status_p50_ms": round(statistics.median(bare_mcp), 1),
    }


async def _mcp_round_trips(address: str, token: str, browser: httpx.Client) -> tuple[list[float], list[float]]:
    """The same of MCP's `do`, and the milliseconds of `status`, for which the agent does nothing at all."""
    extra, bare = [], []
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=60) as http,
        mcp.Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client,
    ):
        for _ in range(N_ROUND_TRIPS):
            before = time.perf_counter()
            answer = await client.call_tool("do", {"request": READ})
            whole_ms = 1000 * (time.perf_counter() - before)
            assert answer.structured_content is not None
            extra.append(whole_ms - _own_ms(browser, answer.structured_content["episode"]))
            before = time.perf_counter()
            await client.call_tool("status", {})
            bare.append(1000 * (time.perf_counter() - before))
    return extra, bare


def _own_ms(browser: httpx.Client, id: str) -> float:
    """Milliseconds that the agent's own record says of an episode."""
    shown = re.search(r"([\d.]+) (ms|s), of which planning", browser.get(f"/history/{id}").text)
    assert shown is not None
    return float(shown[1]) * (1000 if shown[2] == "s" else 1)


def _crowd(address: str, cookies: dict[str, str]) -> dict[str, object]:
    """Latency of a page for one person, and for twenty, each with their events open, who turn a page every second."""

    def visit(start_s: float) -> list[float]:
        time.sleep(start_s)
        client = httpx.Client(base_url=address, cookies=cookies, timeout=60)
        times = []
        with client as one, one.stream("GET", "/events?last="):
            for _ in range(6):
                before = time.perf_counter()
                one.get("/memory")
                times.append(time.perf_counter() - before)
                time.sleep(1)
        return times[1:]

    alone = statistics.median(visit(0))
    with ThreadPoolExecutor(N_AT_ONCE) as pool:
        found = [t for times in pool.map(visit, [k / N_AT_ONCE for k in range(N_AT_ONCE)]) for t in times]
    return {
        "page_alone_p50_ms": round(1000 * alone, 1),
        "page_of_20_people_p50_ms": round(1000 * statistics.median(found), 1),
        "page_of_20_people_p95_ms": round(1000 * sorted(found)[int(0.95 * len(found))], 1),
    }


def _malformed(address: str, cookies: dict[str, str], token: str) -> dict[str, object]:
    """Answers to requests that are nearly right: none may be a fault of the server's."""
    drawn = random.Random(SEED)
    right = [
        ("/ask", {"text": "what is 2 + 3"}),
        ("/answer", {"id": "a" * 16, "reply": "yes"}),
        ("/undo", {"id": "20261123-000000-0000"}),
        ("/correct", {"id": "20261123-000000-0000", "say": "remind me"}),
        ("/ring", {"number": "1", "minutes": "10"}),
        ("/forget-fact", {"id": "1"}),
        ("/correct/form", {"id": "20261123-000000-0000", "tool-0": "add_note", "arg-0-title": "x", "after-0": "1"}),
        ("/correct/plan", {"id": "20261123-000000-0000", "tool-0": "add_note", "arg-0-title": "x"}),
        ("/change", {"id": "a" * 16, "tool-0": "current_time"}),
        ("/memory/amend", {"id": "1", "value": "Ghent"}),
        ("/memory/end", {"id": "1", "on": "2026-11-19"}),
        ("/forget/look", {"kind": "words", "what": "boiler"}),
        ("/forget", {"kind": "words", "what": "boiler", "digest": "0" * 32}),
        ("/learning/rollback", {"id": "9"}),
        ("/drop", {"turn": "1"}),
        ("/switch", {"tool": "turn_on", "device": "lamp"}),
        ("/detach", {"path": "documents/attached/x.txt"}),
        ("/skills/accept", {"number": "1", "name": "evening"}),
        ("/phones/revoke", {"number": "1"}),
        ("/phones/subscribe", {"endpoint": "https://push.example/x", "key": "BA", "secret": "AA"}),
        ("/v1/chat/completions", {"model": "hearth", "messages": [{"role": "user", "content": READ}]}),
    ]
    statuses: dict[str, int] = {}
    slowest = 0.0
    with httpx.Client(base_url=address, cookies=cookies, timeout=60) as client:
        for _ in range(N_MALFORMED):
            path, fields = drawn.choice(right)
            headers = {"origin": address} if not path.startswith("/v1") else {"authorization": f"Bearer {token}"}
            body = bytearray(json.dumps(fields).encode())
            for _ in range(drawn.randint(1, 6)):
                place = drawn.randrange(len(body))
                body[place : place + drawn.randint(0, 2)] = drawn.randbytes(drawn.randint(0, 3))
                body = body or bytearray(b"{")
            before = time.perf_counter()
            answer = client.post(path, content=bytes(body), headers=headers)
            slowest = max(slowest, time.perf_counter() - before)
            if answer.status_code == 202 and (asked := re.search(r'data-asked="(\w+)', client.get("/").text)):
                client.post("/answer", json={"id": asked[1], "reply": "no"}, headers=headers)  # it was right after all
            kind = f"{answer.status_code // 100}xx"
            statuses[kind] = statuses.get(kind, 0) + 1
    return {"malformed": statuses, "malformed_slowest_ms": round(1000 * slowest, 1)}


def _idle(pid: int) -> dict[str, object]:
    """Memory and processor of the process while nobody asks anything."""

    def used_s() -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    time.sleep(2)
    before = used_s()
    time.sleep(IDLE_S)
    percent = 100 * (used_s() - before) / IDLE_S
    return {"idle_cpu_percent": round(percent, 2), "resident_mb": _resident_mb(pid)}


def _after_a_question(address: str, token: str, pid: int) -> dict[str, object]:
    """Memory once a question was put to the owner's things and a program's function was called, and when it is quiet
    again."""
    function = {"name": "get_weather", "parameters": {"properties": {"city": {"type": "string"}}, "required": ["city"]}}
    own = {"model": "hearth", "messages": [{"role": "user", "content": "when does my passport run out"}]}
    called = {
        "model": "hearth",
        "messages": [{"role": "user", "content": "what's the weather in Paris"}],
        "tools": [{"type": "function", "function": function}],
    }
    with httpx.Client(base_url=address, headers={"authorization": f"Bearer {token}"}, timeout=60) as program:
        for body in (own, called):
            program.post("/v1/chat/completions", json=body).raise_for_status()
        asked_mb = _resident_mb(pid)
    print(f"waiting {REST_S:.0f} s for the home to rest", file=sys.stderr)
    time.sleep(REST_S)
    return {"resident_after_question_mb": asked_mb, "resident_rested_mb": _resident_mb(pid)}


def _resident_mb(pid: int) -> float:
    resident = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert resident is not None
    return round(int(resident[1]) / 1024, 1)


def _rings() -> dict[str, object]:
    """A thousand reminders due within a minute, over kills and jumps of the clock: how often each rang, how late."""
    drawn = random.Random(SEED)
    workspace = InMemoryWorkspace()
    due: dict[str, dt.datetime] = {}
    for k in range(N_REMINDERS):
        at = FIXED_NOW + dt.timedelta(seconds=60 + drawn.randrange(60))
        due[f"r{k}"] = at
        add_reminder.function(make_call(f"k{k}", workspace=workspace), f"r{k}", at)
    rang: dict[str, list[dt.datetime]] = {}
    kills = set(drawn.sample(range(1, 120), N_KILLS))
    ticks_ms = []
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "hearth.db") as store:

        def begun() -> Ringing:
            return Ringing(store, make_call(workspace=workspace), lambda: 0)

        ringing = begun()
        ringing.tick(FIXED_NOW)
        for second in range(1, 181):
            if second in kills:
                ringing = begun()
            now = FIXED_NOW + dt.timedelta(seconds=second)
            if second % 17 == 0:  # the clock is set back an hour, and right again
                ringing.tick(now - dt.timedelta(hours=1))
            before = time.perf_counter()
            rung = ringing.tick(now)
            ticks_ms.append(1000 * (time.perf_counter() - before))
            for ring in rung:
                rang.setdefault(ring.text, []).append(now)
    late = [(times[0] - due[text]).total_seconds() for text, times in rang.items()]
    return {
        "reminders": N_REMINDERS,
        "reminder_kills": N_KILLS,
        "rang_once": sum(len(times) == 1 for times in rang.values()),
        "rang_early": sum(seconds < 0 for seconds in late),
        "rang_latest_s": max(late),
        "tick_slowest_ms": round(max(ticks_ms), 1),
    }


if __name__ == "__main__":
    main()
