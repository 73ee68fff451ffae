"""The server for assistants: every tool and limit, by a client over stdio."""

import importlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import roofslate as rs
from roofslate._base.messages import pip_install
from roofslate.cli import worker
from roofslate.cli.tool_arguments import OUTPUT, TOOLS, check_arguments
from support.processes import INTERRUPTIBLE

anyio = pytest.importorskip("anyio", reason="the server needs mcp: pip install 'roofslate[serve]'")
if importlib.util.find_spec("mcp") is None:
    pytest.skip("the server needs mcp: pip install 'roofslate[serve]'", allow_module_level=True)

GIVEN = {"model": "Llama-3.1-70B", "weight_format": "fp8", "input_tokens": "8k", "output_tokens": "1k"}
SERVED = {**GIVEN, "hardware": "HGX H100", "concurrency": 64}
CELL = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "context_length": "8k"}
DRAIN = {"outputs": ["hbm_drain_time"], "inputs": {"hardware": "H100"}}
SLOW = {  # a quarter of a minute and more
    "unknown": "replicas",
    "condition": "time_to_first_token_p99 <= 2 s",
    "inputs": {
        "model": "DeepSeek-V3",
        "hardware": "GB200 NVL72",
        "calibration": "serving",
        "input_tokens": "1k",
        "output_tokens": "1k",
        "arrival_rate": "1:6400:900000:log",
    },
}


def program(*words):
    return [sys.executable, "-m", "roofslate", "serve", "--stdio", *words]


@asynccontextmanager
async def served(*words, **more):
    """A client of a server in its process."""
    command, *remaining = program(*words)
    folder = str(Path(rs.__file__).parents[1])
    environment = {"PYTHONPATH": os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])]), **more}
    mcp, stdio = importlib.import_module("mcp"), importlib.import_module("mcp.client.stdio")  # a second
    parameters = stdio.StdioServerParameters(command=command, args=remaining, env=environment)
    with Path(os.devnull).open("w", encoding="utf-8") as errors:
        async with mcp.Client(stdio.stdio_client(parameters, errlog=errors)) as client:
            yield client


def ask_of(portal, client):
    """A function that calls a tool."""

    def ask(tool, **arguments):
        result = portal.call(client.call_tool, tool, arguments)
        (content,) = result.content
        if result.is_error:
            assert result.structured_content is None
            return content.text
        assert json.loads(content.text) == result.structured_content
        return result.structured_content

    return ask


@pytest.fixture(scope="module", name="ask")
def asked():
    """Ask one server: ``ask(tool, arguments)`` gives the result or the error."""
    with anyio.from_thread.start_blocking_portal() as portal, portal.wrap_async_context_manager(served()) as client:
        ask: Any = ask_of(portal, client)
        ask.client, ask.portal = client, portal
        yield ask


# --------------------------------------------------------------------------------------------------------- tools


def test_tools_are_listed_with_their_schemas(ask):
    listed = ask.portal.call(ask.client.list_tools).tools
    assert [tool.name for tool in listed] == list(TOOLS)
    for tool in listed:
        assert tool.output_schema == OUTPUT
        assert tool.input_schema == TOOLS[tool.name].schema
        assert set(tool.input_schema["required"]) <= set(tool.input_schema["properties"])
        assert all(argument["description"] for argument in tool.input_schema["properties"].values())
    info = ask.client.server_info
    assert (info.name, info.version) == ("roofslate", rs.__version__)


def test_evaluate(ask):
    inputs = {**SERVED, "concurrency": [1, 64], "calibration": "serving"}
    result = ask("evaluate", outputs=["time_per_output_token", "bottleneck"], inputs=inputs)
    again = rs.evaluate(["time_per_output_token", "bottleneck"], bands=0.8, **inputs)
    for name in ("time_per_output_token", "time_per_output_token_lower", "time_per_output_token_upper"):
        assert [row[name] for row in result["rows"]] == again[name].to_numpy().tolist()
    words = again["bottleneck"].attrs["flag_meanings"].split()
    assert [row["bottleneck"] for row in result["rows"]] == [words[k] for k in again["bottleneck"].to_numpy()]
    assert result["columns"]["time_per_output_token"] == {
        "unit": rs.quantity("time_per_output_token").unit,
        "meaning": rs.quantity("time_per_output_token").brief,
        "basis": "estimate",
        "calibration": again["time_per_output_token"].attrs["calibration"],
        "support": "extrapolated: model=Llama-3.1-70B",
    }
    assert result["axes"] == ["concurrency"]
    facts = rs.hardware["HGX H100"].facts.values()
    assert result["sources"]["hardware=HGX H100"][0] in {fact.origin for fact in facts}
    assert any(note.startswith("layout: ") for note in result["notes"])


