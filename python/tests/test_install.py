"""What lies in nanobot's folders, what its settings page shows, and where the voice process is looked for."""

from __future__ import annotations

import json
import os
import socket
import stat
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from nanobot.channels.contracts import channel_default_config
from nanobot.channels.registry import load_channel_plugin
from nanobot.channels.validation import validate_channel_config
from nanobot.config.loader import load_config, save_config
from nanobot.optional_features import disable_optional_feature, enable_optional_feature, optional_features_payload

from nanobot_channel_realtime import node as node_module
from nanobot_channel_realtime.channel import RealtimeChannel
from nanobot_channel_realtime.node import NotFoundError, find_command, own_copy
from nanobot_channel_realtime.settings import parse, without_blanks
from nanobot_channel_realtime.validation import validate
from nanobot_channel_realtime.version import __version__
from tests.support import FAKE_VOICE

ROOT = Path(__file__).parents[2]


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return path


def rows(values: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {row["id"]: (row["status"], row.get("message", "")) for row in validate(values)["checks"]}


def test_no_file_of_ours_is_one_of_nanobots_and_the_version_is_the_npm_packages() -> None:
    ours = {str(path) for path in metadata.files("nanobot-channel-realtime") or []}
    theirs = {str(path) for path in metadata.files("nanobot-ai") or []}
    shared = {path for path in ours & theirs if not path.startswith(".")}
    assert shared == set()
    assert __version__ == json.loads((ROOT / "package.json").read_text())["version"]
    assert metadata.version("nanobot-channel-realtime") == __version__


def test_the_manifest_asks_for_nothing_and_locks_nobody_out() -> None:
    plugin = load_channel_plugin("realtime")
    assert plugin.dependencies == () and plugin.setup is not None
    assert plugin.setup.secrets == {"model.apiKey", "carriers.twilio.authToken"}
    assert channel_default_config(plugin)["allowFrom"] == ["*"]
    assert plugin.load_channel_class().name == "realtime"
    shown = plugin.setup.to_public_dict("realtime")
    assert {field["kind"] for field in shown["fields"]} >= {"secret", "enum", "int", "list", "bool", "string"}


def test_turned_on_and_off_by_nanobot_it_keeps_what_was_written(home: Path) -> None:
    path = home / "config.json"
    config = json.loads(path.read_text())
    mine = {
        "toolAccess": "full",
        "model": {"provider": "command"},
        "approvals": {
            "toolGate": {"requireApproval": ["exec"], "approvers": [{"name": "ann", "senders": ["slack:U1"]}]}
        },
        "limits": {"maxCalls": 3},
        "transfers": [{"name": "desk", "target": "+15550100"}],
    }
    config["channels"]["realtime"] = mine
    path.write_text(json.dumps(config))
    enable_optional_feature("realtime", config_path=path)
    # As the settings page and the command line write: the whole file, from what nanobot understood of it.
    save_config(load_config(path), path)
    disable_optional_feature("realtime", config_path=path)
    enable_optional_feature("realtime", config_path=path)
    saved = json.loads(path.read_text())["channels"]["realtime"]
    assert saved["enabled"] is True and saved["allowFrom"] == ["*"]
    for key, value in mine.items():
        assert saved[key] == {**saved[key], **value} if isinstance(value, dict) and key != "approvals" else True
    assert saved["approvals"]["toolGate"]["approvers"] == mine["approvals"]["toolGate"]["approvers"]  # type: ignore[index]
    assert saved["limits"] == {"maxCalls": 3} and saved["transfers"] == mine["transfers"]
    features = {each["name"]: each for each in optional_features_payload(config=load_config(path))["features"]}
    assert features["realtime"]["enabled"] is True
    # What the page filled in for fields that nobody filled in is not handed on.
    sent = parse(saved).section
    assert sent["model"] == {"provider": "command"} and "carriers" not in sent
    assert without_blanks(sent) == sent


def test_a_list_of_nobody_that_somebody_wrote_lets_nobody_in() -> None:
    from nanobot.bus.queue import MessageBus

    assert RealtimeChannel({}, MessageBus()).is_allowed("anybody")
    assert not RealtimeChannel({"allowFrom": []}, MessageBus()).is_allowed("anybody")
    assert not RealtimeChannel({"allow_from": ["+15550100"]}, MessageBus()).is_allowed("+15550199")


def test_the_package_is_looked_for_in_its_order_and_never_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bin_dir = tmp_path / "bin"
    node = executable(bin_dir / "node", "echo v24.9.0")
    asked = tmp_path / "npx-args"
    # As npx does, it runs the Node that it finds by name.
    executable(bin_dir / "npx", f'echo "$(node --version) $@" >> {asked}; echo {__version__}')
    monkeypatch.setenv("PATH", str(bin_dir), prepend=os.pathsep)

    def copy(folder: Path, version: str = __version__) -> Path:
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "nanobot-realtime.js").write_text("")
        (folder / "package.json").write_text(json.dumps({"name": "nanobot-channel-realtime", "version": version}))
        return folder

    # Last of all, what npx has; it is told not to install.
    found = find_command(parse({}))
    assert found.argv[1:] == [
        "--no-install",
        "--offline",
        f"--package=nanobot-channel-realtime@{__version__}",
        "nanobot-realtime",
        "bridge",
    ]
    assert all("--no-install --offline" in line for line in asked.read_text().splitlines())
    # Another Node in the config is the one that runs, by whatever name it is started.
    newer = executable(tmp_path / "newer" / "node", "echo v99.1.0")
    with_newer = find_command(parse({"node": str(newer)}))
    assert with_newer.env["PATH"].startswith(f"{newer.parent}{os.pathsep}")
    assert asked.read_text().splitlines()[-1].startswith("v99.1.0 ")
    everybodys = copy(tmp_path / "lib" / "node_modules" / "nanobot-channel-realtime")
    assert find_command(parse({})).found == str(everybodys)
    other_version = copy(own_copy(), "0.0.1")
    assert find_command(parse({})).found == str(everybodys)
    (other_version / "package.json").write_text((everybodys / "package.json").read_text())
    assert find_command(parse({})).found == str(own_copy())
    monkeypatch.setenv("NANOBOT_REALTIME_PACKAGE", str(copy(tmp_path / "by-variable", "9.9.9")))
    assert find_command(parse({})).version == "9.9.9"
    assert find_command(parse({"package": str(FAKE_VOICE)})).argv == [
        str(node),
        str(FAKE_VOICE / "bin" / "nanobot-realtime.js"),
        "bridge",
    ]
    own_node = executable(tmp_path / "own" / "node", "echo v22.19.0")
    monkeypatch.setenv("NANOBOT_REALTIME_NODE", str(own_node))
    assert find_command(parse({"package": str(FAKE_VOICE)})).argv[0] == str(own_node)
    assert find_command(parse({"package": str(FAKE_VOICE), "node": str(node)})).argv[0] == str(node)


