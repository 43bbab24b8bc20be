"""The wire: what any message does, whole or broken."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from nanobot_channel_realtime import wire
from nanobot_channel_realtime.wire import ConnectionClosed, Peer, WireError
from tests.support import run, until


class Transport:
    def __init__(self) -> None:
        self.backlog = 0
        self.aborted = False

    def is_closing(self) -> bool:
        return self.aborted

    def get_write_buffer_size(self) -> int:
        return self.backlog

    def abort(self) -> None:
        self.aborted = True


class Writer:
    def __init__(self) -> None:
        self.transport = Transport()
        self.sent: list[dict[str, Any]] = []

    def write(self, data: bytes) -> None:
        assert data.endswith(b"\n") and data.count(b"\n") == 1
        self.sent.append(json.loads(data))


class Line:
    """A peer, and what is fed to it."""

    def __init__(self, **handlers: Callable[[dict[str, Any]], Awaitable[Any]]) -> None:
        self.writer = Writer()
        self.complaints: list[str] = []
        self.reader = asyncio.StreamReader()
        self.peer = Peer(self.writer, dict(handlers), dict(handlers), self.complaints.append)  # type: ignore[arg-type]
        self.reading = asyncio.create_task(self.peer.run(self.reader))

    def feed(self, *messages: Any) -> None:
        for message in messages:
            self.reader.feed_data(json.dumps(message, ensure_ascii=False).encode() + b"\n")

    async def answers(self, count: int) -> list[dict[str, Any]]:
        await until(lambda: len(self.writer.sent) >= count)
        return self.writer.sent


async def echo(params: dict[str, Any]) -> Any:
    return params


def call(number: Any, method: str = "echo", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def test_a_message_of_ten_megabytes_goes_both_ways() -> None:
    async def check() -> None:
        line = Line(echo=echo)
        text = "ü" * 5_000_000
        line.feed(call(1, text=text))
        assert (await line.answers(1))[0]["result"] == {"text": text}

    run(check())


def test_what_can_not_be_read_is_answered_and_ends_nothing() -> None:
    async def check() -> None:
        line = Line(echo=echo)
        line.reader.feed_data(b"no json\n\n[1,2]\n" + b"x" * (wire.MAX_LINE_BYTES + 10) + b"\n")
        line.feed(
            {"id": 1}, call(2, "nothing"), {"jsonrpc": "2.0", "id": 3, "method": "echo", "params": [1]}, call(4, a=1)
        )
        sent = await line.answers(7)
        codes = [(message["id"], message.get("error", {}).get("code")) for message in sent]
        assert codes == [
            (None, wire.PARSE_ERROR),
            (None, wire.INVALID_REQUEST),
            (None, wire.INVALID_REQUEST),
            (None, wire.INVALID_REQUEST),
            (2, wire.UNKNOWN_METHOD),
            (3, wire.INVALID_PARAMS),
            (4, None),
        ]

    run(check())


def test_requests_and_notifications_begin_in_the_order_they_came() -> None:
    async def check() -> None:
        begun: list[int] = []

        async def slow(params: dict[str, Any]) -> None:
            begun.append(params["n"])
            await asyncio.sleep(0.01 * (10 - params["n"]))

        line = Line(slow=slow)
        line.feed(*[call(n, "slow", n=n) if n % 2 else {**call(0, "slow", n=n), "id": n} for n in range(10)])
        await line.answers(10)
        assert begun == list(range(10))

    run(check())


def test_a_missing_field_is_named_and_a_broken_handler_is_an_internal_error() -> None:
    async def check() -> None:
        async def needs(params: dict[str, Any]) -> Any:
            return params["chatId"]

        async def breaks(_params: dict[str, Any]) -> Any:
            raise RuntimeError("a secret")

        line = Line(needs=needs, breaks=breaks)
        line.feed(call(1, "needs"), call(2, "breaks"))
        first, second = await line.answers(2)
        assert (first["error"]["code"], first["error"]["message"]) == (wire.INVALID_PARAMS, "'chatId'")
        assert second["error"] == {"code": wire.INTERNAL, "message": "RuntimeError"}
        assert line.complaints and "a secret" not in line.complaints[0]

    run(check())


def test_an_answer_resolves_its_request_and_an_error_rejects_it() -> None:
    async def check() -> None:
        line = Line()
        first = asyncio.create_task(line.peer.request("a", {}, 5))
        second = asyncio.create_task(line.peer.request("b", {}, 5))
        one, two = await line.answers(2)
        line.feed(
            {"jsonrpc": "2.0", "id": 99, "result": "nobody asked"},
            {"jsonrpc": "2.0", "id": two["id"], "error": {"code": -32003, "message": "busy", "data": {"code": "X"}}},
            {"jsonrpc": "2.0", "id": one["id"], "result": 5},
        )
        assert await first == 5
        with pytest.raises(WireError) as refused:
            await second
        assert (refused.value.code, refused.value.data) == (-32003, {"code": "X"})

    run(check())


def test_the_end_of_the_stream_fails_what_waits_and_cancels_what_runs() -> None:
    async def check() -> None:
        ended = asyncio.Event()

        async def forever(_params: dict[str, Any]) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        line = Line(forever=forever)
        line.feed(call(1, "forever"))
        waiting = asyncio.create_task(line.peer.request("a", {}, 5))
        await line.answers(1)
        line.reader.feed_eof()
        with pytest.raises(ConnectionClosed):
            await waiting
        await line.reading
        assert ended.is_set()
        with pytest.raises(ConnectionClosed):
            await line.peer.request("a", {}, 5)
        line.peer.notify("a", {})

    run(check())


def test_open_requests_are_bounded_in_both_directions() -> None:
    async def check() -> None:
        async def forever(_params: dict[str, Any]) -> None:
            await asyncio.Event().wait()

        line = Line(forever=forever)
        line.feed(*[call(n, "forever") for n in range(wire.MAX_OPEN_REQUESTS + 1)])
        (busy,) = await line.answers(1)
        assert busy["error"]["code"] == wire.BUSY and busy["id"] == wire.MAX_OPEN_REQUESTS
        waiting = [asyncio.create_task(line.peer.request("a", {}, 5)) for _ in range(wire.MAX_OPEN_REQUESTS)]
        await asyncio.sleep(0)
        with pytest.raises(WireError):
            await line.peer.request("a", {}, 5)
        line.reader.feed_eof()
        await asyncio.gather(*waiting, return_exceptions=True)

    run(check())


def test_a_peer_that_reads_nothing_is_dead_and_a_message_that_is_too_long_is_not_sent() -> None:
    async def check() -> None:
        line = Line()
        with pytest.raises(WireError):
            await line.peer.request("a", {"text": "x" * wire.MAX_LINE_BYTES}, 5)
        line.writer.transport.backlog = wire.MAX_BACKLOG_BYTES + 1
        line.peer.notify("a", {})
        assert line.writer.transport.aborted and line.writer.sent == []

    run(check())