def test_evaluate_a_floor_over_a_range_in_units(ask):
    inputs = {**CELL, "batch_size": "1:4096:5:log"}
    result = ask("evaluate", outputs=["pass_time"], inputs=inputs, units={"pass_time": "ms"})
    again = rs.evaluate("pass_time", units={"pass_time": "ms"}, **{**CELL, "batch_size": rs.geomspace(1, 4096, 5)})
    assert [row["pass_time"] for row in result["rows"]] == again.to_numpy().tolist()
    assert result["columns"]["pass_time"]["basis"] == "floor"
    assert result["units"]["pass_time"] == "ms"
    assert "pass_time_lower" not in result["columns"]


def test_deploy(ask):
    inputs = {**GIVEN, "hardware": ["H100", "H200"], "chip_price": "2 USD/h", "chips": [4, 8]}
    wishes = {"objective": "cost_per_output_token", "where": ["tpot <= 60 ms"], "also": ["pass_time"]}
    result = ask("deploy", inputs=inputs, rows=3, **wishes)
    plan = rs.deploy(inputs, **wishes)
    rows = result["rows"]
    assert [row["cost_per_output_token"] for row in rows] == plan.table["cost_per_output_token"].head(3).tolist()
    assert all(row["time_per_output_token_lower"] < row["time_per_output_token"] for row in rows)
    assert {row["support"] for row in rows} == {"extrapolated: model=Llama-3.1-70B"}
    nothing = ask("deploy", inputs=inputs, objective="cost_per_output_token", where=["tpot <= 1 us"])
    assert any("no deployment meets" in note for note in nothing["notes"])


def test_explain(ask):
    inputs = {**CELL, "batch_size": 256}
    result = ask("explain", output="pass_time", inputs=inputs, depth=1)
    assert result["derivation"] == rs.explain("pass_time", depth=1, **inputs).markdown
    assert result["rows"] == [{"pass_time": rs.value("pass_time", **inputs)}]
    assert "deepseek-ai/DeepSeek-V3, config.json" in result["sources"]["model=DeepSeek-V3"][0]


def test_solve(ask):
    wishes = {"unknown": "batch_size", "condition": "pass_time <= 20 ms"}
    result = ask("solve", inputs=CELL, at="largest", integer=True, **wishes)
    again = rs.solve("batch_size", "pass_time <= 20 ms", at="largest", integer=True, **CELL)
    assert result["rows"] == [{"batch_size": again.item()}]
    never = ask("solve", inputs=CELL, unknown="batch_size", condition="pass_time <= 1 ns")
    assert never["rows"] == [{"batch_size": None, "reason": "never"}]
    assert "there is no solution; the column reason says why" in never["notes"]


def test_search(ask):
    result = ask("search", text="tpot")
    assert result["rows"][0]["name"] == "time_per_output_token"
    rows = ask("search", text="h100", kind="hardware", limit=2)
    assert [row["name"] for row in rows["rows"]] == ["H100", "H100 PCIe"]
    assert any(note.endswith("raise the limit") for note in rows["notes"])
    assert {row["kind"] for row in ask("search", text="DeepSeek")["rows"]} >= {"model"}
    assert ask("search", text="no such thing at all").startswith("unknown quantity or preset")
    assert "expected one of quantity, model" in ask("search", text="h100", kind="chips")


def test_summary(ask):
    result = ask("summary", inputs=SERVED)
    table = rs.summary(SERVED).to_dataframe()
    for row in result["rows"]:
        for name in ("floor", "estimate", "lower", "upper"):
            x = table.loc[row["quantity"], name]
            assert row[name] == (None if np.isnan(x) else x)
    assert "memory: fits, 48.9 GB free" in result["notes"]
    assert result["kind"] == "deployment"
    assert result["splits"]["memory"]["parts"].keys() == {"weights", "KV cache"}


def test_warnings_are_notes(ask):
    inputs = {**CELL, "batch_size": 1e6}
    result = ask("evaluate", outputs=["pass_time"], inputs=inputs)
    with pytest.warns(rs.RoofslateWarning) as reply:
        rs.evaluate("pass_time", **inputs)
    assert {str(warning.message) for warning in reply} <= set(result["notes"])


# --------------------------------------------------------------------------------------------------------- mistakes

