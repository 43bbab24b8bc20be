"""Rows of nanobot's settings page: what is there, and in plain words what is wrong. Writes nothing, starts nothing."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from nanobot.channels.validation import check, status_from_checks

from nanobot_channel_realtime.node import NotFoundError, find_command, find_node
from nanobot_channel_realtime.settings import (
    DEFAULT_PORT,
    KEY_VARIABLES,
    TOOL_ACCESS,
    TWILIO_VARIABLE,
    Settings,
    parse,
    read,
    text,
)
from nanobot_channel_realtime.version import CHANNEL

Row = dict[str, Any]


def _row(name: str, label: str, status: str, message: str) -> Row:
    return dict(check(name, label, status, message))


def _node(settings: Settings) -> Row:
    try:
        path, version = find_node(settings)
    except NotFoundError as error:
        return _row("node", "Node.js", "fail", str(error))
    return _row("node", "Node.js", "pass", f"{version} at {path}")


def _package(settings: Settings) -> Row:
    try:
        command = find_command(settings)
    except NotFoundError as error:
        return _row("package", "Voice process", "fail", str(error))
    return _row("package", "Voice process", "pass", f"{command.version} in {command.found}")


def _key(settings: Settings) -> Row:
    provider = text(settings.section, "model.provider") or "auto"
    if provider == "command":
        return _row("key", "Model key", "pass", "The offline model needs none.")
    variable = KEY_VARIABLES.get(provider)
    if variable is None:
        return _row("key", "Model key", "fail", f"There is no provider {provider!r}.")
    if settings.secrets.get(variable) or os.environ.get(variable):
        return _row("key", "Model key", "pass", "A key is there; whether it is valid shows when the first call comes.")
    if provider == "auto":
        return _row("key", "Model key", "warn", f"No key: the offline model will answer. Enter one, or set {variable}.")
    return _row("key", "Model key", "fail", f"{provider} wants a key: enter one, or set {variable}.")


def _port(settings: Settings) -> Row:
    value = read(settings.section, "server.port")
    port = DEFAULT_PORT if value is None else value
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
        return _row("port", "Port", "fail", "A port is a whole number from 0 to 65535.")
    host = text(settings.section, "server.host") or "127.0.0.1"
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, proto) as probe:
            if os.name == "posix":
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        # When the channel runs, it is this channel that has it.
        return _row("port", "Port", "warn", f"{host}:{port} is in use or not ours ({error.strerror}). Running already?")
    return _row("port", "Port", "pass", f"{host}:{port} is free.")


def _carrier(settings: Settings) -> Row:
    label = "Phone calls"
    url = text(settings.section, "server.publicUrl")
    has_token = bool(settings.secrets.get(TWILIO_VARIABLE) or os.environ.get(TWILIO_VARIABLE))
    if url and urlsplit(url).scheme not in ("http", "https"):
        return _row("carrier", label, "fail", "The public address begins with https://.")
    if url and not has_token:
        return _row(
            "carrier", label, "fail", f"With a public address, enter Twilio's auth token or set {TWILIO_VARIABLE}."
        )
    if not url:
        return _row("carrier", label, "skipped", "No public address: a carrier can't reach this machine yet.")
    return _row("carrier", label, "pass", f"Point the number's webhook at {url.rstrip('/')}/twilio/voice")


def _approvals(settings: Settings) -> Row:
    label = "Approvals"
    if not settings.gate_is_on:
        return _row("approvals", label, "pass", "No tool waits for a person.")
    is_asked = settings.tool_access == "delegate" or (text(settings.section, "tools.mode") or "direct") != "direct"
    scope = text(settings.section, "approvals.scope")
    if settings.tool_access != "full" and is_asked and scope != "voiceOnly":
        return _row(
            "approvals",
            label,
            "fail",
            "Requests to the whole agent would go round the gate. Set tool access to full, or the scope to voiceOnly.",
        )
    if settings.tool_access != "full":
        return _row("approvals", label, "warn", "Only calls meet the gate; text turns do not.")
    return _row("approvals", label, "pass", "Every tool call meets the gate, text turns too.")


_ROWS: tuple[Callable[[Settings], Row], ...] = (_node, _package, _key, _port, _carrier, _approvals)


def validate(values: dict[str, Any]) -> dict[str, Any]:
    """The rows, and whether the channel can be turned on."""
    try:
        settings = parse(values)
    except ValueError:
        wrong = _row("toolAccess", "Tool access", "fail", f"One of {', '.join(TOOL_ACCESS)}.")
        return dict(status_from_checks(CHANNEL, [wrong], []))
    return dict(status_from_checks(CHANNEL, [row(settings) for row in _ROWS], []))
