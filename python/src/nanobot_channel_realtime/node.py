"""Finds Node and the npm package with the calls in it. Downloads nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from nanobot.config.paths import get_config_path

from nanobot_channel_realtime.settings import Settings
from nanobot_channel_realtime.version import MIN_NODE, NPM_PACKAGE, __version__

BIN = Path("bin") / "nanobot-realtime.js"
_VERSION_TIMEOUT_S = 10.0
_NODE_WANTED = ".".join(map(str, MIN_NODE))


class NotFoundError(Exception):
    """Something is missing; the text says what, and what to do."""


@dataclass(frozen=True)
class Command:
    """How the voice process is started."""

    argv: list[str]
    #: Where the package was found, for people.
    found: str
    #: Version of the package, when it can be known before it runs.
    version: str | None
    #: Of its environment; what it starts by name has to be this Node, too.
    env: dict[str, str] = field(default_factory=dict)


def own_copy() -> Path:
    """Where ``npm install --prefix ~/.nanobot/realtime-package`` puts the package: beside the config file."""
    return get_config_path().parent / "realtime-package" / "node_modules" / NPM_PACKAGE


def install_command() -> str:
    return f"npm install --prefix {own_copy().parent.parent} {NPM_PACKAGE}@{__version__}"


def find_node(settings: Settings) -> tuple[str, str]:
    """Path and version of Node: the config's, ``NANOBOT_REALTIME_NODE``'s, else the one on the PATH.

    :raises NotFoundError: there is none, or it is too old
    """
    wanted = settings.node or "node"
    path = shutil.which(str(Path(wanted).expanduser()) if settings.node else wanted)
    if path is None:
        where = f"at {wanted}" if settings.node else "on the PATH"
        raise NotFoundError(
            f"Node.js was not found {where}. Install Node {_NODE_WANTED} or newer from https://nodejs.org, "
            "or name its file in channels.realtime.node."
        )
    try:
        answer = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S, check=False
        ).stdout.strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotFoundError(f"{path} could not be run: {type(error).__name__}.") from error
    match = re.fullmatch(r"v(\d+)\.(\d+)\.\d+.*", answer)
    if match is None:
        raise NotFoundError(f"{path} is not Node.js.")
    if (int(match[1]), int(match[2])) < MIN_NODE:
        raise NotFoundError(f"Node {answer} at {path} is too old: {_NODE_WANTED} or newer is needed.")
    return path, answer


def package_version(folder: Path) -> str | None:
    """Version of the package in that folder; ``None`` when it is not ours."""
    try:
        manifest = json.loads((folder / "package.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(manifest, dict) or manifest.get("name") != NPM_PACKAGE:
        return None
    return str(manifest.get("version", "")) if (folder / BIN).is_file() else None


def _global_copies(node: str) -> list[Path]:
    """Where ``npm install -g`` puts packages, seen from the Node that is used."""
    prefix = Path(node).resolve().parent
    return [
        prefix.parent / "lib" / "node_modules" / NPM_PACKAGE,
        prefix / "node_modules" / NPM_PACKAGE,
    ]


def find_command(settings: Settings) -> Command:
    """The command that starts the voice process: the config's package, ``NANOBOT_REALTIME_PACKAGE``'s, our own
    copy, one that npm installed for everybody, and last what ``npx`` has, never what it would have to fetch.

    :raises NotFoundError: with the one thing to do about it
    """
    node, _ = find_node(settings)
    if settings.package:
        folder = Path(settings.package).expanduser()
        version = package_version(folder)
        if version is None:
            raise NotFoundError(
                f"There is no {NPM_PACKAGE} in {folder}. Correct channels.realtime.package, or leave it out."
            )
        return Command([node, str(folder / BIN), "bridge"], str(folder), version)
    for folder in (own_copy(), *_global_copies(node)):
        # Another version's wire may be another; the handshake would only find that out later.
        if package_version(folder) == __version__:
            return Command([node, str(folder / BIN), "bridge"], str(folder), __version__)
    bin_folder = Path(node).parent
    npx = shutil.which("npx", path=str(bin_folder)) or shutil.which("npx")
    env = {"PATH": os.pathsep.join([str(bin_folder), os.environ.get("PATH", "")])}
    if npx is not None and _npx_has_it(npx, env):
        package = f"{NPM_PACKAGE}@{__version__}"
        return Command([*_npx(npx), "bridge"], f"npx {package}", __version__, env)
    raise NotFoundError(f"The npm package {NPM_PACKAGE} {__version__} is not installed. Run: {install_command()}")


def _npx(npx: str) -> list[str]:
    """What is installed where nanobot runs, or npx has kept. Offline: else it would ask the registry what there is."""
    return [npx, "--no-install", "--offline", f"--package={NPM_PACKAGE}@{__version__}", "nanobot-realtime"]


def _npx_has_it(npx: str, env: dict[str, str]) -> bool:
    try:
        done = subprocess.run(
            [*_npx(npx), "--version"],
            capture_output=True,
            text=True,
            timeout=_VERSION_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **env},
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and __version__ in done.stdout
