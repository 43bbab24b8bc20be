"""Where nanobot looks for the channel's class."""

from nanobot_channel_realtime.channel import RealtimeChannel

__all__ = ["RealtimeChannel"]
