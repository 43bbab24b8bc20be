"""JSON-RPC 2.0 over the child's standard input and output, one message per line: ``docs/reference/bridge.md``."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

#: Longest line, in bytes, without its newline.
MAX_LINE_BYTES = 16 * 1024 * 1024
#: Buffer of the stream that is read from; asyncio's 64 KiB would break on a large result.
STREAM_LIMIT = 1 << 25
#: Bytes that may wait to be read by the other side before it counts as dead.
MAX_BACKLOG_BYTES = 64 * 1024 * 1024
#: Requests open in each direction.
MAX_OPEN_REQUESTS = 1000

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
UNKNOWN_METHOD = -32601
INVALID_PARAMS = -32602
INTERNAL = -32603
BUSY = -32003
REFUSED = -32004
NOT_POSSIBLE = -32005
CANT_START = -32010
CANCELLED = -32800
DEADLINE = -32801

Params = dict[str, Any]
Handler = Callable[[Params], Awaitable[Any]]


class WireError(Exception):
    """An error as the wire carries it."""

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data or {}


class ConnectionClosed(Exception):
    """The other side is gone."""


class Reader(Protocol):
    async def read(self, n: int = -1) -> bytes: ...


class Peer:
    """One side of the wire. Requests of the other side run concurrently, and start in the order they came."""

    def __init__(
        self,
        writer: asyncio.StreamWriter,
        requests: dict[str, Handler],
        notifications: dict[str, Handler],
        complain: Callable[[str], None],
    ) -> None:
        self._writer = writer
        self._requests = requests
        self._notifications = notifications
        self._complain = complain
        self._ids = itertools.count(1)
        self._open: dict[int, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    async def run(self, reader: Reader) -> None:
        """Reads to the end of the stream; then everything that is under way ends."""
        buffer = bytearray()
        skipping = False
        try:
            while chunk := await reader.read(65536):
                buffer += chunk
                while (end := buffer.find(b"\n")) >= 0:
                    line, skipped = bytes(buffer[:end]), skipping
                    del buffer[: end + 1]
                    skipping = False
                    if skipped or len(line) > MAX_LINE_BYTES:
                        self._send_error(None, INVALID_REQUEST, "the line is too long")
                    elif line.strip():
                        self._take(line)
                if len(buffer) > MAX_LINE_BYTES + 1:
                    buffer.clear()
                    skipping = True
        finally:
            await self.close()

    async def close(self) -> None:
        """Cancels what runs for the other side, and fails what waits for it. Idempotent."""
        self._closed = True
        for future in self._open.values():
            if not future.done():
                future.set_exception(ConnectionClosed("the voice process is gone"))
        self._open.clear()
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def request(self, method: str, params: Params, timeout_s: float) -> Any:
        """
        :raises WireError: what the other side answered
        :raises ConnectionClosed: it is gone
        :raises TimeoutError: no answer in time
        """
        if self._closed:
            raise ConnectionClosed("the voice process is gone")
        if len(self._open) >= MAX_OPEN_REQUESTS:
            raise WireError(BUSY, "too many requests are open")
        number = next(self._ids)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._open[number] = future
        try:
            self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            return await asyncio.wait_for(future, timeout_s)
        finally:
            self._open.pop(number, None)

    def notify(self, method: str, params: Params) -> None:
        """Sends a notification; nothing happens when the other side is gone."""
        if not self._closed:
            self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def _send(self, message: dict[str, Any]) -> None:
        line = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        if len(line) > MAX_LINE_BYTES:
            raise WireError(NOT_POSSIBLE, "the message is too long")
        transport = self._writer.transport
        if transport.is_closing():
            return
        if transport.get_write_buffer_size() > MAX_BACKLOG_BYTES:
            self._complain("the voice process reads nothing any more")
            transport.abort()
            return
        self._writer.write(line + b"\n")

    def _send_error(self, number: Any, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        error: dict[str, Any] = {"code": code, "message": message}
        if data:
            error["data"] = data
        self._send({"jsonrpc": "2.0", "id": number, "error": error})

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            self._send_error(None, PARSE_ERROR, "the line is no JSON")
            return
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            self._send_error(None, INVALID_REQUEST, "no JSON-RPC 2.0 object")
        elif isinstance(method := message.get("method"), str):
            self._take_call(method, message)
        elif "result" in message or "error" in message:
            self._take_answer(message)
        else:
            self._send_error(None, INVALID_REQUEST, "neither a request nor an answer")

    def _take_answer(self, message: dict[str, Any]) -> None:
        number, error = message.get("id"), message.get("error")
        if number is None:
            self._complain("the voice process could not read a message of ours")
            return
        future = self._open.pop(number, None) if isinstance(number, int) else None
        if future is None or future.done():
            return
        if not isinstance(error, dict):
            future.set_result(message.get("result"))
            return
        code, data = error.get("code"), error.get("data")
        future.set_exception(
            WireError(
                code if isinstance(code, int) else INTERNAL,
                str(error.get("message", "")),
                data if isinstance(data, dict) else None,
            )
        )

    def _take_call(self, method: str, message: dict[str, Any]) -> None:
        is_request = "id" in message
        number, params = message.get("id"), message.get("params", {})
        handler = (self._requests if is_request else self._notifications).get(method)
        if not is_request:
            if handler is not None and isinstance(params, dict):
                self._spawn(self._hear(handler, params))
        elif handler is None:
            self._send_error(number, UNKNOWN_METHOD, f"unknown method {method[:80]!r}")
        elif not isinstance(params, dict):
            self._send_error(number, INVALID_PARAMS, "params: an object")
        elif len(self._tasks) >= MAX_OPEN_REQUESTS:
            self._send_error(number, BUSY, "too many requests are open")
        else:
            self._spawn(self._answer(handler, number, params))

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _hear(self, handler: Handler, params: Params) -> None:
        try:
            await handler(params)
        except Exception as error:
            self._complain(f"a notification could not be handled: {type(error).__name__}")

    async def _answer(self, handler: Handler, number: Any, params: Params) -> None:
        try:
            result = await handler(params)
            self._send({"jsonrpc": "2.0", "id": number, "result": result})
        except WireError as error:
            self._send_error(number, error.code, error.message, error.data)
        except (KeyError, TypeError, ValueError) as error:
            # The text of a KeyError is the field's name; the others' may hold a value.
            named = str(error) if isinstance(error, KeyError) else type(error).__name__
            self._send_error(number, INVALID_PARAMS, named)
        except Exception as error:
            self._complain(f"a request could not be handled: {type(error).__name__}")
            self._send_error(number, INTERNAL, type(error).__name__)
