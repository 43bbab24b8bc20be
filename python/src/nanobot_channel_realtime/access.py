"""How far into nanobot this channel reaches: the levels of ``toolAccess``, best first."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nanobot.agent.loop import AgentLoop
from nanobot.agent.tools.context import RequestContext, ToolContext
from nanobot.agent.tools.file_state import FileStates, FileStateStore
from nanobot.agent.tools.loader import ToolLoader
from nanobot.agent.tools.registry import ToolRegistry
from nanobot.bus.queue import MessageBus
from nanobot.security.workspace_access import WorkspaceScopeResolver
from nanobot.session.manager import Session

from nanobot_channel_realtime import nanobot_private as private
from nanobot_channel_realtime.carrier import tool_context_of
from nanobot_channel_realtime.settings import ToolAccess

Level = Literal["full", "public", "delegate"]


@dataclass
class RegistryHost:
    """A registry, and what a turn binds around a call to it. Level A has the agent's own, level B one like it."""

    registry: ToolRegistry
    scopes: WorkspaceScopeResolver
    file_states: Callable[[str], FileStates]
    #: What a turn of this session runs on; some tools want it.
    runtime_of: Callable[[Session], Any]
    max_output_chars: int | None = None

    def definitions(self) -> list[dict[str, Any]]:
        return self.registry.get_definitions()

    def context(
        self, *, channel: str, chat_id: str, sender_id: str | None, session: Session, turn_id: str
    ) -> tuple[RequestContext, Any]:
        """The request context and the workspace scope of one call."""
        scope = self.scopes.for_turn(channel=channel, message_metadata=None, session_metadata=session.metadata)
        request = RequestContext(
            channel=channel,
            chat_id=chat_id,
            session_key=session.key,
            runtime=self.runtime_of(session),
            sender_id=sender_id,
            turn_id=turn_id,
            workspace=scope.project_path,
        )
        return request, scope


class GivenGateway:
    """Level A0: the core itself handed over a tool gateway. Its methods may be plain or async."""

    def __init__(self, gateway: Any) -> None:
        self._gateway = gateway
        self._takes_session = "session_key" in inspect.signature(gateway.execute_tool).parameters

    def definitions(self) -> Any:
        return self._gateway.get_tool_definitions()

    def execute(self, session_key: str, name: str, arguments: Any, *, channel: str, chat_id: str) -> Any:
        where = {"channel": channel, "chat_id": chat_id}
        if self._takes_session:
            return self._gateway.execute_tool(session_key, name, arguments, **where)
        return self._gateway.execute_tool(name, arguments, **where)


@dataclass
class Access:
    """What was asked for, and what there is."""

    requested: ToolAccess
    level: Level
    host: RegistryHost | GivenGateway | None
    ctx: ToolContext | None
    loop: AgentLoop | None
    note: str | None = None
    #: nanobot's own locks of sessions; without them rows are written under locks of ours.
    locks: private.SessionLocks | None = None
    #: Why they are not there.
    locks_note: str | None = None

    def to_wire(self, *, gate: bool) -> dict[str, Any]:
        wire: dict[str, Any] = {"requested": self.requested, "level": self.level, "gate": gate}
        return wire if self.note is None else {**wire, "note": self.note}


def _full(loop: AgentLoop) -> RegistryHost:
    store = private.file_state_store(loop)
    return RegistryHost(
        registry=loop.tools,
        scopes=loop.workspace_scopes,
        file_states=store.for_session,
        runtime_of=loop.runtime_for_session,
        max_output_chars=loop.max_tool_result_chars,
    )


def _public(ctx: ToolContext) -> RegistryHost:
    registry = ToolRegistry()
    ToolLoader().load(ctx, registry)
    store = FileStateStore()
    return RegistryHost(
        registry=registry,
        scopes=WorkspaceScopeResolver(Path(ctx.workspace), ctx.config.restrict_to_workspace),
        file_states=store.for_session,
        runtime_of=lambda _session: None,
    )


def reach(bus: MessageBus, requested: ToolAccess, tool_gateway: Any) -> Access:
    """What ``requested`` comes to with this nanobot. Never more than was asked for."""
    ctx = tool_context_of(bus)
    access = _reach(ctx, bus, requested, tool_gateway)
    if ctx is not None:
        try:
            access.locks = private.session_locks(ctx, bus)
        except private.Mismatch as error:
            access.locks_note = str(error)
    return access


def _reach(ctx: ToolContext | None, bus: MessageBus, requested: ToolAccess, tool_gateway: Any) -> Access:
    if requested == "delegate":
        return Access(requested, "delegate", None, ctx, None)
    if tool_gateway is not None:
        return Access(requested, "full", GivenGateway(tool_gateway), ctx, None, "the core gave a tool gateway")
    if ctx is None:
        note = (
            "nanobot did not ask our entry point for tools (is the package installed with pip?); "
            "requests go to the agent as a whole"
        )
        return Access(requested, "delegate", None, None, None, note)
    if requested == "full":
        try:
            loop = private.find_loop(ctx, bus)
            return Access(requested, "full", _full(loop), ctx, loop)
        except private.Mismatch as error:
            note = f"this nanobot is not as expected ({error}); only public classes are used"
            return Access(requested, "public", _public(ctx), ctx, None, note)
    return Access(requested, "public", _public(ctx), ctx, None)
