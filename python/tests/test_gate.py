"""The gate at level A: nothing reaches a gated tool by any of nanobot's ways to its tools."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from nanobot.agent.loop import AgentLoop
from nanobot.agent.tools.registry import ToolRegistry
from nanobot.bus.events import InboundMessage, OutboundMessage
from nanobot.bus.queue import MessageBus
from nanobot.providers.base import LLMResponse

from nanobot_channel_realtime.channel import RealtimeChannel, StartError
from nanobot_channel_realtime.gate import CLOSED, current_execution, gate_of
from nanobot_channel_realtime.service import Service
from tests.support import Probe, ask, calls, entries, make_agent, run, section, started, until

GATED = {"toolGate": {"requireApproval": ["write_file"]}}


class Asked:
    """Answers the gate, and writes down what it was asked."""

    def __init__(self, agent: AgentLoop) -> None:
        self.params: list[dict[str, Any]] = []
        self.changes = 0
        self.gate = gate_of(agent)
        self.gate.hold(self, self.check, self.decide, self.changed)

    async def check(self, params: dict[str, Any]) -> dict[str, Any]:
        self.params.append(params)
        run = params["name"] not in ("write_file", "exec")
        return {"run": run, "output": "It waits for a person.", "isError": False}

    async def decide(self, params: dict[str, Any]) -> str:
        return f"{params['channel']}:{params['senderId']} wrote {params['content']}"

    def changed(self) -> None:
        self.changes += 1


async def text_turn(bus: MessageBus, agent: AgentLoop, content: str, **more: Any) -> list[OutboundMessage]:
    """One message, and what the agent answers."""
    serving = asyncio.create_task(agent.run())
    await bus.publish_inbound(InboundMessage(channel="telegram", sender_id="7", chat_id="7", content=content, **more))
    # What it says in between, such as the names of tools, is not the answer.
    while (said := await bus.consume_outbound()).event is not None:
        pass
    agent.stop()
    await serving
    return [said]


def test_a_text_turn_that_is_delegated_to_a_gated_tool_runs_nothing(workspace: Path) -> None:
    async def check() -> None:
        bus = MessageBus()
        agent = make_agent(bus, calls("write_file", path="evil.txt", content="x"), LLMResponse(content="I asked."))
        asked = Asked(agent)
        said = await text_turn(bus, agent, "write it", metadata={"realtime_request": "mark"})
        assert said[0].content == "I asked."
        assert not (workspace / "evil.txt").exists()
        (params,) = asked.params
        assert params["name"] == "write_file" and params["arguments"] == {"path": "evil.txt", "content": "x"}
        assert (params["channel"], params["chatId"], params["sessionKey"]) == ("telegram", "7", "telegram:7")
        assert (params["senderId"], params["request"]) == ("7", "mark")
        assert "executionId" not in params
        rows = agent.sessions.get_or_create("telegram:7").messages
        assert any(row["role"] == "tool" and row["content"] == "It waits for a person." for row in rows)

    run(check())


def test_registry_runner_and_subagents_all_meet_it_and_so_do_tools_that_join_later(workspace: Path) -> None:
    async def check() -> None:
        bus = MessageBus()
        agent = make_agent(bus)
        asked = Asked(agent)

        async def work(**_: Any) -> str:
            return "ran"

        agent.tools.register(Probe(work, name="mcp_late"))
        assert asked.changes == 1
        assert await agent.tools.execute("mcp_late", {}) == "ran"
        assert await agent.tools.execute("write_file", {"path": "a", "content": "b"}) == "It waits for a person."
        restricted = ToolRegistry()
        tool = agent.tools.get("exec")
        assert tool is not None
        restricted.register(tool)
        assert await restricted.execute("exec", {"command": "touch evil"}) == "It waits for a person."
        theirs = agent.subagents._build_tools()
        assert "write_file" in theirs.tool_names
        assert await theirs.execute("write_file", {"path": "a", "content": "b"}) == "It waits for a person."
        assert [params["name"] for params in asked.params] == ["mcp_late", "write_file", "exec", "write_file"]
        assert not (workspace / "a").exists()
        agent.tools.unregister("mcp_late")
        assert asked.changes == 2

    run(check())


def test_whatever_goes_wrong_with_the_question_the_tool_does_not_run() -> None:
    async def check() -> None:
        agent = make_agent(MessageBus())
        ran: list[int] = []

        async def work(**_: Any) -> str:
            ran.append(1)
            return "ran"

        agent.tools.register(Probe(work))
        gate = gate_of(agent)

        async def fails(_params: dict[str, Any]) -> dict[str, Any]:
            raise TimeoutError

        async def strange(_params: dict[str, Any]) -> Any:
            return {"run": "yes"}

        for check_call in (fails, strange):
            gate.hold("me", check_call, None, lambda: None)
            result = await agent.tools.execute("probe", {})
            assert str(result).startswith(CLOSED) and result.is_error
        gate.release("somebody else")
        assert str(await agent.tools.execute("probe", {})).startswith(CLOSED)
        assert ran == []
        gate.release("me")
        assert await agent.tools.execute("probe", {}) == "ran"

    run(check())


def test_what_a_tool_sets_to_work_is_not_the_execution_that_set_it_to_work() -> None:
    async def check() -> None:
        agent = make_agent(MessageBus())
        asked = Asked(agent)
        later: list[Any] = []

        async def work(**_: Any) -> str:
            later.append(asyncio.create_task(agent.tools.execute("inner", {})))
            return "ran"

        async def inner(**_: Any) -> str:
            return "inner"

        agent.tools.register(Probe(work, name="outer"))
        agent.tools.register(Probe(inner, name="inner"))
        current_execution.set("e1")
        await agent.tools.execute("outer", {})
        await later[0]
        assert [params.get("executionId") for params in asked.params] == ["e1", None]

    run(check())


@pytest.mark.parametrize("content", ["/approve 0123456789 always", "/deny 0123456789 no, thank you", "/approve"])
def test_a_decision_reaches_the_approvals_from_any_channel_with_its_sender(content: str) -> None:
    async def check() -> None:
        bus = MessageBus()
        agent = make_agent(bus)
        Asked(agent)
        (said,) = await text_turn(bus, agent, content)
        assert said.content == f"telegram:7 wrote {content}"
        gate_of(agent).release(gate_of(agent)._holder or "")
        (said,) = await text_turn(bus, agent, "/approve 0123456789")
        assert said.content == "There are no approvals here now; nothing was decided."

    run(check())


def test_the_gate_is_closed_from_the_moment_the_channel_is_made_until_it_is_stopped(
    workspace: Path, seen: Path
) -> None:
    async def check() -> None:
        bus = MessageBus()
        agent = make_agent(bus)
        channel = RealtimeChannel(section(toolAccess="full", approvals=GATED), bus)
        write = {"path": "a.txt", "content": "b"}
        assert str(await agent.tools.execute("write_file", write)).startswith(CLOSED)
        task = await started(channel)
        assert await agent.tools.execute("write_file", write) == "It waits for a person."
        assert "No such" not in str(await agent.tools.execute("list_dir", {"path": "."}))
        executed = await ask(
            channel,
            "tools/execute",
            executionId="e7",
            sessionKey="realtime:c",
            channel="realtime",
            chatId="c",
            senderId="x",
            name="write_file",
            arguments=write,
            timeoutMs=5000,
        )
        assert executed["result"] == {"output": "It waits for a person.", "isError": False}
        assert entries(seen, "check")[-1]["executionId"] == "e7"
        assert not (workspace / "a.txt").exists()
        await channel.stop()
        await task
        assert "Successfully" in str(await agent.tools.execute("write_file", write))

    run(check())


def test_a_channel_that_takes_over_keeps_the_gate_when_the_old_one_goes(seen: Path) -> None:
    async def check() -> None:
        bus = MessageBus()
        agent = make_agent(bus)
        old = RealtimeChannel(section(toolAccess="full", approvals=GATED), bus)
        new = RealtimeChannel(section(toolAccess="full", approvals=GATED), bus)
        await old.stop()
        assert str(await agent.tools.execute("list_dir", {"path": "."})).startswith(CLOSED)
        await new.stop()

    run(check())


def test_a_server_that_comes_or_goes_is_told_of_once(seen: Path) -> None:
    async def check() -> None:
        bus = MessageBus()
        agent = make_agent(bus)
        channel = RealtimeChannel(section(toolAccess="full"), bus)
        task = await started(channel)

        async def work(**_: Any) -> str:
            return ""

        for n in range(5):
            agent.tools.register(Probe(work, name=f"mcp_x_{n}"))
        await until(lambda: entries(seen, "tools/changed"))
        await asyncio.sleep(0.1)
        assert len(entries(seen, "tools/changed")) == 1
        await channel.stop()
        await task

    run(check())


def test_every_handler_of_the_wire_is_there() -> None:
    channel = RealtimeChannel(section(), MessageBus())
    service = Service(channel, channel.access)
    wanted = {"tools/list", "tools/execute", "inbound", "stop", "message/send", "session/append", "history"}
    assert set(service.requests) == wanted | {"allowed", "ping"}
    assert set(service.notifications) == {"tools/cancel", "status", "log"}


def test_the_voice_process_says_whether_there_is_a_gate(seen: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def check() -> None:
        bus = MessageBus()
        agent = make_agent(bus)
        # The section tells of none; the process is asked all the same when it says that it has one.
        channel = RealtimeChannel(section(toolAccess="full"), bus)
        task = await started(channel)
        assert await agent.tools.execute("write_file", {"path": "a", "content": "b"}) == "It waits for a person."
        await channel.stop()
        await task
        monkeypatch.setenv("FAKE_MODE", "no-gate")
        channel = RealtimeChannel(section(toolAccess="full", approvals=GATED), bus)
        task = await started(channel)
        assert "Successfully" in str(await agent.tools.execute("write_file", {"path": "a", "content": "b"}))
        await channel.stop()
        await task

    run(check())


def test_a_gate_for_everything_that_can_not_be_put_up_is_no_start(seen: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def check() -> None:
        bus = MessageBus()
        agent = make_agent(bus)
        monkeypatch.setattr(agent, "_file_state_store", object())
        channel = RealtimeChannel(section(toolAccess="full", approvals=GATED), bus)
        with pytest.raises(StartError, match=r"_file_state_store.*voiceOnly"):
            await channel.start()
        assert entries(seen, "pid") == []
        channel = RealtimeChannel(section(toolAccess="full", approvals={**GATED, "scope": "voiceOnly"}), bus)
        task = await started(channel)
        assert channel.access.level == "public"
        await channel.stop()
        await task

    run(check())
