"""What an edit of the config changes in a channel that runs: the approvals, as far as it tightens them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nanobot_channel_realtime.gate import CHECK_TIMEOUT_S
from nanobot_channel_realtime.settings import Settings, parse
from nanobot_channel_realtime.wire import UNKNOWN_METHOD, ConnectionClosed, Peer, WireError

#: Level and text, for the log.
Say = Callable[[str, str], None]

_OUTCOMES = {
    "waiting": (
        "WARNING",
        "The approvals in the config are looser now: that waits for the operator, or for a restart of the channel",
    ),
    "broken": ("ERROR", "The approvals in the config can't be read as they are now; the last good ones hold"),
}
_RESTART = "Not all that was edited of channels.realtime takes effect before the channel is turned off and on"


class Edits:
    """The newest edit, told to every voice process there is from then on."""

    def __init__(self, hold_gate: Callable[[bool], None], say: Say) -> None:
        self._hold_gate = hold_gate
        self._say = say
        self._newest: Settings | None = None

    async def take(self, section: Any, peer: Peer | None) -> None:
        """Takes the section as it is now."""
        try:
            settings = parse(section)
        except ValueError as error:
            self._say("ERROR", f"{error}; nothing is changed by it")
            return
        self._newest = settings
        if settings.gate_is_on:
            # Before anybody is asked: a gate must not open because it came late.
            self._hold_gate(True)
        await self.tell(peer)

    async def tell(self, peer: Peer | None) -> None:
        """Tells a voice process of the newest edit; it may have been started with what was before."""
        if self._newest is None or peer is None:
            return
        try:
            answer = await peer.request("config/changed", {"config": self._newest.section}, CHECK_TIMEOUT_S)
        except (WireError, ConnectionClosed, TimeoutError) as error:
            is_old = isinstance(error, WireError) and error.code == UNKNOWN_METHOD
            why = "is of another version" if is_old else "did not answer"
            self._say("ERROR", f"An edit of the config was not taken: the voice process {why}. Restart the channel")
            return
        if answer["gate"] is True:
            self._hold_gate(True)
        if (outcome := _OUTCOMES.get(answer["approvals"])) is not None:
            self._say(*outcome)
        elif answer["restart"] is True:
            self._say("INFO", _RESTART)
