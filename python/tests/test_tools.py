"""nanobot's own tools, run for a call: at level A (the agent's registry) and at level B (one like it)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from nanobot.agent.tools.context import current_request_context
from nanobot.bus.queue import MessageBus
from nanobot.security.workspace_access import current_workspace_scope

from nanobot_channel_realtime import nanobot_private as private
from nanobot_channel_realtime import wire
from nanobot_channel_realtime.access import RegistryHost, reach
from nanobot_channel_realtime.settings import ToolAccess
from nanobot_channel_realtime.tools import ToolRunner
from nanobot_channel_realtime.wire import WireError
from tests.support import Probe, make_agent, run, until

HINT = "\n\n[Analyze the error above and try a different approach.]"


class Bench:
    """A runner over an agent's tools."""

    def __init__(self, level: ToolAccess = "full", *, limit: int = 16_000, gateway: Any = None) -> None:
        self.bus = MessageBus()
        self.agent = make_agent(self.bus)
        self.access = reach(self.bus, level, gateway)
        ctx = self.access.ctx
        assert ctx is not None
        self.runner = ToolRunner(
            self.access.host,
            ctx.sessions,
            channel="realtime",
            max_output_chars=limit,
            is_allowed=lambda sender: sender == "+15550100",
            owns_session=lambda key: key.startswith("realtime:"),
        )
        self.count = 0

    @property
    def registry(self) -> Any:
        assert isinstance(self.access.host, RegistryHost)
        return self.access.host.registry

    async def execute(self, name: str, arguments: Any, **more: Any) -> dict[str, Any]:
        self.count += 1
        return await self.runner.execute(
            {
                "executionId": f"e{self.count}",
                "sessionKey": "realtime:c1",
                "channel": "realtime",
                "chatId": "c1",
                "senderId": "+15550100",
                "name": name,
                "arguments": arguments,
                "timeoutMs": 10_000,
                **more,
            }
        )


@pytest.mark.parametrize("level", ["full", "public"])
def test_a_file_is_read_and_an_escape_is_refused_in_nanobots_own_words(level: ToolAccess, workspace: Path) -> None:
    async def check() -> None:
        (workspace / "a.txt").write_text("hello there")
        bench = Bench(level)
        good = await bench.execute("read_file", '{"path": "a.txt"}')
        assert not good["isError"] and "hello there" in good["output"]
        bad = await bench.execute("read_file", {"path": "../../etc/passwd"})
        assert bad["isError"]
        assert bad["output"].startswith(f"Error: Path ../../etc/passwd is outside allowed directory {workspace}")
        assert bad["output"].endswith(HINT)
        private_address = await bench.execute("web_fetch", {"url": "http://127.0.0.1:8080/"})
        assert "resolves to private/internal address 127.0.0.1" in private_address["output"]
        unknown = await bench.execute("Read_File", {})
        assert "Did you mean 'read_file'?" in unknown["output"]

    run(check())


@pytest.mark.parametrize("level", ["full", "public"])
def test_the_carrier_is_no_tool_and_the_list_is_the_registrys(level: ToolAccess) -> None:
    async def check() -> None:
        bench = Bench(level)
        names = [each["function"]["name"] for each in (await bench.runner.list({}))["definitions"]]
        assert names == [each["function"]["name"] for each in bench.registry.get_definitions()]
        assert "read_file" in names and not [name for name in names if "realtime" in name or "carrier" in name]

    run(check())


def test_what_may_not_run_is_refused_before_the_tool_is_looked_at() -> None:
    async def check() -> None:
        bench = Bench()
        ran: list[int] = []

        async def work(**_: Any) -> str:
            ran.append(1)
            return "ran"

        bench.registry.register(Probe(work))
        for more in (
            {"channel": "websocket"},
            {"channel": "websocket", "senderId": None},
            {"channel": "telegram"},
            {"senderId": "+15550199"},
            {"sessionKey": "telegram:7"},
        ):
            with pytest.raises(WireError) as refused:
                await bench.execute("probe", {}, **more)
            assert refused.value.code == wire.REFUSED
        session = bench.agent.sessions.get_or_create_transient("realtime:c9", disabled_tools=["probe"])
        with pytest.raises(WireError) as refused:
            await bench.execute("probe", {}, sessionKey=session.key)
        assert refused.value.code == wire.REFUSED
        assert ran == []
        # A call that a person approved has no sender, and may come from another channel.
        approved = await bench.execute("probe", {}, senderId=None, channel="telegram", sessionKey="telegram:7")
        assert approved["output"] == "ran"

    run(check())


def test_the_contexts_are_bound_for_the_tool_and_gone_after_it() -> None:
    async def check() -> None:
        bench = Bench()
        found: list[Any] = []

        async def work(**_: Any) -> str:
            found.append((current_request_context(), current_workspace_scope()))
            raise RuntimeError("boom")

        bench.registry.register(Probe(work))
        result = await bench.execute("probe", {})
        request, scope = found[0]
        assert (request.channel, request.chat_id, request.session_key) == ("realtime", "c1", "realtime:c1")
        assert request.sender_id == "+15550100" and request.runtime is not None
        assert scope.source_channel is None and request.workspace == scope.project_path
        assert result == {"output": f"Error executing probe: boom{HINT}", "isError": True}
        assert current_request_context() is None and current_workspace_scope() is None

    run(check())


