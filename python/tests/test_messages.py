"""What passes between the agent and the callers."""

from __future__ import annotations

from pathlib import Path

from nanobot.bus.events import OutboundMessage
from nanobot.bus.outbound_events import ProgressEvent, TurnEndEvent
from nanobot.bus.queue import MessageBus
from nanobot.config.loader import load_config, save_config

from nanobot_channel_realtime.channel import RealtimeChannel
from tests.support import ask, entries, make_agent, run, section, started, until


def test_what_the_agent_says_is_handed_over_by_its_kind(workspace: Path, seen: Path) -> None:
    async def check() -> None:
        channel = RealtimeChannel(section(streaming=True), MessageBus())
        task = await started(channel)
        assert channel.supports_streaming
        picture = workspace / "p.png"
        for event, content, media in (
            (None, "the answer", [str(picture), "relative.png", "https://example.com/x.png"]),
            (ProgressEvent(), "I am looking", []),
            (TurnEndEvent(), "", []),
        ):
            message = OutboundMessage(
                channel="realtime",
                chat_id="c",
                content=content,
                media=media,
                event=event,
                metadata={"realtime_request": "mark", "odd": object()},
            )
            await channel.send(message)
        await channel.send_delta("c", "par", {"a": 1}, stream_id="s", stream_end=True, merge_next=True)
        await until(lambda: entries(seen, "delta"))
        said = entries(seen, "outbound")
        assert [each["kind"] for each in said] == ["final", "progress", "other"]
        assert said[0]["media"] == [str(picture)] and said[0]["metadata"] == {"realtime_request": "mark"}
        assert entries(seen, "delta") == [
            {"chatId": "c", "text": "par", "streamId": "s", "end": True, "mergeNext": True, "metadata": {"a": 1}}
        ]
        assert channel.progress_transport_defaults() == (True, False)
        await channel.stop()
        await task

    run(check())


def test_a_request_for_the_agent_goes_to_the_bus_in_the_session_that_it_names(seen: Path) -> None:
    async def check() -> None:
        bus = MessageBus()
        channel = RealtimeChannel(section(allowFrom=["+15550100"]), bus)
        task = await started(channel)
        request = {
            "sessionKey": "realtime:c",
            "chatId": "c",
            "senderId": "+15550100",
            "text": "do it",
            "metadata": {"realtime_request": "m"},
        }
        assert (await ask(channel, "inbound", **request))["result"] == {}
        message = await bus.consume_inbound()
        assert (message.content, message.session_key, message.sender_id) == ("do it", "realtime:c", "+15550100")
        assert message.metadata["realtime_request"] == "m"
        assert (await ask(channel, "stop", **request))["result"] == {}
        assert (await bus.consume_inbound()).content == "/stop"
        for wrong in ({"senderId": "+15550199"}, {"sessionKey": "unified:default"}, {"sessionKey": "telegram:1"}):
            assert (await ask(channel, "inbound", **{**request, **wrong}))["error"]["code"] == -32004
            assert (await ask(channel, "stop", **{**request, **wrong}))["error"]["code"] == -32004
        assert bus.inbound.empty()
        assert (await ask(channel, "allowed", senderId="+15550100"))["result"] == {"allowed": True}
        assert (await ask(channel, "allowed", senderId="+15550199"))["result"] == {"allowed": False}
        assert (await ask(channel, "ping"))["result"] == {}
        await channel.stop()
        await task

    run(check())


def test_a_message_for_another_channel_goes_there_and_its_files_are_ours(home: Path, seen: Path) -> None:
    async def check() -> None:
        config = load_config()
        setattr(config.channels, "telegram", {"enabled": True, "token": "x"})  # noqa: B010
        save_config(config)
        bus = MessageBus()
        channel = RealtimeChannel(section(), bus)
        task = await started(channel)
        card = home / "realtime" / "card.png"
        card.parent.mkdir(exist_ok=True)
        card.write_bytes(b"x")
        message = {"channel": "telegram", "chatId": "7", "content": "please decide", "media": [str(card)]}
        assert (await ask(channel, "message/send", **message))["result"] == {}
        sent = await bus.consume_outbound()
        assert (sent.channel, sent.chat_id, sent.media) == ("telegram", "7", [str(card)])
        for name in ("realtime", "slack", "websocket"):
            assert (await ask(channel, "message/send", **{**message, "channel": name}))["error"]["code"] == -32005
        other = await ask(channel, "message/send", **{**message, "media": [str(home / "config.json")]})
        assert other["error"]["code"] == -32602
        assert bus.outbound.empty()
        await channel.stop()
        await task

    run(check())


def test_one_session_for_everybody_is_a_callers_only_where_nanobot_has_one(seen: Path) -> None:
    async def check() -> None:
        config = load_config()
        config.agents.defaults.unified_session = True
        save_config(config)
        bus = MessageBus()
        make_agent(bus)
        channel = RealtimeChannel(section(), bus)
        task = await started(channel)
        assert entries(seen, "initialize")[0]["host"]["unifiedSession"] is True
        answer = await ask(channel, "history", sessionKey="unified:default", limit=5)
        assert answer["result"] == {"items": []}
        assert (await ask(channel, "history", sessionKey="telegram:5", limit=5))["error"]["code"] == -32004
        await channel.stop()
        await task

    run(check())


def test_a_message_for_nobody_on_the_line_waits_in_the_session_once_and_a_strangers_not_in_everybodys() -> None:
    async def check() -> None:
        config = load_config()
        config.agents.defaults.unified_session = True
        save_config(config)
        bus = MessageBus()
        agent = make_agent(bus)
        channel = RealtimeChannel(section(), bus)
        task = await started(channel)
        stranger = "0123456789abcdef" * 2
        for chat in ("ada", "ada", stranger):
            await channel.send(OutboundMessage(channel="realtime", chat_id=chat, content="Your parcel has come."))
        shared = agent.sessions.get_or_create("unified:default")
        own = agent.sessions.get_or_create(f"realtime:{stranger}")
        await until(lambda: shared.messages and own.messages)
        for session in (shared, own):
            (row,) = session.messages
            assert (row["role"], row["content"], row["_channel_delivery"]) == (
                "assistant",
                "Your parcel has come.",
                True,
            )
        await channel.stop()
        await task

    run(check())
