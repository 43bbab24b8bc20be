"""Calls in nanobot's sessions: what was said is written as nanobot writes it, and read back for the next call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

from nanobot.runtime_context import public_history_message
from nanobot.session.history_visibility import is_hidden_history_message
from nanobot.session.manager import Session, SessionManager

from nanobot_channel_realtime.wire import BUSY, INVALID_PARAMS, NOT_POSSIBLE, REFUSED, WireError

#: Where a session keeps the keys of the turns that it holds.
TURNS_KEY = "realtime_turns"
MAX_TURN_KEYS = 512
MAX_HISTORY = 200
#: Rows among which a message counts as written already.
_RECENT = 10
_ROLES = ("user", "assistant", "tool")
_FIELDS = ("role", "content", "tool_calls", "tool_call_id", "name", "source", "voice_turn")


def _local(timestamp: Any) -> str:
    """nanobot's own spelling of a time: local, without a zone; with one it could not be compared with the others."""
    try:
        moment = datetime.fromisoformat(str(timestamp).replace("Z", "+00:00"))
    except ValueError:
        return datetime.now().isoformat()
    return (moment.astimezone().replace(tzinfo=None) if moment.tzinfo else moment).isoformat()


def _rows(rows: Any) -> list[dict[str, Any]]:
    """The rows as a session holds them.

    :raises WireError: one that nanobot could not replay
    """
    if not isinstance(rows, list):
        raise WireError(INVALID_PARAMS, "rows")
    kept: list[dict[str, Any]] = []
    declared: set[str] = set()
    for row in rows:
        if not isinstance(row, dict) or row.get("role") not in _ROLES:
            raise WireError(INVALID_PARAMS, "rows: role")
        entry = {name: row[name] for name in _FIELDS if name in row}
        entry["timestamp"] = _local(row.get("timestamp"))
        calls = row.get("tool_calls")
        if row["role"] == "assistant" and calls:
            declared.update(str(call.get("id")) for call in calls if isinstance(call, dict))
        elif row["role"] == "tool" and str(row.get("tool_call_id")) not in declared:
            # A result without its call breaks every later request to the model.
            raise WireError(INVALID_PARAMS, "rows: tool_call_id")
        elif row["role"] != "tool" and not str(row.get("content") or "").strip():
            continue
        kept.append(entry)
    return kept


def _spoken(content: Any) -> str:
    if isinstance(content, str):
        return content.strip()
    if isinstance(content, list):
        texts = [str(block.get("text", "")) for block in content if isinstance(block, dict)]
        return "\n".join(text for text in texts if text).strip()
    return ""


class Sessions:
    """`session/append` and `history` of the wire."""

    def __init__(
        self,
        manager: SessionManager | None,
        lock_of: Callable[[str], asyncio.Lock],
        owns_session: Callable[[str], bool],
    ) -> None:
        self._manager = manager
        self._lock_of = lock_of
        self._owns_session = owns_session

    @property
    def are_missing(self) -> bool:
        """Whether nanobot's sessions are out of our reach."""
        return self._manager is None

    def _session(self, key: Any) -> tuple[SessionManager, str]:
        if self._manager is None:
            raise WireError(NOT_POSSIBLE, "the sessions can't be reached")
        if not isinstance(key, str) or not self._owns_session(key):
            raise WireError(REFUSED, "that session belongs to another channel")
        return self._manager, key

    async def append(self, params: dict[str, Any]) -> dict[str, Any]:
        """All rows or none, once for each key, under the lock that a turn of the session holds."""
        manager, key = self._session(params["sessionKey"])
        turn, rows = str(params["key"]), _rows(params["rows"])
        lock = self._lock_of(key)
        try:
            await asyncio.wait_for(lock.acquire(), max(float(params["timeoutMs"]), 1) / 1000)
        except TimeoutError as error:
            raise WireError(BUSY, "the session is busy") from error
        try:
            session = manager.get_or_create(key)
            if not session.policy.persist or not rows:
                return {"appended": False}
            return {"appended": _write(manager, session, turn, rows)}
        finally:
            lock.release()

    async def keep(self, key: str, content: str) -> bool:
        """A message of the agent's that nobody could be told: the next call, and other channels, know it all the same.

        :returns: ``False`` where it is in the session already, as an answer of a turn is
        """
        manager, key = self._session(key)
        async with self._lock_of(key):
            session = manager.get_or_create(key)
            said = [message for message in session.messages[-_RECENT:] if message.get("role") == "assistant"]
            if not session.policy.persist or any(message.get("content") == content for message in said):
                return False
            # As nanobot marks what it delivers by itself.
            session.add_message("assistant", content, _channel_delivery=True)
            session.provider_state = None
            manager.save(session)
            return True

    async def history(self, params: dict[str, Any]) -> dict[str, Any]:
        manager, key = self._session(params["sessionKey"])
        limit = min(max(int(params["limit"]), 0), MAX_HISTORY)
        session = manager.get_or_create(key)
        items: list[dict[str, str]] = []
        for message in session.messages[session.last_consolidated :]:
            if message.get("_command") or is_hidden_history_message(message):
                continue
            if message.get("role") not in ("user", "assistant") or message.get("injected_event"):
                continue
            if said := _spoken(public_history_message(message).get("content")):
                items.append({"role": str(message["role"]), "text": said})
        return {"items": items[-limit:] if limit else []}


def _write(manager: SessionManager, session: Session, turn: str, rows: list[dict[str, Any]]) -> bool:
    before = session.metadata.get(TURNS_KEY)
    turns = [str(item) for item in before] if isinstance(before, list) else []
    if turn in turns:
        return False
    count, state = len(session.messages), session.provider_state
    session.messages.extend(rows)
    session.metadata[TURNS_KEY] = [*turns, turn][-MAX_TURN_KEYS:]
    # A state that the provider could resume would not know these rows.
    session.provider_state = None
    session.updated_at = datetime.now()
    try:
        manager.save(session)
    except BaseException:
        del session.messages[count:]
        session.metadata[TURNS_KEY], session.provider_state = turns, state
        raise
    return True