LONG = "x" * 1001
MISTAKES = {
    "a tool": ("evaluat", {}, "unknown tool 'evaluat'; did you mean 'evaluate'?"),
    "an argument": (
        "evaluate",
        {**DRAIN, "output": "x"},
        "unknown argument of evaluate 'output'; did you mean 'outputs'?",
    ),
    "no argument": ("solve", {"unknown": "batch_size"}, "solve needs the argument 'condition'"),
    "a text": ("search", {"text": 3}, "text: expected a text, got 3"),
    "a list": ("evaluate", {**DRAIN, "outputs": "pass_time"}, "outputs: expected a list of texts, got 'pass_time'"),
    "no output": ("evaluate", {**DRAIN, "outputs": []}, "outputs: expected a list of texts, got []"),
    "a flag": ("deploy", {"objective": "pass_time", "inputs": {}, "maximize": 1}, "maximize: expected true or false"),
    "a count": ("search", {"text": "a", "limit": -1}, "limit: expected a whole number of at least 0, got -1"),
    "a number": ("summary", {"inputs": {}, "bands": "wide"}, "bands: expected a number, got 'wide'"),
    "a level": ("summary", {"inputs": SERVED, "bands": 7}, "between 0 and 1, got 7"),
    "inputs": ("summary", {"inputs": []}, "inputs: expected an object of inputs by name, got []"),
    "an object": ("summary", {"inputs": {"model": {}}}, "model: expected a number, a text or a list of them, got {}"),
    "null": ("summary", {"inputs": {"model": None}}, "model: expected a number, a text or a list of them, got None"),
    "true": ("summary", {"inputs": {"chips": True}}, "chips: expected a number, a text or a list of them, got True"),
    "a quantity": (
        "evaluate",
        {**DRAIN, "outputs": ["pass_tim"]},
        "unknown quantity 'pass_tim'; did you mean 'pass_time'?",
    ),
    "an input": (
        "evaluate",
        {**DRAIN, "inputs": {"hardwar": "H100"}},
        "unknown input 'hardwar'; did you mean 'hardware'?",
    ),
    "a preset": ("evaluate", {**DRAIN, "inputs": {"hardware": "H1000"}}, "did you mean 'H100'?"),
    "a unit": ("evaluate", {**DRAIN, "units": {"hbm_drain_time": "GB"}}, "cannot convert"),
    "units of a number": ("evaluate", {**DRAIN, "units": {"hbm_drain_time": 1}}, "units: expected an object of units"),
    "a missing input": ("evaluate", {**DRAIN, "inputs": {}}, "missing input"),
    "a range": ("evaluate", {"outputs": ["pass_tokens"], "inputs": {"batch_size": "1:2:x"}}, "whole number"),
    "an axis": ("explain", {"output": "pass_tokens", "inputs": {"batch_size": [1, 2]}}, "axis"),
    "a folder": (
        "solve",
        {"unknown": "batch_size", "condition": "pass_tokens <= 2", "at": "first", "inputs": {}},
        "at must",
    ),
    "a condition": ("solve", {"unknown": "batch_size", "condition": "import os", "inputs": {}}, "condition"),
    "a long name": ("search", {"text": LONG}, "text: a text has at most 1,000 characters, got 1,001"),
    "a long value": (
        "evaluate",
        {**DRAIN, "inputs": {"hardware": LONG}},
        "hardware: a text has at most 1,000 characters",
    ),
    "many inputs": ("summary", {"inputs": {f"x{k}": 1 for k in range(101)}}, "inputs: at most 100 members, got 101"),
    "many outputs": ("evaluate", {**DRAIN, "outputs": ["pass_time"] * 101}, "outputs: at most 100 members, got 101"),
    "many points": (
        "evaluate",
        {"outputs": ["pass_tokens"], "inputs": {"batch_size": "1:9:1000", "pass_length": list(range(1, 101))}},
        "the grid has 100,000 points, and a call at most 10,000; take fewer",
    ),
    "points of a huge range": (
        "evaluate",
        {"outputs": ["pass_tokens"], "inputs": {"batch_size": "1:9:" + "9" * 500}},
        "and a call at most 10,000",
    ),
    "a long list": ("evaluate", {**DRAIN, "inputs": {"batch_size": [1] * 100_001}}, "a list has at most 100,000 items"),
    "many characters": (
        "evaluate",
        {**DRAIN, "inputs": {f"x{k}": ["y" * 990] * 10 for k in range(60)}},
        "the arguments have more than 500,000 characters",
    ),
}


