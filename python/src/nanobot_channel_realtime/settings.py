"""The section ``channels.realtime`` as this side reads it, and what of it goes to the Node process."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from nanobot.config.loader import resolve_env_refs

ToolAccess = Literal["full", "public", "delegate"]
TOOL_ACCESS: tuple[ToolAccess, ...] = ("full", "public", "delegate")

#: Environment variable of each model provider's key.
KEY_VARIABLES = {
    "auto": "OPENAI_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openai-compatible": "OPENAI_API_KEY",
    "azure": "AZURE_OPENAI_API_KEY",
    "xai": "XAI_API_KEY",
}
TWILIO_VARIABLE = "TWILIO_AUTH_TOKEN"
DEFAULT_PORT = 8787
DEFAULT_DRAIN_S = 30.0
#: A greeting may be empty: then the caller speaks first.
_MAY_BE_EMPTY = ("greeting",)


def _snake(key: str) -> str:
    return re.sub(r"[A-Z]", lambda match: f"_{match.group().lower()}", key)


def read(section: Any, path: str) -> Any:
    """The value under a dotted path, in nanobot's camelCase or snake_case spelling; ``None`` without one."""
    value = section
    for part in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(part, value.get(_snake(part)))
    return value


def text(section: Any, path: str) -> str:
    """The text under a path with its ``${VAR}`` resolved; ``""`` when there is none."""
    value = read(section, path)
    return str(resolve_env_refs(value)).strip() if isinstance(value, str) else ""


def strings(section: Any, path: str) -> list[str]:
    value = read(section, path)
    return [str(item) for item in value] if isinstance(value, list | tuple) else []


def without_blanks(value: Mapping[str, Any]) -> dict[str, Any]:
    """The section without what nanobot's settings page fills in for a field that nobody filled in."""
    kept: dict[str, Any] = {}
    for key, item in value.items():
        if isinstance(item, Mapping) and item:
            inner = without_blanks(item)
            if inner:
                kept[key] = inner
        elif item is not None and (item != "" or key in _MAY_BE_EMPTY):
            kept[key] = copy.deepcopy(item)
    return kept


def _drop(section: dict[str, Any], path: str) -> None:
    *parents, last = path.split(".")
    inner: Any = section
    for part in parents:
        inner = inner.get(part, inner.get(_snake(part))) if isinstance(inner, dict) else None
    if isinstance(inner, dict):
        inner.pop(last, None)
        inner.pop(_snake(last), None)


@dataclass(frozen=True)
class Settings:
    """What this side needs to know of its section."""

    #: The section as the Node process gets it: no blanks, no secrets.
    section: dict[str, Any]
    #: Secrets, by environment variable.
    secrets: dict[str, str] = field(repr=False)
    allow_from: list[str]
    streaming: bool
    tool_access: ToolAccess
    node: str
    package: str
    drain_s: float

    @property
    def gate_is_on(self) -> bool:
        gate = read(self.section, "approvals.toolGate")
        enabled = read(gate, "enabled")
        if isinstance(enabled, bool):
            return enabled
        return bool(strings(gate, "requireApproval") or strings(gate, "deny"))


def parse(config: Any) -> Settings:
    """Reads the section; what is wrong in it, but for ``toolAccess``, the Node process says better.

    :raises ValueError: ``toolAccess`` is none of its three words
    """
    raw: Any = config.model_dump(by_alias=True) if hasattr(config, "model_dump") else config
    section = without_blanks(raw if isinstance(raw, Mapping) else {})
    access = text(section, "toolAccess") or "public"
    if access not in TOOL_ACCESS:
        raise ValueError(f"channels.realtime.toolAccess: one of {', '.join(TOOL_ACCESS)}, not {access!r}")
    allow = read(section, "allowFrom")
    provider = text(section, "model.provider") or "auto"
    secrets: dict[str, str] = {}
    for path, variable in (
        ("model.apiKey", KEY_VARIABLES.get(provider, "OPENAI_API_KEY")),
        ("carriers.twilio.authToken", TWILIO_VARIABLE),
    ):
        if secret := text(section, path):
            secrets[variable] = secret
            _drop(section, path)
    drain = read(section, "server.drainTimeoutS")
    return Settings(
        section=section,
        secrets=secrets,
        allow_from=["*"] if allow is None else strings(section, "allowFrom"),
        streaming=read(section, "streaming") is True,
        tool_access=access,
        node=text(section, "node") or os.environ.get("NANOBOT_REALTIME_NODE", ""),
        package=text(section, "package") or os.environ.get("NANOBOT_REALTIME_PACKAGE", ""),
        drain_s=float(drain) if isinstance(drain, int | float) else DEFAULT_DRAIN_S,
    )