def test_a_call_can_be_cancelled_and_has_a_deadline() -> None:
    async def check() -> None:
        bench = Bench()
        ended: list[str] = []

        async def work(**_: Any) -> str:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("ended")
            return ""

        bench.registry.register(Probe(work))
        task = asyncio.create_task(bench.execute("probe", {}))
        await until(lambda: bench.runner.running == 1)
        await bench.runner.cancel({"executionId": "e1"})
        await bench.runner.cancel({"executionId": "unknown"})
        with pytest.raises(WireError) as cancelled:
            await task
        assert cancelled.value.code == wire.CANCELLED
        with pytest.raises(WireError) as late:
            await bench.execute("probe", {}, timeoutMs=20)
        assert late.value.code == wire.DEADLINE
        await until(lambda: len(ended) == 2)
        assert bench.runner.running == 0

    run(check())


def test_a_tool_that_may_not_share_runs_alone_and_in_its_turn() -> None:
    async def check() -> None:
        bench = Bench()
        order: list[str] = []

        def probe(name: str, *, alone: bool) -> Probe:
            async def work(n: int = 0) -> str:
                order.append(f"+{name}{n}")
                await asyncio.sleep(0.01)
                order.append(f"-{name}{n}")
                return name

            return Probe(work, name=name, alone=alone, read_only=not alone)

        bench.registry.register(probe("s", alone=False))
        bench.registry.register(probe("x", alone=True))
        other = bench.execute("x", {"n": 9}, sessionKey="realtime:c2")
        await asyncio.gather(
            bench.execute("s", {"n": 1}),
            bench.execute("s", {"n": 2}),
            bench.execute("x", {"n": 3}),
            bench.execute("s", {"n": 4}),
            other,
        )
        mine = [entry for entry in order if not entry.endswith("9")]
        assert mine[:2] == ["+s1", "+s2"] and set(mine[2:4]) == {"-s1", "-s2"}
        assert mine[4:] == ["+x3", "-x3", "+s4", "-s4"]
        # Another session's waits for nobody.
        assert order.index("+x9") < order.index("-s1")

    run(check())


def test_outputs_are_made_into_what_a_turn_would_hand_its_model(workspace: Path) -> None:
    async def check() -> None:
        bench = Bench(limit=100)
        outputs: list[Any] = ["", None, "x" * 101, [{"type": "text", "text": "y" * 101}], {"a": 1}]

        async def work(n: int) -> Any:
            return outputs[n]

        bench.registry.register(Probe(work))
        results = [(await bench.execute("probe", {"n": n}))["output"] for n in range(len(outputs))]
        assert results[0] == results[1] == "(probe completed with no output)"
        assert len(list((workspace / ".nanobot" / "tool-results").rglob("*.txt"))) == 2
        assert str(workspace) in results[2] and "x" * 101 not in results[2]
        assert results[3][0]["type"] == "text" and str(workspace) in results[3][0]["text"]
        assert results[4] == "{'a': 1}"

    run(check())


def test_a_nanobot_that_is_not_as_expected_is_only_used_by_its_public_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    bus = MessageBus()
    agent = make_agent(bus)
    assert reach(bus, "full", None).loop is agent
    monkeypatch.setattr(agent, "_file_state_store", object())
    access = reach(bus, "full", None)
    assert (access.level, access.loop) == ("public", None)
    assert access.note is not None and "_file_state_store" in access.note


def test_the_loop_is_found_even_when_the_control_does_not_lead_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    bus = MessageBus()
    agent = make_agent(bus)
    ctx = reach(bus, "full", None).ctx
    assert ctx is not None
    monkeypatch.setattr(ctx, "runtime_control", None)
    assert private.find_loop(ctx, bus) is agent


def test_less_is_never_more_than_was_asked_for() -> None:
    bus = MessageBus()
    assert reach(bus, "full", None).level == "delegate"
    make_agent(bus)
    assert reach(bus, "public", None).loop is None
    delegate = reach(bus, "delegate", object())
    assert (delegate.level, delegate.host) == ("delegate", None)


def test_a_gateway_that_the_core_hands_over_comes_before_everything() -> None:
    class Gateway:
        async def get_tool_definitions(self) -> list[dict[str, Any]]:
            return [{"type": "function", "function": {"name": "given"}}]

        async def execute_tool(self, name: str, args: Any, *, channel: str, chat_id: str) -> str:
            return f"{name} {args} {channel}:{chat_id}"

    async def check() -> None:
        bench = Bench("public", gateway=Gateway())
        assert bench.access.level == "full"
        assert len((await bench.runner.list({}))["definitions"]) == 1
        assert (await bench.execute("given", {}))["output"] == "given {} realtime:c1"

    run(check())
