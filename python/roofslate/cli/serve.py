"""`roofslate serve`: a server of the Model Context Protocol for assistants."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import sys
from typing import TYPE_CHECKING, Any

from roofslate._base.interrupts import INTERRUPTED
from roofslate._base.version import __version__
from roofslate.cli.tool_arguments import OUTPUT, TOOLS, check_arguments
from roofslate.cli.worker import work
from roofslate.errors import RoofslateError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import FrameType
    from typing import BinaryIO

__all__ = ["run_serve"]

_LONGEST_LINE = 2**20  # bytes of a message
_START = 120.0  # seconds for a worker to load its modules
_MOST_WAITING = 32  # calls
_ENDS = 2048  # bytes of a longer one that are looked at
_INSTRUCTIONS = (
    "Time, memory and cost of training and serving large language models. Find names with `search`, ask for numbers "
    "with `evaluate` and `summary`, for a layout with `deploy`, for the reason with `explain`. A basis of 'floor' is a "
    "lower bound of an ideal machine; calibration='serving' or 'training' gives an estimate with a band."
)


def run_serve(stdio: bool, time_limit: float, points: int, workers: int) -> None:  # noqa: ARG001
    """Serve over standard input and output until the input ends."""
    import anyio
    import mcp  # noqa: F401

    pool = _Pool(workers, time_limit)

    def leave(number: int, _frame: FrameType | None) -> None:
        pool.close()
        os._exit(INTERRUPTED if number == signal.SIGINT else 128 + number)  # a thread waits for a line

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)
    try:
        anyio.run(_serve, pool, points)
    finally:
        pool.close()


class _Worker:
    """A process that runs calls, and this end of its pipe."""

    def __init__(self, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._calls, other = context.Pipe()
        os.environ.setdefault("ROOFSLATE_THREADS", str(threads))
        self._process = context.Process(target=work, args=(other,), daemon=True, name="roofslate worker")
        self._process.start()
        other.close()
        self._is_ready = False

    def wait(self) -> None:
        """Wait until its modules are loaded."""
        if not self._is_ready:
            if not self._calls.poll(_START):
                raise EOFError
            self._calls.recv()
            self._is_ready = True

    def call(self, name: str, arguments: dict[str, Any]) -> tuple[str, Any]:
        """Run a tool, and wait for its answer."""
        self._calls.send((name, arguments))
        answer: tuple[str, Any] = self._calls.recv()
        return answer

    def stop(self) -> None:
        """End it at once. A call that waits for it fails."""
        self._process.kill()


class _Pool:
    """Workers, each started when it is needed and kept for later calls."""

    def __init__(self, workers: int, time_limit: float) -> None:
        self._count, self._limit = workers, time_limit
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()
        self._waiting = 0
        self._places: Any = None

    async def run(self, name: str, arguments: dict[str, Any]) -> tuple[str, Any]:
        """Run a tool in a worker, which stops at the deadline or if the caller cancels."""
        import anyio

        if self._places is None:
            self._places = anyio.Semaphore(self._count)
        if self._waiting >= _MOST_WAITING:
            return "error", f"the server is busy: {_MOST_WAITING} calls wait already"
        self._waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
        try:
            return await self._run(name, arguments)
        finally:
            self._places.release()

    async def _run(self, name: str, arguments: dict[str, Any]) -> tuple[str, Any]:
        from anyio import fail_after, to_thread

        worker = self._idle.pop() if self._idle else self._started()
        is_whole = False
        try:
            await to_thread.run_sync(worker.wait, abandon_on_cancel=True)
            with fail_after(self._limit):
                answer = await to_thread.run_sync(worker.call, name, arguments, abandon_on_cancel=True)
            is_whole = True
        except TimeoutError:
            message = (
                f"the call took longer than {self._limit:g} s and was stopped; take fewer points, or fewer layouts"
            )
            return "error", message
        except (EOFError, OSError):
            return "error", "the calculation ended before its result, perhaps for lack of memory; take fewer points"
        finally:
            if is_whole:
                self._idle.append(worker)
            else:
                worker.stop()
                self._all.discard(worker)
        return answer

    def _started(self) -> _Worker:
        worker = _Worker(max(1, (os.cpu_count() or 1) // self._count))
        self._all.add(worker)
        return worker

    def close(self) -> None:
        """End all workers."""
        for worker in list(self._all):
            worker.stop()


class _Lines:
    """Lines of standard input, of which those beyond a limit are refused."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.refuse: Callable[[Any], Awaitable[None]] | None = None

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        from anyio import to_thread

        while True:
            line, long = await to_thread.run_sync(self._line, abandon_on_cancel=True)
            if long:
                if self.refuse is not None:
                    await self.refuse(_id_of(line))
            elif line:
                return line.decode("utf-8", errors="replace")
            else:
                raise StopAsyncIteration

    def _line(self) -> tuple[bytes, bool]:
        """The next line, or beginning and end of one that is too long."""
        line = self._stream.readline(_LONGEST_LINE + 1)
        if len(line) <= _LONGEST_LINE:
            return line, False
        head, tail = line[:_ENDS], line[-_ENDS:]
        while not tail.endswith(b"\n"):
            part = self._stream.readline(_LONGEST_LINE)
            if not part:
                break
            tail = (tail + part)[-_ENDS:]
        return head + b" " + tail, True


def _id_of(text: bytes) -> Any:
    """Find the id of a request in its ends, None if it is not among them."""
    match = re.search(rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")', text)
    return None if match is None else json.loads(match[1])


async def _serve(pool: _Pool, points: int) -> None:
    from mcp import types
    from mcp.server import Server
    from mcp.server.stdio import stdio_server
    from mcp.shared.message import SessionMessage

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        tools = [
            types.Tool(
                name=name, title=tool.title, description=tool.meaning, input_schema=tool.schema, output_schema=OUTPUT
            )
            for name, tool in TOOLS.items()
        ]
        return types.ListToolsResult(tools=tools)

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        arguments = dict(params.arguments or {})
        try:
            check_arguments(params.name, arguments, points)
        except RoofslateError as error:
            kind, answer = "error", str(error)
        else:
            kind, answer = await pool.run(params.name, arguments)
        if kind == "error":
            return types.CallToolResult(content=[types.TextContent(type="text", text=answer)], is_error=True)
        text = json.dumps(answer, ensure_ascii=False)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=answer)

    server: Any = Server(
        "roofslate",
        version=__version__,
        title="Roofslate",
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    lines: Any = _Lines(sys.stdin.buffer)
    async with stdio_server(stdin=lines) as (incoming, outgoing):

        async def refuse(name: Any) -> None:
            words = f"the message is longer than {_LONGEST_LINE:,} bytes and was not read"
            error = types.ErrorData(code=types.INVALID_REQUEST, message=words)
            await outgoing.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=name, error=error)))

        lines.refuse = refuse
        await server.run(incoming, outgoing, server.create_initialization_options())