def test_what_is_missing_is_said_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = executable(tmp_path / "node", "echo v20.1.0")
    no_node = executable(tmp_path / "other", "echo hello")
    for node, text in ((old, "too old"), (no_node, "is not Node"), (tmp_path / "none", "was not found")):
        with pytest.raises(NotFoundError, match=text):
            find_command(parse({"node": str(node)}))
    monkeypatch.setattr(node_module, "_npx_has_it", lambda _npx, _env: False)
    monkeypatch.setattr(node_module, "_global_copies", lambda _node: [])
    with pytest.raises(NotFoundError, match=f"npm install --prefix .* nanobot-channel-realtime@{__version__}"):
        find_command(parse({}))


def test_the_rows_of_the_settings_page_say_what_is_wrong(tmp_path: Path) -> None:
    good = rows({"package": str(FAKE_VOICE), "model": {"provider": "command"}, "server": {"port": 0}})
    assert [good[name][0] for name in ("node", "package", "key", "port", "carrier", "approvals")] == [
        "pass",
        "pass",
        "pass",
        "pass",
        "skipped",
        "pass",
    ]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        bad = rows(
            {
                "node": str(tmp_path / "none"),
                "package": str(tmp_path),
                "model": {"provider": "xai", "apiKey": ""},
                "server": {"port": taken.getsockname()[1], "publicUrl": "https://voice.example.com"},
                "tools": {"mode": "both"},
                "approvals": {"toolGate": {"deny": ["exec"]}},
            }
        )
    assert [bad[name][0] for name in ("node", "package", "key", "port", "carrier", "approvals")] == [
        "fail",
        "fail",
        "fail",
        "warn",
        "fail",
        "fail",
    ]
    assert "XAI_API_KEY" in bad["key"][1] and "voiceOnly" in bad["approvals"][1]
    assert rows({"toolAccess": "root"}) == {"toolAccess": ("fail", "One of full, public, delegate.")}
    assert rows({"server": {"port": 99999}})["port"][0] == "fail"
    assert rows({"model": {"provider": "other"}})["key"][0] == "fail"
    with_gate = {"approvals": {"toolGate": {"deny": ["exec"]}}}
    assert rows({**with_gate, "toolAccess": "full"})["approvals"][0] == "pass"
    assert rows(with_gate)["approvals"][0] == "warn"


def test_nanobots_own_check_shows_our_rows() -> None:
    payload = validate_channel_config("realtime", {"channels.realtime.package": str(FAKE_VOICE)})
    assert payload["name"] == "realtime" and len(payload["checks"]) == 6
    assert payload["can_enable"] is True
    assert validate_channel_config("realtime", {"channels.realtime.toolAccess": "root"})["can_enable"] is False