@pytest.mark.parametrize(("tool", "arguments", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_an_error_of_the_tool(ask, tool, arguments, message):
    reply = ask(tool, **arguments)
    assert isinstance(reply, str)
    assert message in reply
    assert len(reply) < 1000
    assert ask("evaluate", **DRAIN)["rows"] == [{"hbm_drain_time": rs.value("hbm_drain_time", hardware="H100")}]


@pytest.mark.parametrize("tool", TOOLS)
def test_arguments_are_checked_before_the_work(tool):
    """The checks and the schema refuse the same arguments."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = TOOLS[tool].schema
    wrong = {"text": 1, "texts": [1], "conditions": [1], "inputs": {"a": None}, "units": {"a": 1}}
    wrong |= {"flag": 0, "number": "1", "count": -1}
    right = {"text": "a", "texts": ["a"], "conditions": [], "inputs": {"a": [1, "b"]}, "units": {"a": "b"}}
    right |= {"flag": True, "number": 0.5, "count": 0}
    fine = {name: right[argument.kind] for name, argument in TOOLS[tool].arguments.items()}
    jsonschema.validate(fine, schema)
    check_arguments(tool, fine, 10)
    for name, argument in TOOLS[tool].arguments.items():
        for bad in ({**fine, name: wrong[argument.kind]}, {**fine, f"{name}x": 1}):
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(bad, schema)
            with pytest.raises(rs.RoofslateError):
                check_arguments(tool, bad, 10)


def test_no_file_is_opened(ask, tmp_path):
    """A path is no name of a preset."""
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    rs.calibration().to_toml(tmp_path / "ours.toml")
    for inputs in (
        {"model": str(tmp_path / "config.json")},
        {"model": str(tmp_path)},
        {"calibration": str(tmp_path / "ours.toml"), **SERVED},
    ):
        reply = ask("summary", inputs=inputs)
        assert isinstance(reply, str)
        assert "unknown" in reply or "opens no files" in reply


@pytest.mark.slow
def test_presets_of_the_environment_are_known(tmp_path):
    (tmp_path / "ours.toml").write_text(
        '[hardware.Ours]\nsources = [{ source = "us", date = "2026", read = true }]\n'
        '[hardware.Ours.values]\nhbm_capacity = "10 GB"\nhbm_bandwidth = "1 TB/s"\n'
    )

    async def run():
        async with served(ROOFSLATE_PRESETS=str(tmp_path / "ours.toml")) as client:
            return await client.call_tool("evaluate", {**DRAIN, "inputs": {"hardware": "Ours"}})

    result = anyio.run(run).structured_content
    assert result["rows"] == [{"hbm_drain_time": 0.01}]
    assert result["sources"] == {"hardware=Ours": ["us, 2026 (checked in source)"]}


@pytest.mark.skipif(os.name != "posix", reason="paths of POSIX")
def test_a_worker_opens_modules_alone(run_python, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    code = f"""
import os, subprocess
from pathlib import Path
import roofslate as rs
from roofslate.cli import worker
os.chdir({str(tmp_path)!r})
len(rs.models)
worker._refuse_files()
secret = Path({str(tmp_path / "secret.txt")!r})
def refused(call):
    try:
        call()
    except PermissionError as error:
        return "opens no files" in str(error)
assert refused(secret.read_text)
assert refused(lambda: open("secret.txt"))
assert refused(lambda: os.open(secret, os.O_RDONLY))
assert refused(lambda: secret.write_text("x"))
assert refused(lambda: Path(rs.__file__).write_text("x"))
assert refused(lambda: os.listdir("."))
assert refused(lambda: os.remove(secret))
assert refused(lambda: subprocess.run(["true"]))
assert refused(lambda: os.system("true"))
import xml.dom.minidom, csv, colorsys  # modules still load
print(rs.evaluate("hbm_drain_time", hardware=["H100"]).item() > 0)
"""
    assert run_python(code) == "True"
    assert (tmp_path / "secret.txt").read_text() == "secret"


def test_an_error_of_the_program_is_told_in_one_line(monkeypatch, capsys):
    def broken(name, arguments):
        raise ZeroDivisionError(name, arguments)

    monkeypatch.setattr(worker, "run_tool", broken)
    assert worker._answer("search", {}) == (
        "error",
        "internal error: ZeroDivisionError; the log of the server has more",
    )
    assert "ZeroDivisionError" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------- time, order, streams


@pytest.mark.slow
def test_a_call_beyond_the_limit_is_stopped():
    async def run():
        async with served("--time-limit", "2", "--workers", "1", "--points", "1000000") as client:
            await client.call_tool("evaluate", DRAIN)
            started = time.monotonic()
            result = await client.call_tool("solve", SLOW)
            took = time.monotonic() - started
            again = await client.call_tool("evaluate", DRAIN)
            return result, took, again

    result, took, again = anyio.run(run)
    assert result.is_error
    assert result.content[0].text == (
        "the call took longer than 2 s and was stopped; take fewer points, or fewer layouts"
    )
    assert 2 <= took < 8
    assert not again.is_error


@pytest.mark.slow
def test_two_calls_at_once():
    """The quick one does not wait for the slow one."""

    async def run():
        order = []
        async with served("--time-limit", "8", "--workers", "2", "--points", "1000000") as client:

            async def call(name, tool, arguments):
                result = await client.call_tool(tool, arguments)
                order.append((name, result.is_error))

            async with anyio.create_task_group() as both:
                both.start_soon(call, "slow", "solve", SLOW)
                await anyio.sleep(0.5)
                for k in range(3):
                    both.start_soon(call, f"quick {k}", "evaluate", DRAIN)
        return order

    order = anyio.run(run)
    assert {name for name, _ in order[:3]} == {"quick 0", "quick 1", "quick 2"}
    assert order[3] == ("slow", True)


@pytest.mark.slow
def test_a_call_that_is_cancelled_frees_its_worker():
    async def run():
        async with served("--time-limit", "100", "--workers", "1", "--points", "1000000") as client:
            await client.call_tool("evaluate", DRAIN)
            with anyio.move_on_after(1.0) as scope:
                await client.call_tool("solve", SLOW)
            started = time.monotonic()
            result = await client.call_tool("evaluate", DRAIN)
            return scope.cancelled_caught, time.monotonic() - started, result

    cancelled, took, result = anyio.run(run)
    assert cancelled
    assert not result.is_error
    assert took < 30  # a new worker has started; the old call would have taken longer


@pytest.mark.slow
def test_a_message_that_is_too_long_is_refused():
    async def run():
        async with served() as client:
            with pytest.raises(importlib.import_module("mcp").MCPError) as refused:
                await client.call_tool("evaluate", {**DRAIN, "inputs": {"hardware": "x" * 2**21}})
            return refused.value, await client.call_tool("evaluate", DRAIN)

    error, again = anyio.run(run)
    assert str(error) == "the message is longer than 1,048,576 bytes and was not read"
    assert not again.is_error


def messages(*more):
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
    return [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        *more,
    ]


def call(number, tool, arguments):
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


@pytest.mark.slow
def test_standard_output_carries_the_protocol_alone():
    """Warnings go to standard error, and lines that are no messages end nothing."""
    warned = call(2, "evaluate", {"outputs": ["pass_time"], "inputs": {**CELL, "batch_size": 1e6}})
    lines = [json.dumps(message) for message in messages(warned)]
    lines[2:2] = ["no message", "{}", "[1, 2]", '"\\ud800"', "\x00"]
    with subprocess.Popen(
        program(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        server.stdin.write("\n".join(lines) + "\n")
        server.stdin.flush()
        answers = {}
        while 2 not in answers:
            message = json.loads(server.stdout.readline())
            assert message["jsonrpc"] == "2.0"
            answers[message.get("id")] = message
        server.stdin.close()
        remaining = server.stdout.read()
        said = server.stderr.read()
        assert server.wait(timeout=20) == 0
    assert answers[2]["result"]["structuredContent"]["notes"]
    assert remaining == ""
    assert "roofslate: " in said


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_no_worker_outlives_the_server(number, code):
    """However it ends, in the middle of a call."""
    line = f"{INTERRUPTIBLE}\nfrom roofslate.cli import main\nif __name__ == '__main__': main()"
    command = [sys.executable, "-c", line, "serve", "--stdio", "--points", "1000000", "--workers", "1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        server.stdin.write("".join(json.dumps(m) + "\n" for m in messages(call(2, "evaluate", DRAIN))))
        server.stdin.flush()
        while json.loads(server.stdout.readline()).get("id") != 2:
            pass
        server.stdin.write(json.dumps(call(3, "solve", SLOW)) + "\n")
        server.stdin.flush()
        time.sleep(1)
        children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
        assert children
        server.send_signal(number)
        assert server.wait(timeout=20) == code
    deadline = time.monotonic() + 20
    while any(is_running(child) for child in children) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not [child for child in children if is_running(child)]


def is_running(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def test_without_the_package_the_extra_is_named():
    code = """
import sys
sys.modules["mcp"] = None
from roofslate.cli import main
try:
    main(["serve", "--stdio"])
except SystemExit as end:
    print(end.code)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "2"
    assert done.stderr == f"roofslate: this needs mcp, which is not installed: {pip_install('serve')}\n"
