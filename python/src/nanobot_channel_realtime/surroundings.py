"""What the voice process is told about where it runs, all of it from what nanobot makes public."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nanobot
from nanobot.channels.contracts import channel_instance_specs, channel_runtime_name
from nanobot.channels.registry import discover_plugins
from nanobot.config.loader import load_config
from nanobot.config.paths import get_config_path, get_media_dir
from nanobot.config.schema import Config

from nanobot_channel_realtime.access import Access, RegistryHost
from nanobot_channel_realtime.settings import Settings
from nanobot_channel_realtime.tools import MAX_OUTPUT_CHARS
from nanobot_channel_realtime.version import CHANNEL

#: Files of the workspace that say who the agent is, in the order nanobot puts them into its prompt.
PERSONA_FILES = ("SOUL.md", "IDENTITY.md", "USER.md")
MAX_PERSONA_CHARS = 20_000


def data_dir() -> Path:
    """The folder of the voice process: beside the config file, never in the workspace."""
    return get_config_path().parent / "realtime"


def unified_session() -> bool:
    return bool(load_config().agents.defaults.unified_session)


def max_output_chars(access: Access) -> int:
    if isinstance(access.host, RegistryHost) and access.host.max_output_chars:
        return access.host.max_output_chars
    limit = load_config().agents.defaults.max_tool_result_chars
    return int(limit) if limit and limit > 0 else MAX_OUTPUT_CHARS


def other_channels(config: Config | None = None) -> list[str]:
    """Names of the other channels that the config turns on."""
    config = config or load_config()
    names: list[str] = []
    for name, plugin in discover_plugins().items():
        section = getattr(config.channels, name, None)
        if name == CHANNEL or (section is None and not plugin.default_enabled):
            continue
        try:
            specs = channel_instance_specs(plugin, section if section is not None else {})
            names.extend(channel_runtime_name(plugin, spec.instance_id) for spec in specs)
        except Exception:
            # A channel whose config is broken does not run, and it is not for us to say so.
            continue
    return names


def _persona(workspace: Path) -> str:
    texts: list[str] = []
    for name in PERSONA_FILES:
        try:
            texts.append((workspace / name).read_text("utf-8").strip())
        except (OSError, UnicodeDecodeError):
            continue
    return "\n\n".join(text for text in texts if text)[:MAX_PERSONA_CHARS]


def plain(metadata: Any) -> dict[str, Any]:
    """What of a message's metadata is plain JSON; the rest is for nanobot itself."""
    kept: dict[str, Any] = {}
    for key, value in (metadata or {}).items():
        try:
            json.dumps(value)
        except (TypeError, ValueError):
            continue
        kept[str(key)] = value
    return kept


def initialize_params(settings: Settings, access: Access, protocol: int) -> dict[str, Any]:
    """The parameters of the handshake."""
    config = load_config()
    workspace = config.workspace_path.resolve()
    host: dict[str, Any] = {
        "name": "nanobot",
        "version": str(nanobot.__version__),
        "model": str(config.resolve_preset().model),
        "unifiedSession": bool(config.agents.defaults.unified_session),
        "channels": other_channels(config),
    }
    if persona := _persona(workspace):
        host["persona"] = persona
    return {
        "protocol": protocol,
        "config": settings.section,
        "workspace": str(workspace),
        "dataDir": str(data_dir().resolve()),
        "channel": CHANNEL,
        "host": host,
        "toolAccess": access.to_wire(gate=access.loop is not None),
        "mediaRoots": [str(workspace), str(get_media_dir().resolve())],
    }
