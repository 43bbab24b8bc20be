"""The channel's life, with a voice process that does what it is told."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from nanobot.bus.events import OutboundMessage
from nanobot.bus.queue import MessageBus
from nanobot.channels.manager import ChannelManager
from nanobot.config.loader import load_config, save_config

from nanobot_channel_realtime import channel as channel_module
from nanobot_channel_realtime import process as process_module
from nanobot_channel_realtime.channel import RealtimeChannel, StartError
from tests.support import entries, make_agent, run, section, started, until


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A zombie is waited for by nobody here; it is gone all the same.
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def enable(**more: Any) -> None:
    config = load_config()
    setattr(config.channels, "realtime", section(**more))  # noqa: B010
    save_config(config)


def test_it_is_listed_and_running_in_the_channel_manager_and_can_be_turned_off_and_on(seen: Path) -> None:
    async def check() -> None:
        enable()
        manager = ChannelManager(load_config(), MessageBus())
        assert list(manager.channels) == ["realtime"]
        life = asyncio.create_task(manager.start_all())
        await until(lambda: manager.get_status()["realtime"]["state"] == "running")
        assert (await manager.apply_channel_feature_action("disable", "realtime"))["ok"]
        assert "realtime" not in manager.get_status()
        (first,) = entries(seen, "pid")
        assert not is_alive(first)
        assert (await manager.apply_channel_feature_action("enable", "realtime"))["ok"]
        await until(lambda: manager.get_status()["realtime"]["state"] == "running")
        # Enabled while it runs: a new one takes over.
        assert (await manager.apply_channel_feature_action("enable", "realtime"))["ok"]
        await until(lambda: len(entries(seen, "initialize")) == 3 and manager.channels["realtime"].is_running)
        await manager.stop_all()
        await life
        assert [pid for pid in entries(seen, "pid") if is_alive(pid)] == []

    run(check())


def test_the_handshake_says_where_it_is_and_secrets_go_by_the_environment(home: Path, seen: Path) -> None:
    async def check() -> None:
        bus = MessageBus()
        make_agent(bus)
        (home / "workspace" / "SOUL.md").write_text("You are kind.")
        channel = RealtimeChannel(
            section(
                model={"apiKey": "sk-secret", "voice": ""},
                carriers={"twilio": {"authToken": "token-secret", "accountSid": ""}},
                greeting="",
            ),
            bus,
        )
        task = await started(channel)
        (params,) = entries(seen, "initialize")
        assert params["workspace"] == str(home / "workspace") and params["dataDir"] == str(home / "realtime")
        assert params["toolAccess"] == {"requested": "public", "level": "public", "gate": False}
        assert params["host"]["name"] == "nanobot" and params["host"]["persona"] == "You are kind."
        assert params["host"]["channels"] == []
        sent = params["config"]
        assert sent["greeting"] == "" and sent["model"] == {} and sent["carriers"] == {"twilio": {}}
        assert "secret" not in str(params)
        assert entries(seen, "secrets") == [{"key": "sk-secret", "token": "token-secret"}]
        await channel.stop()
        await task

    run(check())


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("cant-start", "Port 8787 is taken."),
        ("other-protocol", "The handshake failed: another version (it speaks version 7 of the wire"),
        ("dies-at-once", "The voice process ended as it started: it can not go on"),
    ],
)
def test_a_start_that_fails_says_why_and_leaves_nothing(
    mode: str, message: str, seen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def check() -> None:
        monkeypatch.setenv("FAKE_MODE", mode)
        enable()
        manager = ChannelManager(load_config(), MessageBus())
        await manager.start_all()
        status = manager.get_status()["realtime"]
        assert status["state"] == "failed" and status["error"].startswith(message)
        await manager.stop_all()
        assert [pid for pid in entries(seen, "pid") if is_alive(pid)] == []

    run(check())


def test_without_node_or_the_package_the_error_names_the_one_thing_to_do(tmp_path: Path) -> None:
    async def check() -> None:
        channel = RealtimeChannel(section(node=str(tmp_path / "nowhere")), MessageBus())
        with pytest.raises(StartError, match=r"Node\.js was not found at .*nowhere"):
            await channel.start()
        channel = RealtimeChannel(section(package=str(tmp_path)), MessageBus())
        with pytest.raises(StartError) as missing:
            await channel.start()
        assert channel.start_error_message(missing.value) == str(missing.value)
        assert channel.start_error_message(RuntimeError("a secret")) is None
        with pytest.raises(ValueError, match="toolAccess"):
            RealtimeChannel(section(toolAccess="root"), MessageBus())

    run(check())


def test_a_process_that_breaks_is_started_again_a_bounded_number_of_times(
    seen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def check() -> None:
        monkeypatch.setattr(channel_module, "RESPAWN_DELAYS_S", (0.01, 0.01))
        channel = RealtimeChannel(section(), MessageBus())
        task = await started(channel)
        for crashed in range(1, 4):
            await until(lambda: channel.is_running)
            message = OutboundMessage(channel="realtime", chat_id="c", content="crash")
            await channel.send(message)
            await until(lambda: task.done() or len(entries(seen, "pid")) > crashed)  # noqa: B023
        with pytest.raises(StartError, match="broke 3 times and is not started again"):
            await task
        assert not channel.is_running and len(entries(seen, "pid")) == 3
        # A message for a process that is not there is no error.
        await channel.send(OutboundMessage(channel="realtime", chat_id="c", content="hello"))
        await channel.send_delta("c", "hello")

    run(check())


def test_stop_takes_everything_along_also_what_does_not_want_to_go(seen: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def check() -> None:
        monkeypatch.setattr(process_module, "EXIT_GRACE_S", 0.2)
        for mode in ("child", "stubborn"):
            monkeypatch.setenv("FAKE_MODE", mode)
            channel = RealtimeChannel(section(server={"drainTimeoutS": 0}), MessageBus())
            task = await started(channel)
            if mode == "stubborn":
                # Twice, and at once: the second shortens the first.
                await asyncio.wait_for(asyncio.gather(channel.stop(), channel.stop()), 15)
            else:
                await channel.stop()
            await task
            await channel.stop()
            assert not channel.is_running
        left = [*entries(seen, "pid"), *entries(seen, "child")]
        await until(lambda: not [pid for pid in left if is_alive(pid)])
        assert len(left) == 3

    run(check())


def test_stop_before_start_and_during_it_are_the_end(seen: Path) -> None:
    async def check() -> None:
        channel = RealtimeChannel(section(), MessageBus())
        await channel.stop()
        await channel.start()
        assert entries(seen, "pid") == []
        channel = RealtimeChannel(section(), MessageBus())
        task = asyncio.create_task(channel.start())
        await until(lambda: channel._process is not None)
        await channel.stop()
        await asyncio.gather(task, return_exceptions=True)
        assert [pid for pid in entries(seen, "pid") if is_alive(pid)] == []

    run(check())
