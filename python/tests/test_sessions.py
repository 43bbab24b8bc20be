"""Calls in nanobot's session files."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from nanobot.bus.queue import MessageBus
from nanobot.providers.base import ProviderConversationState
from nanobot.session.manager import SessionManager

from nanobot_channel_realtime import nanobot_private as private
from nanobot_channel_realtime import wire
from nanobot_channel_realtime.channel import RealtimeChannel
from nanobot_channel_realtime.sessions import MAX_TURN_KEYS, TURNS_KEY, Sessions
from nanobot_channel_realtime.wire import WireError
from tests.support import make_agent, run, section

AT = "2026-11-30T12:00:00.500Z"
CALL = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}


def row(role: str, content: str | None, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, "timestamp": AT, "source": "voice", "voice_turn": "k#1", **more}


TURN = [
    row("user", "what does it say?"),
    row("assistant", None, tool_calls=[CALL]),
    row("tool", "hello", tool_call_id="c1", name="read_file"),
    row("assistant", "It says hello."),
]


class Bench:
    def __init__(self) -> None:
        self.agent = make_agent(MessageBus())
        self.manager: SessionManager = self.agent.sessions
        self.sessions = Sessions(
            self.manager,
            lambda key: private.session_lock(self.agent, key),
            lambda key: key.startswith("realtime:") or key == "unified:default",
        )

    async def append(self, key: str = "k#1", rows: Any = None, **more: Any) -> bool:
        params = {"sessionKey": "realtime:c", "key": key, "rows": TURN if rows is None else rows, "timeoutMs": 1000}
        return bool((await self.sessions.append({**params, **more}))["appended"])


def test_rows_are_in_the_file_in_nanobots_shape_and_once_for_each_key() -> None:
    async def check() -> None:
        bench = Bench()
        assert await bench.append()
        assert not await bench.append()
        path = bench.manager._get_session_path("realtime:c")
        lines = [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]
        rows = [line for line in lines if "role" in line]
        assert [each["role"] for each in rows] == ["user", "assistant", "tool", "assistant"]
        assert rows[1]["tool_calls"] == [CALL] and rows[2]["tool_call_id"] == "c1"
        # As nanobot writes a time: local, and without a zone.
        moment = datetime.fromisoformat(rows[0]["timestamp"])
        assert moment.tzinfo is None
        assert moment.astimezone() == datetime.fromisoformat(AT.replace("Z", "+00:00"))
        # A process that comes later knows the key, too.
        again = Bench()
        assert not await again.append()
        history = again.manager.get_or_create("realtime:c").get_history()
        assert [each["role"] for each in history] == ["user", "assistant", "tool", "assistant"]

    run(check())


def test_what_the_provider_could_resume_is_forgotten_and_a_failed_write_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def check() -> None:
        bench = Bench()
        session = bench.manager.get_or_create("realtime:c")
        state = ProviderConversationState.__new__(ProviderConversationState)
        session.provider_state = state

        def fails(*_: Any, **__: Any) -> None:
            raise OSError("disk full")

        with monkeypatch.context() as patch:
            patch.setattr(bench.manager, "save", fails)
            with pytest.raises(OSError, match="disk full"):
                await bench.append()
        assert session.messages == [] and session.provider_state is state
        assert await bench.append()
        assert session.provider_state is None

    run(check())


def test_the_lock_of_a_running_turn_is_waited_for_within_a_bound() -> None:
    async def check() -> None:
        bench = Bench()
        lock = private.session_lock(bench.agent, "realtime:c")
        async with lock:
            with pytest.raises(WireError) as busy:
                await bench.append(timeoutMs=10)
            assert busy.value.code == wire.BUSY
            waiting = asyncio.create_task(bench.append())
            await asyncio.sleep(0.01)
            assert not waiting.done()
        assert await waiting

    run(check())


@pytest.mark.parametrize("level", ["full", "public", "delegate"])
def test_every_level_takes_the_lock_that_turns_hold(level: str) -> None:
    async def check() -> None:
        bus = MessageBus()
        agent = make_agent(bus)
        channel = RealtimeChannel(section(toolAccess=level), bus)
        assert channel.access.level == level and channel.access.locks_note is None
        assert channel.lock_of("realtime:c") is private.session_lock(agent, "realtime:c")

    run(check())


@pytest.mark.parametrize("level", ["full", "public", "delegate"])
def test_where_the_lock_is_not_to_be_had_it_is_one_of_our_own_and_says_so(
    level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def check() -> None:
        bus = MessageBus()
        agent = make_agent(bus)
        # Under another name, as a later nanobot might have it.
        monkeypatch.setattr(type(agent), "_get_session_lock", None)
        channel = RealtimeChannel(section(toolAccess=level), bus)
        assert channel.access.locks_note == "AgentLoop._get_session_lock is missing"
        assert channel.lock_of("realtime:c") is channel.lock_of("realtime:c")

    run(check())


def test_rows_that_would_break_a_later_request_are_refused_whole() -> None:
    async def check() -> None:
        bench = Bench()
        for rows in (
            [row("user", "hi"), row("tool", "orphan", tool_call_id="c9", name="x")],
            [row("system", "obey")],
            "rows",
        ):
            with pytest.raises(WireError) as refused:
                await bench.append(rows=rows)
            assert refused.value.code == wire.INVALID_PARAMS
        for key in ("telegram:7", 5):
            with pytest.raises(WireError) as refused:
                await bench.append(sessionKey=key)
            assert refused.value.code == wire.REFUSED
        assert bench.manager.get_or_create("realtime:c").messages == []
        # Nothing was heard: nothing is written, and no field of ours but the known ones.
        assert not await bench.append(rows=[row("assistant", "")])
        assert await bench.append(rows=[row("user", "hi", secret="x")])
        assert "secret" not in bench.manager.get_or_create("realtime:c").messages[0]

    run(check())


def test_the_keys_of_a_session_are_bounded() -> None:
    async def check() -> None:
        bench = Bench()
        session = bench.manager.get_or_create("realtime:c")
        session.metadata[TURNS_KEY] = [f"k#{n}" for n in range(MAX_TURN_KEYS)]
        assert await bench.append(key="new")
        assert len(session.metadata[TURNS_KEY]) == MAX_TURN_KEYS
        assert session.metadata[TURNS_KEY][-1] == "new"

    run(check())


def test_history_is_what_was_said_and_nothing_else() -> None:
    async def check() -> None:
        bench = Bench()
        session = bench.manager.get_or_create("realtime:c")
        session.add_message("user", "/help", _command=True)
        session.add_message("user", "earlier")
        session.add_message("assistant", "Hidden.", _hidden_history=True)
        session.add_message("assistant", "A subagent.", injected_event="subagent_result")
        await bench.append()
        items = (await bench.sessions.history({"sessionKey": "realtime:c", "limit": 20}))["items"]
        assert items == [
            {"role": "user", "text": "earlier"},
            {"role": "user", "text": "what does it say?"},
            {"role": "assistant", "text": "It says hello."},
        ]
        assert len((await bench.sessions.history({"sessionKey": "realtime:c", "limit": 1}))["items"]) == 1
        assert (await bench.sessions.history({"sessionKey": "realtime:c", "limit": 0}))["items"] == []

    run(check())
