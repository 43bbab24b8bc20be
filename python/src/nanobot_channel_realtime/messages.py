"""What the agent says, as the wire carries it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nanobot.bus.events import OutboundMessage
from nanobot.bus.outbound_events import ProgressEvent

from nanobot_channel_realtime.surroundings import plain


def outbound_params(msg: OutboundMessage) -> dict[str, Any]:
    """Parameters of `outbound`. Files by their absolute paths; what else names media is nothing that can be read."""
    kind = "final" if msg.event is None else "progress" if isinstance(msg.event, ProgressEvent) else "other"
    params: dict[str, Any] = {"chatId": str(msg.chat_id), "content": msg.content or "", "kind": kind}
    if media := [path for path in msg.media if Path(path).is_absolute()]:
        params["media"] = media
    if metadata := plain(msg.metadata):
        params["metadata"] = metadata
    return params


def delta_params(
    chat_id: str,
    delta: str,
    metadata: dict[str, Any] | None = None,
    *,
    stream_id: str | None = None,
    stream_end: bool = False,
    resuming: bool = False,
    merge_next: bool = False,
) -> dict[str, Any]:
    """Parameters of `delta`, from what nanobot's `send_delta` gets."""
    params: dict[str, Any] = {"chatId": str(chat_id), "text": delta or ""}
    if stream_id is not None:
        params["streamId"] = stream_id
    for name, is_set in (("end", stream_end), ("resuming", resuming), ("mergeNext", merge_next)):
        if is_set:
            params[name] = True
    if kept := plain(metadata):
        params["metadata"] = kept
    return params
