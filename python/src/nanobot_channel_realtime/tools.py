"""Runs nanobot's tools for calls, with everything bound that a turn of its own would bind."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from nanobot.agent.context_governance import TOOL_RESULT_OFFLOAD_EXEMPT_TOOLS
from nanobot.agent.tools.context import bind_request_context, reset_request_context
from nanobot.agent.tools.file_state import bind_file_states, reset_file_states
from nanobot.agent.tools.registry import is_tool_error_result
from nanobot.security.workspace_access import bind_workspace_scope, reset_workspace_scope
from nanobot.session.manager import SessionManager
from nanobot.utils.helpers import maybe_persist_tool_result, truncate_text
from nanobot.utils.runtime import ensure_nonempty_tool_result

from nanobot_channel_realtime.access import GivenGateway, RegistryHost
from nanobot_channel_realtime.gate import current_execution
from nanobot_channel_realtime.turn_taking import TurnTaking
from nanobot_channel_realtime.version import FORBIDDEN_CHANNEL
from nanobot_channel_realtime.wire import (
    CANCELLED,
    DEADLINE,
    INVALID_PARAMS,
    NOT_POSSIBLE,
    REFUSED,
    WireError,
)

#: nanobot's own default for the longest output that a model gets.
MAX_OUTPUT_CHARS = 16_000
#: The longest deadline that is kept; longer ones are cut to it.
MAX_TIMEOUT_MS = 3_600_000


class ToolRunner:
    """`tools/list`, `tools/execute` and `tools/cancel` of the wire."""

    def __init__(
        self,
        host: RegistryHost | GivenGateway | None,
        sessions: SessionManager | None,
        *,
        channel: str,
        max_output_chars: int,
        is_allowed: Callable[[str], bool],
        owns_session: Callable[[str], bool],
    ) -> None:
        self._host = host
        self._sessions = sessions
        self._channel = channel
        self._max_output_chars = max_output_chars
        self._is_allowed = is_allowed
        self._owns_session = owns_session
        self._running: dict[str, asyncio.Task[Any]] = {}
        self._turns: WeakValueDictionary[str, TurnTaking] = WeakValueDictionary()

    @property
    def running(self) -> int:
        """Executions under way."""
        return len(self._running)

    async def list(self, _params: dict[str, Any]) -> dict[str, Any]:
        if self._host is None:
            return {"definitions": []}
        definitions = self._host.definitions()
        if inspect.isawaitable(definitions):
            definitions = await definitions
        return {"definitions": definitions}

    async def cancel(self, params: dict[str, Any]) -> None:
        task = self._running.get(str(params.get("executionId")))
        if task is not None:
            task.cancel()

    async def execute(self, params: dict[str, Any]) -> dict[str, Any]:
        """One tool, in a task of its own.

        :raises WireError: refused, cancelled, or out of time
        """
        execution = str(params["executionId"])
        timeout_ms = params["timeoutMs"]
        if isinstance(timeout_ms, bool) or not isinstance(timeout_ms, int | float) or timeout_ms < 1:
            raise WireError(INVALID_PARAMS, "timeoutMs")
        if execution in self._running:
            raise WireError(INVALID_PARAMS, "executionId")
        task = asyncio.create_task(self._run(execution, params))
        self._running[execution] = task
        try:
            done, _ = await asyncio.wait({task}, timeout=min(timeout_ms, MAX_TIMEOUT_MS) / 1000)
            if not done:
                task.cancel()
                raise WireError(DEADLINE, "the tool took too long")
            try:
                return task.result()
            except asyncio.CancelledError as error:
                raise WireError(CANCELLED, "the tool was cancelled") from error
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            self._running.pop(execution, None)

    def _refuse(self, params: dict[str, Any], channel: str, sender: str | None) -> None:
        if channel == FORBIDDEN_CHANNEL:
            raise WireError(REFUSED, f"tools are never run as channel {FORBIDDEN_CHANNEL}")
        # Without a sender it is the run of a call that a person approved; that may come from another channel.
        if sender is None:
            return
        if channel != self._channel:
            raise WireError(REFUSED, "that channel's tools are not run from here")
        if not self._is_allowed(sender):
            raise WireError(REFUSED, "this caller is not allowed to use tools")
        if not self._owns_session(str(params["sessionKey"])):
            raise WireError(REFUSED, "that session belongs to another channel")

    async def _run(self, execution: str, params: dict[str, Any]) -> dict[str, Any]:
        name, arguments = str(params["name"]), params.get("arguments")
        channel, chat_id, key = str(params["channel"]), str(params["chatId"]), str(params["sessionKey"])
        sender = None if params.get("senderId") is None else str(params["senderId"])
        self._refuse(params, channel, sender)
        host, sessions = self._host, self._sessions
        if host is None or sessions is None:
            raise WireError(NOT_POSSIBLE, "there are no tools at this level")
        session = sessions.get_or_create(key)
        if name in session.policy.disabled_tools:
            raise WireError(REFUSED, f"the tool {name} is disabled in this session")
        if isinstance(host, GivenGateway):
            given = host.execute(key, name, arguments, channel=channel, chat_id=chat_id)
            return self._result(await given if inspect.isawaitable(given) else given, name, execution, key, None)
        tool = host.registry.get(name)
        turns = self._turns.get(key) or self._turns.setdefault(key, TurnTaking())
        async with turns.turn(alone=tool is not None and not tool.concurrency_safe):
            request, scope = host.context(
                channel=channel,
                chat_id=chat_id,
                sender_id=sender,
                session=session,
                turn_id=f"{key}:{execution}",
            )
            current_execution.set(execution)
            files = bind_file_states(host.file_states(key))
            try:
                asked = bind_request_context(request)
                try:
                    workspace = bind_workspace_scope(scope)
                    try:
                        output = await host.registry.execute(name, arguments)
                    finally:
                        reset_workspace_scope(workspace)
                finally:
                    reset_request_context(asked)
            finally:
                reset_file_states(files)
        return self._result(output, name, execution, key, scope.project_path)

    def _result(self, output: Any, name: str, execution: str, key: str, workspace: Path | None) -> dict[str, Any]:
        """What a turn makes of a result before its model sees it."""
        is_error = is_tool_error_result(output) or getattr(output, "is_error", False) is True
        output = ensure_nonempty_tool_result(name, output)
        if isinstance(output, list):
            blocks = [
                {
                    **block,
                    "text": self._cut(str(block["text"]), f"{execution}_text_{index}", name, key, workspace),
                }
                if isinstance(block, dict) and block.get("type") == "text"
                else block
                for index, block in enumerate(output)
            ]
            return {"output": blocks, "isError": is_error}
        return {"output": self._cut(str(output), execution, name, key, workspace), "isError": is_error}

    def _cut(self, text: str, call_id: str, name: str, key: str, workspace: Path | None) -> str:
        limit = self._max_output_chars
        # nanobot lets this one page by itself.
        if len(text) <= limit or name in TOOL_RESULT_OFFLOAD_EXEMPT_TOOLS:
            return text
        if workspace is None:
            return truncate_text(text, limit)
        try:
            return str(maybe_persist_tool_result(workspace, key, call_id, text, max_chars=limit))
        except OSError:
            return truncate_text(text, limit)
