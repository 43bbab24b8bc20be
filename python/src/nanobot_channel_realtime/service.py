"""What nanobot does for the voice process: the requests that it may make."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from nanobot.bus.events import InboundMessage, OutboundMessage
from nanobot.session.keys import UNIFIED_SESSION_KEY, session_key_for_channel

from nanobot_channel_realtime import surroundings
from nanobot_channel_realtime.access import Access
from nanobot_channel_realtime.sessions import Sessions
from nanobot_channel_realtime.tools import ToolRunner
from nanobot_channel_realtime.version import CHANNEL
from nanobot_channel_realtime.wire import INVALID_PARAMS, NOT_POSSIBLE, REFUSED, Handler, Params, WireError

if TYPE_CHECKING:
    from nanobot_channel_realtime.channel import RealtimeChannel

#: A server that comes or goes changes many tools at once; they are told of together.
_CHANGES_TOGETHER_S = 0.05
#: The chat of a caller who has none of their own.
_CALL_ID = re.compile(r"[0-9a-f]{32}")
_LEVELS = {"info": "INFO", "warn": "WARNING", "error": "ERROR"}


def _are_ours(paths: list[str]) -> bool:
    """Whether these are files in the voice process's own folder."""
    data = surroundings.data_dir().resolve()
    found = [Path(path).resolve() for path in paths]
    return all(path.is_file() and path.is_relative_to(data) for path in found)


class Service:
    """The handlers of the wire, for the life of one channel."""

    def __init__(self, channel: RealtimeChannel, access: Access) -> None:
        self._channel = channel
        manager = access.ctx.sessions if access.ctx is not None else None
        self._sessions = Sessions(manager, channel.lock_of, self.owns_session)
        self._tools = ToolRunner(
            access.host,
            manager,
            channel=CHANNEL,
            max_output_chars=surroundings.max_output_chars(access),
            is_allowed=channel.is_allowed,
            owns_session=self.owns_session,
        )
        self._unified = surroundings.unified_session()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._keeping: set[asyncio.Task[None]] = set()
        self._telling: asyncio.TimerHandle | None = None
        self.requests: dict[str, Handler] = {
            "tools/list": self._tools.list,
            "tools/execute": self._tools.execute,
            "inbound": self._inbound,
            "stop": self._stop,
            "message/send": self._message_send,
            "session/append": self._sessions.append,
            "history": self._sessions.history,
            "allowed": self._allowed,
            "ping": self._ping,
        }
        self.notifications: dict[str, Handler] = {
            "tools/cancel": self._tools.cancel,
            "status": self._status,
            "log": self._log,
        }

    def owns_session(self, key: str) -> bool:
        """Whether calls may use this session: their own, and everybody's where nanobot has one for everybody."""
        return key.startswith(f"{CHANNEL}:") or (self._unified and key == UNIFIED_SESSION_KEY)

    def own_lock(self, key: str) -> asyncio.Lock:
        return self._locks.get(key) or self._locks.setdefault(key, asyncio.Lock())

    def keep(self, chat_id: str, content: str) -> None:
        """Puts a message that nobody could be told into its session; not before the turn that runs there is over."""
        if not content.strip() or self._sessions.are_missing:
            return
        # A stranger's call is in a session of its own, also where all others share one.
        shares = self._unified and not _CALL_ID.fullmatch(chat_id)
        key = session_key_for_channel(CHANNEL, chat_id, unified_session=shares)
        task = asyncio.create_task(self._keep(key, content))
        self._keeping.add(task)
        task.add_done_callback(self._keeping.discard)

    async def _keep(self, key: str, content: str) -> None:
        try:
            await self._sessions.keep(key, content)
        except (OSError, WireError) as error:
            self._channel.logger.warning("A message of the agent's is not in its session: {}", type(error).__name__)

    def tools_changed(self) -> None:
        """Tells the voice process that the registry has other tools."""
        if self._telling is None:
            self._telling = asyncio.get_running_loop().call_later(_CHANGES_TOGETHER_S, self._tell)

    def _tell(self) -> None:
        self._telling = None
        if (peer := self._channel.peer) is not None:
            peer.notify("tools/changed", {})

    def _admit(self, params: Params) -> tuple[str, str, str]:
        """Sender, chat and session of a message for the agent.

        :raises WireError: not from this sender, or not into that session
        """
        sender, chat, key = str(params["senderId"]), str(params["chatId"]), str(params["sessionKey"])
        if not self._channel.is_allowed(sender):
            raise WireError(REFUSED, "this caller is not allowed to ask the agent")
        if not self.owns_session(key):
            raise WireError(REFUSED, "that session belongs to another channel")
        return sender, chat, key

    async def _inbound(self, params: Params) -> dict[str, Any]:
        sender, chat, key = self._admit(params)
        metadata = params.get("metadata") or {}
        if not isinstance(metadata, dict):
            raise WireError(INVALID_PARAMS, "metadata")
        # The key is always named: left out, one session for everybody would take in every caller.
        await self._channel._handle_message(sender, chat, str(params["text"]), metadata=metadata, session_key=key)
        return {}

    async def _stop(self, params: Params) -> dict[str, Any]:
        sender, chat, key = self._admit(params)
        # Straight to the bus: a mark that makes its acknowledgement nobody's answer.
        message = InboundMessage(
            channel=CHANNEL,
            sender_id=sender,
            chat_id=chat,
            content="/stop",
            metadata={"realtime_stop": True},
            session_key_override=key,
        )
        await self._channel.bus.publish_inbound(message)
        return {}

    async def _message_send(self, params: Params) -> dict[str, Any]:
        channel = str(params["channel"])
        if channel == CHANNEL or channel not in await asyncio.to_thread(surroundings.other_channels):
            raise WireError(NOT_POSSIBLE, f"there is no channel {channel[:40]!r} to send to")
        media = [str(path) for path in params.get("media") or []]
        if not await asyncio.to_thread(_are_ours, media):
            raise WireError(INVALID_PARAMS, "media")
        message = OutboundMessage(
            channel=channel,
            chat_id=str(params["chatId"]),
            content=str(params["content"]),
            media=media,
            metadata=dict(params.get("metadata") or {}),
        )
        await self._channel.bus.publish_outbound(message)
        return {}

    async def _allowed(self, params: Params) -> dict[str, Any]:
        return {"allowed": self._channel.is_allowed(str(params["senderId"]))}

    async def _ping(self, _params: Params) -> dict[str, Any]:
        return {}

    async def _status(self, params: Params) -> None:
        self._channel.logger.debug("The voice process is {}", params.get("state"))

    async def _log(self, params: Params) -> None:
        self._channel.logger.log(_LEVELS.get(str(params.get("level")), "INFO"), "{}", params.get("message"))
