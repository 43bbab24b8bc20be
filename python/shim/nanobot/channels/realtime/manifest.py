"""What nanobot reads before it loads the channel: nothing here needs more than nanobot itself."""

from typing import Any

from nanobot.channels.contracts import ChannelFieldSpec, ChannelSetupSpec, ChannelValidationContext
from nanobot.channels.plugin import ChannelPlugin


def _validate(values: dict[str, Any], _context: ChannelValidationContext) -> dict[str, Any]:
    from nanobot_channel_realtime.validation import validate

    return validate(values)


def _choice(default: str, *others: str) -> ChannelFieldSpec:
    return ChannelFieldSpec(kind="enum", choices=frozenset({default, *others}), default=default)


SETUP = ChannelSetupSpec(
    fields={
        # A list without a default would become [], and that locks everybody out.
        "allowFrom": ChannelFieldSpec(kind="list", default=["*"]),
        "toolAccess": _choice("public", "full", "delegate"),
        "model.provider": _choice("auto", "openai", "azure", "xai", "openai-compatible", "command"),
        "model.apiKey": ChannelFieldSpec(kind="secret"),
        "model.model": ChannelFieldSpec(),
        "model.voice": ChannelFieldSpec(),
        "model.baseUrl": ChannelFieldSpec(),
        "greeting": ChannelFieldSpec(default="Hello, how can I help you?"),
        "persona": ChannelFieldSpec(),
        "tools.mode": _choice("direct", "delegate", "both"),
        "server.port": ChannelFieldSpec(kind="int", default=8787),
        "server.publicUrl": ChannelFieldSpec(),
        "carriers.twilio.accountSid": ChannelFieldSpec(),
        "carriers.twilio.authToken": ChannelFieldSpec(kind="secret"),
        "approvals.toolGate.requireApproval": ChannelFieldSpec(kind="list"),
        "approvals.toolGate.deny": ChannelFieldSpec(kind="list"),
        "approvals.scope": _choice("everything", "voiceOnly"),
        "recording.enabled": ChannelFieldSpec(kind="bool"),
        "node": ChannelFieldSpec(),
        "package": ChannelFieldSpec(),
    },
    validator=_validate,
)

PLUGIN = ChannelPlugin(
    name="realtime",
    display_name="Realtime voice",
    runtime=f"{__package__}.runtime:RealtimeChannel",
    setup=SETUP,
)
