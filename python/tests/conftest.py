from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from nanobot.config import loader

from tests.support import FAKE_VOICE

__all__ = ["FAKE_VOICE"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A nanobot home of the test's own: config, workspace, and nothing of the machine's keys."""
    for name in ("OPENAI_API_KEY", "TWILIO_AUTH_TOKEN", "NANOBOT_REALTIME_NODE", "NANOBOT_REALTIME_PACKAGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    workspace = tmp_path / ".nanobot" / "workspace"
    workspace.mkdir(parents=True)
    path = tmp_path / ".nanobot" / "config.json"
    path.write_text(
        json.dumps(
            {
                "agents": {"defaults": {"workspace": str(workspace)}},
                "tools": {"restrictToWorkspace": True},
                "channels": {"websocket": {"enabled": False}},
            }
        )
    )
    before = loader._current_config_path
    loader.set_config_path(path)
    yield tmp_path / ".nanobot"
    loader._current_config_path = before


@pytest.fixture
def workspace(home: Path) -> Path:
    return home / "workspace"


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the fake voice process writes down what it sees."""
    path = tmp_path / "seen.jsonl"
    monkeypatch.setenv("FAKE_SEEN", str(path))
    return path
