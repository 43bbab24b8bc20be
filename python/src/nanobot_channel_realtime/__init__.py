"""A realtime voice channel inside nanobot."""

from nanobot_channel_realtime.version import __version__

__all__ = ["__version__"]
