"""The approval gate inside nanobot (``toolAccess: "full"``): in front of ``execute`` of every tool there is.

nanobot's own text turns call a tool's ``execute`` themselves, so a gate before the registry would be walked around by
delegation and by every other channel. Each tool object is wrapped instead: those in the registry, those that join it
later, and those that subagents make for themselves.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from nanobot.agent.loop import AgentLoop
from nanobot.agent.tools.base import Tool, ToolResult
from nanobot.agent.tools.context import current_request_context
from nanobot.agent.tools.registry import ToolRegistry
from nanobot.bus.events import OutboundMessage
from nanobot.command import CommandContext

from nanobot_channel_realtime import nanobot_private as private

#: How long the voice process may take to say whether a call may run.
CHECK_TIMEOUT_S = 15.0
CLOSED = "Error: HOST_UNAVAILABLE: the approval gate could not be asked; nothing was run."
NO_GATE = "There are no approvals here now; nothing was decided."

#: The execution of ours that runs in this task, if it is one; read by the gate that its tool meets.
current_execution: ContextVar[str | None] = ContextVar("nanobot_realtime_execution", default=None)

#: Asks the voice process: parameters of `gate/check`, to its result.
Check = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
#: Parameters of `approvals/decide`, to the reply; ``None`` when it was no decision.
Decide = Callable[[dict[str, Any]], Awaitable[str | None]]


class LiveGate:
    """One for each agent loop. Whoever holds it answers; while it is held and nobody can answer, nothing runs."""

    def __init__(self, loop: AgentLoop) -> None:
        self._holder: object | None = None
        self._check: Check | None = None
        self._decide: Decide | None = None
        self._changed: Callable[[], None] | None = None
        self._wrapped: WeakSet[Tool] = WeakSet()
        self._watched: WeakSet[ToolRegistry] = WeakSet()
        self._loop = loop
        self._watch(loop.tools, lambda: self._changed and self._changed())
        private.watch_subagent_tools(loop, self._watch)
        for command in ("/approve", "/deny"):
            loop.commands.exact(command, self._command)
            loop.commands.prefix(f"{command} ", self._command)

    def hold(self, holder: object, check: Check | None, decide: Decide | None, changed: Callable[[], None]) -> None:
        """From now on ``holder`` answers. Without ``check`` nothing is asked and everything runs."""
        self._holder, self._check, self._decide, self._changed = holder, check, decide, changed

    def release(self, holder: object) -> None:
        """Lets everything run again; nothing happens when somebody else has taken over."""
        if self._holder is holder:
            self._holder = self._check = self._decide = self._changed = None

    def _watch(self, registry: ToolRegistry, changed: Callable[[], Any] = lambda: None) -> None:
        if registry in self._watched:
            return
        self._watched.add(registry)
        for name in registry.tool_names:
            if (tool := registry.get(name)) is not None:
                self._wrap(tool)
        register, unregister = registry.register, registry.unregister

        @functools.wraps(register)
        def register_gated(tool: Tool) -> None:
            self._wrap(tool)
            register(tool)
            changed()

        @functools.wraps(unregister)
        def unregister_told(name: str) -> None:
            unregister(name)
            changed()

        setattr(registry, "register", register_gated)  # noqa: B010
        setattr(registry, "unregister", unregister_told)  # noqa: B010

    def _wrap(self, tool: Tool) -> None:
        if tool in self._wrapped:
            return
        self._wrapped.add(tool)
        execute = tool.execute

        @functools.wraps(execute)
        async def execute_gated(**arguments: Any) -> Any:
            refusal = await self._refusal(tool.name, arguments)
            if refusal is not None:
                return refusal
            # What the tool sets to work is not this execution any more.
            token = current_execution.set(None)
            try:
                return await execute(**arguments)
            finally:
                current_execution.reset(token)

        setattr(tool, "execute", execute_gated)  # noqa: B010

    async def _refusal(self, name: str, arguments: dict[str, Any]) -> ToolResult | None:
        if self._check is None:
            return None
        context = current_request_context()
        params: dict[str, Any] = {
            "sessionKey": (context.session_key if context else None) or "",
            "channel": context.channel if context else "",
            "chatId": context.chat_id if context else "",
            "name": name,
            "arguments": arguments,
        }
        if context is not None and context.sender_id:
            params["senderId"] = context.sender_id
        # The mark of a request that a call made of the agent: its caller may then be asked on the line.
        if context is not None and isinstance(request := context.metadata.get("realtime_request"), str):
            params["request"] = request
        # And the call itself, for what the agent does once its request is answered.
        if context is not None and isinstance(call := context.metadata.get("realtime_call"), str):
            params["call"] = call
        if (execution := current_execution.get()) is not None:
            params["executionId"] = execution
        try:
            verdict = await self._check(params)
            if verdict["run"] is True:
                return None
            return ToolResult(str(verdict["output"]), is_error=verdict["isError"] is True)
        except Exception:
            # Whatever went wrong, the tool does not run.
            return ToolResult.error(CLOSED)

    async def _command(self, ctx: CommandContext) -> OutboundMessage | None:
        reply: str | None = NO_GATE
        if self._decide is not None:
            message = {
                "channel": ctx.msg.channel,
                "senderId": str(ctx.msg.sender_id),
                "chatId": str(ctx.msg.chat_id),
                "content": ctx.raw,
            }
            try:
                reply = await self._decide(message)
            except Exception:
                reply = "That did not work, and nothing was decided. Please try again."
        return OutboundMessage(
            channel=ctx.msg.channel,
            chat_id=ctx.msg.chat_id,
            content=reply or NO_GATE,
            metadata={**dict(ctx.msg.metadata or {}), "render_as": "text"},
        )


_gates: WeakKeyDictionary[AgentLoop, LiveGate] = WeakKeyDictionary()


def gate_of(loop: AgentLoop) -> LiveGate:
    """The gate of this loop; made, and put in front of its tools, the first time it is asked for."""
    gate = _gates.get(loop)
    if gate is None:
        gate = _gates[loop] = LiveGate(loop)
    return gate
