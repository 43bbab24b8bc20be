"""The carrier: an entry point of nanobot's for tools, through which its tool context reaches the channel.

nanobot asks every class of the group ``nanobot.tools`` whether it is enabled, with the context that tools are made
with. This one keeps the context for the channel and says no, so it is never made, registered or shown to a model.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from nanobot.agent.tools.base import Tool
from nanobot.agent.tools.context import ToolContext
from nanobot.bus.queue import MessageBus

_contexts: WeakKeyDictionary[MessageBus, ToolContext] = WeakKeyDictionary()


def tool_context_of(bus: MessageBus) -> ToolContext | None:
    """The context that the agent of this bus makes its tools with; ``None`` before there is an agent."""
    return _contexts.get(bus)


class RealtimeCarrier(Tool):
    """Never a tool; see the module."""

    @property
    def name(self) -> str:
        return "realtime_carrier"

    @property
    def description(self) -> str:
        return "Not a tool."

    @property
    def parameters(self) -> dict[str, Any]:
        return {"type": "object", "properties": {}}

    @classmethod
    def enabled(cls, ctx: ToolContext) -> bool:
        # The agent's own load comes first; later ones (our own registry, subagents without a bus) change nothing.
        if ctx.bus is not None and ctx.sessions is not None:
            _contexts.setdefault(ctx.bus, ctx)
        return False

    async def execute(self, **kwargs: Any) -> Any:
        raise RuntimeError("the carrier is no tool")
