"""Everything of nanobot's that has no public name, in one place, with its type checked before it is used.

Whatever is not as expected makes a ``Mismatch``, and the channel falls back to what is public.

At every level, to write rows of a call under the lock that a turn of the session holds:
``AgentRuntimeControl.__target``, ``AgentLoop._get_session_lock``. Nothing else of the loop is touched for it.

At ``toolAccess: "full"`` only, besides: ``AgentLoop._file_state_store``, ``SubagentManager._build_tools``.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from typing import Any

from nanobot.agent.loop import AgentLoop
from nanobot.agent.subagent import SubagentManager
from nanobot.agent.tools.context import ToolContext
from nanobot.agent.tools.file_state import FileStateStore
from nanobot.agent.tools.registry import ToolRegistry
from nanobot.bus.queue import MessageBus
from nanobot.command import CommandRouter
from nanobot.security.workspace_access import WorkspaceScopeResolver
from nanobot.session.manager import SessionManager

#: The lock of a session, by its key.
SessionLocks = Callable[[str], asyncio.Lock]


class Mismatch(Exception):
    """nanobot is not as this file expects it; the text says where."""


def _loop_of(ctx: ToolContext, bus: MessageBus) -> AgentLoop:
    """
    :raises Mismatch: it can't be found, or is another bus's
    """
    control = getattr(ctx, "runtime_control", None)
    loop = getattr(control, "_AgentRuntimeControl__target", None)
    if not isinstance(loop, AgentLoop):
        # A nanobot that hands tools no such control: the one loop that lives on this bus.
        loops = [found for found in gc.get_objects() if isinstance(found, AgentLoop) and found.bus is bus]
        loop = loops[0] if len(loops) == 1 else None
    if not isinstance(loop, AgentLoop):
        raise Mismatch("the agent loop was not found")
    if loop.bus is not bus:
        raise Mismatch("the agent loop has another bus")
    return loop


def session_locks(ctx: ToolContext, bus: MessageBus) -> SessionLocks:
    """The locks that turns hold, by session key.

    :raises Mismatch: they can't be found
    """
    loop = _loop_of(ctx, bus)
    if not isinstance(session_lock(loop, "realtime:probe"), asyncio.Lock):
        raise Mismatch("AgentLoop._get_session_lock gives no lock")
    return lambda key: session_lock(loop, key)


def find_loop(ctx: ToolContext, bus: MessageBus) -> AgentLoop:
    """The agent loop that made this tool context.

    :raises Mismatch: it can't be found, or its parts are not what they should be
    """
    loop = _loop_of(ctx, bus)
    for name, value, kind in (
        ("tools", getattr(loop, "tools", None), ToolRegistry),
        ("sessions", getattr(loop, "sessions", None), SessionManager),
        ("workspace_scopes", getattr(loop, "workspace_scopes", None), WorkspaceScopeResolver),
        ("_file_state_store", getattr(loop, "_file_state_store", None), FileStateStore),
        ("commands", getattr(loop, "commands", None), CommandRouter),
        ("subagents", getattr(loop, "subagents", None), SubagentManager),
    ):
        if not isinstance(value, kind):
            raise Mismatch(f"AgentLoop.{name} is no {kind.__name__}")
    if not callable(getattr(loop.subagents, "_build_tools", None)):
        raise Mismatch("SubagentManager._build_tools is missing")
    return loop


def session_lock(loop: AgentLoop, key: str) -> asyncio.Lock:
    """The lock that a turn of this session holds.

    :raises Mismatch: there is none
    """
    get_lock = getattr(loop, "_get_session_lock", None)
    if not callable(get_lock):
        raise Mismatch("AgentLoop._get_session_lock is missing")
    lock: asyncio.Lock = get_lock(key)
    return lock


def file_state_store(loop: AgentLoop) -> FileStateStore:
    """What each session has read and written."""
    return loop._file_state_store


def watch_subagent_tools(loop: AgentLoop, seen: Callable[[ToolRegistry], None]) -> Callable[[], None]:
    """Calls ``seen`` with the registry of every subagent that is set up from now on, before it is used.

    :returns: ends it
    """
    manager = loop.subagents
    build = manager._build_tools

    def build_and_show(*args: Any, **kwargs: Any) -> ToolRegistry:
        registry: ToolRegistry = build(*args, **kwargs)
        seen(registry)
        return registry

    setattr(manager, "_build_tools", build_and_show)  # noqa: B010

    def end() -> None:
        if vars(manager).get("_build_tools") is build_and_show:
            delattr(manager, "_build_tools")

    return end
