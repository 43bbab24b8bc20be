"""Edits of the config while the channel runs, and a voice process that is there and does nothing."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from nanobot.bus.events import OutboundMessage
from nanobot.bus.queue import MessageBus
from nanobot.config.loader import get_config_path, load_config, save_config
from nanobot.providers.base import LLMResponse

from nanobot_channel_realtime import channel as channel_module
from nanobot_channel_realtime import process as process_module
from nanobot_channel_realtime.channel import RealtimeChannel
from nanobot_channel_realtime.edits import Edits
from tests.support import calls, entries, make_agent, run, section, started, until
from tests.test_gate import text_turn

GATE = {"approvals": {"toolGate": {"requireApproval": ["write_file"]}}}


def save(**more: Any) -> None:
    """As nanobot's settings page and command line do."""
    config = load_config()
    setattr(config.channels, "realtime", section(**more))  # noqa: B010
    save_config(config)


def from_file(bus: MessageBus) -> RealtimeChannel:
    return RealtimeChannel(getattr(load_config().channels, "realtime"), bus)  # noqa: B009


def test_an_edit_of_the_file_reaches_the_voice_process_once_and_again_after_it_broke(
    seen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def check() -> None:
        monkeypatch.setattr(channel_module, "RESPAWN_DELAYS_S", (0.01,))
        save()
        channel = from_file(MessageBus())
        task = await started(channel)
        await asyncio.sleep(0.3)
        assert entries(seen, "edited") == []
        # A save that changes nothing of ours, a file that is half written, and then an edit.
        save()
        path = get_config_path()
        whole = path.read_text("utf-8")
        path.write_text(whole[:40], "utf-8")
        await asyncio.sleep(0.3)
        path.write_text(whole, "utf-8")
        save(**GATE, model={"apiKey": "sk-secret"})
        await until(lambda: entries(seen, "edited"))
        (edited,) = entries(seen, "edited")
        assert edited["approvals"] == GATE["approvals"] and "secret" not in json.dumps(edited)
        await channel.send(OutboundMessage(channel="realtime", chat_id="c", content="crash"))
        await until(lambda: len(entries(seen, "edited")) == 2)
        # The new one starts with what the first one did, and is told of the edit.
        assert "approvals" not in entries(seen, "initialize")[1]
        await channel.stop()
        await task

    run(check())


def test_a_gate_that_an_edit_puts_up_holds_in_text_turns_at_once(workspace: Path, seen: Path) -> None:
    async def check() -> None:
        save(toolAccess="full")
        bus = MessageBus()
        agent = make_agent(bus, calls("write_file", path="evil.txt", content="x"), LLMResponse(content="I asked."))
        channel = from_file(bus)
        task = await started(channel)
        save(toolAccess="full", **GATE)
        await until(lambda: entries(seen, "edited"))
        said = await text_turn(bus, agent, "write it", metadata={"realtime_call": "c1"})
        assert said[0].content == "I asked." and not (workspace / "evil.txt").exists()
        (asked,) = entries(seen, "check")
        assert (asked["name"], asked["call"]) == ("write_file", "c1")
        await channel.stop()
        await task

    run(check())


@pytest.mark.parametrize(
    ("mode", "edit", "level", "words"),
    [
        ("", {}, "WARNING", "waits for the operator"),
        ("", {"approvals": {"scope": "broken"}}, "ERROR", "the last good ones hold"),
        ("", {**GATE, "greeting": "Hi."}, "INFO", "turned off and on"),
        ("", {"toolAccess": "root"}, "ERROR", "one of full, public, delegate"),
        ("older", GATE, "ERROR", "of another version"),
    ],
)
def test_what_became_of_an_edit_is_in_the_log(
    mode: str, edit: dict[str, Any], level: str, words: str, seen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def check() -> None:
        monkeypatch.setenv("FAKE_MODE", mode)
        said: list[tuple[str, str]] = []
        edits = Edits(lambda _is_on: None, lambda *line: said.append(line))
        channel = RealtimeChannel(section(), MessageBus())
        task = await started(channel)
        await edits.take(section(**edit), channel.peer)
        ((found, text),) = said
        assert found == level and words in text
        await channel.stop()
        await task
        # Without a process there is nobody to tell; the next one is told.
        await edits.tell(None)

    run(check())


def test_a_process_that_does_nothing_any_more_is_not_listed_as_running_and_is_started_again(
    seen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def check() -> None:
        monkeypatch.setattr(process_module, "PING_EVERY_S", 0.01)
        monkeypatch.setattr(process_module, "PING_TIMEOUT_S", 0.1)
        monkeypatch.setattr(channel_module, "RESPAWN_DELAYS_S", (0.5,))
        monkeypatch.setenv("FAKE_MODE", "stuck")
        channel = RealtimeChannel(section(), MessageBus())
        task = await started(channel)
        monkeypatch.setenv("FAKE_MODE", "")
        await until(lambda: not channel.is_running)
        await until(lambda: channel.is_running)
        assert len(entries(seen, "pid")) == 2
        await channel.stop()
        await task

    run(check())
