"""The version of this package, which is the version of the npm package that it starts."""

__version__ = "0.1.0"

#: Version of the wire (docs/reference/bridge.md).
PROTOCOL = 1
#: The channel's name, everywhere.
CHANNEL = "realtime"
#: The one name that may reach loopback in nanobot; nothing of ours is ever run under it.
FORBIDDEN_CHANNEL = "websocket"
#: The npm package with the calls in it.
NPM_PACKAGE = "nanobot-channel-realtime"
MIN_NODE = (22, 19)
