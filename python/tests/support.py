"""What the tests share: a nanobot home, a scripted model, an agent, and the fake voice process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from nanobot.agent.loop import AgentLoop
from nanobot.agent.tools.base import Tool
from nanobot.agent.tools.registry import ToolRegistry
from nanobot.bus.queue import MessageBus
from nanobot.config.loader import load_config
from nanobot.providers.base import LLMProvider, LLMResponse, ToolCallRequest

from nanobot_channel_realtime.channel import RealtimeChannel

FAKE_VOICE = Path(__file__).parent / "fake_voice"
T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs it to its end, and fails rather than hang."""
    return asyncio.run(asyncio.wait_for(work, 30))


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


class ScriptedModel(LLMProvider):
    """Answers with what it was given, one after another."""

    def __init__(self, *answers: LLMResponse) -> None:
        super().__init__(provider_name="scripted")
        self.answers = list(answers)
        self.asked: list[list[dict[str, Any]]] = []

    async def chat(self, messages: list[dict[str, Any]], *args: Any, **kwargs: Any) -> LLMResponse:
        self.asked.append(messages)
        return self.answers.pop(0) if self.answers else LLMResponse(content="Done.")

    def get_default_model(self) -> str:
        return "scripted"


def calls(name: str, **arguments: Any) -> LLMResponse:
    return LLMResponse(content=None, tool_calls=[ToolCallRequest(id=f"call_{name}", name=name, arguments=arguments)])


def make_agent(bus: MessageBus, *answers: LLMResponse) -> AgentLoop:
    """The agent loop as the gateway makes it, with our carrier among its entry points."""
    registry = ToolRegistry()
    return AgentLoop.from_config(
        load_config(), bus, tool_registry=registry, provider=ScriptedModel(*answers), model="scripted"
    )


class Probe(Tool):
    """A tool that says what it was run with."""

    def __init__(
        self, work: Callable[..., Awaitable[Any]], *, name: str = "probe", alone: bool = False, read_only: bool = True
    ) -> None:
        self._work, self._name, self._alone, self._read_only = work, name, alone, read_only

    @property
    def name(self) -> str:
        return self._name

    @property
    def description(self) -> str:
        return "A probe."

    @property
    def parameters(self) -> dict[str, Any]:
        return {"type": "object", "properties": {"n": {"type": "integer"}}}

    @property
    def read_only(self) -> bool:
        return self._read_only

    @property
    def exclusive(self) -> bool:
        return self._alone

    async def execute(self, **kwargs: Any) -> Any:
        return await self._work(**kwargs)


def section(**more: Any) -> dict[str, Any]:
    return {"enabled": True, "package": str(FAKE_VOICE), **more}


async def started(channel: RealtimeChannel) -> asyncio.Task[None]:
    """Its start, once it runs."""
    task = asyncio.create_task(channel.start())
    await until(lambda: channel.is_running or task.done())
    if task.done():
        task.result()
    return task


async def ask(channel: RealtimeChannel, method: str, /, **params: Any) -> dict[str, Any]:
    """Lets the voice process make a request of nanobot, and gives back ``result`` or ``error``."""
    content = json.dumps({"ask": method, "params": params})
    answer = await channel.peer.request("outbound", {"chatId": "c", "content": content, "kind": "other"}, 20)
    return dict(answer["answer"])


def entries(seen: Path, key: str) -> list[Any]:
    if not seen.exists():
        return []
    found = [json.loads(line) for line in seen.read_text("utf-8").splitlines()]
    return [entry[key] for entry in found if key in entry]
