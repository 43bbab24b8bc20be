"""One run of the voice process: started, spoken with, ended with everything that it started."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections import deque
from collections.abc import Callable
from typing import Any

from nanobot_channel_realtime.node import Command
from nanobot_channel_realtime.wire import STREAM_LIMIT, ConnectionClosed, Handler, Peer, WireError

#: How long the process may take to answer `initialize`.
HANDSHAKE_TIMEOUT_S = 30.0
#: How long it may take to go away once it has said that it is done.
EXIT_GRACE_S = 3.0
#: How often it is asked whether it is well, and how long it may take to say so; then it is ended.
PING_EVERY_S = 10.0
PING_TIMEOUT_S = 20.0
#: Lines of its log that a failed start tells.
_TAIL_LINES = 20
_LEVELS = {10: "DEBUG", 20: "DEBUG", 30: "INFO", 40: "WARNING", 50: "ERROR", 60: "CRITICAL"}

Log = Callable[[str, str], None]


class VoiceProcess:
    """The Node process, from its start to its end."""

    def __init__(self, process: asyncio.subprocess.Process, peer: Peer, log: Log) -> None:
        self._process = process
        self._log = log
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._ending: asyncio.Task[None] | None = None
        self.peer = peer
        assert process.stdout is not None and process.stderr is not None
        self._reading = asyncio.create_task(peer.run(process.stdout))
        self._listening = asyncio.create_task(self._read_log(process.stderr))

    @classmethod
    async def start(
        cls,
        command: Command,
        secrets: dict[str, str],
        requests: dict[str, Handler],
        notifications: dict[str, Handler],
        log: Log,
    ) -> VoiceProcess:
        """
        :raises OSError: the file can't be run
        """
        process = await asyncio.create_subprocess_exec(
            *command.argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=STREAM_LIMIT,
            env={**os.environ, **command.env, **secrets},
            # A group of its own: a Ctrl-C is ours to pass on, and the end takes whatever it started with it.
            start_new_session=True,
        )
        assert process.stdin is not None
        peer = Peer(process.stdin, requests, notifications, lambda text: log("WARNING", text))
        return cls(process, peer, log)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def last_words(self) -> str:
        """The last line of its log that says something."""
        return next((line for line in reversed(self._tail) if line.strip()), "")

    async def initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        """The handshake.

        :raises WireError: it says why it can't start
        :raises ConnectionClosed: it went away
        :raises TimeoutError: it said nothing in time
        """
        result = await self.peer.request("initialize", params, HANDSHAKE_TIMEOUT_S)
        if not isinstance(result, dict) or not isinstance(result.get("version"), str):
            raise WireError(-32001, "it answered with something else than this protocol")
        return result

    async def wait(self) -> int:
        """Its exit code, once it is gone and everything of it was read."""
        code = await self._process.wait()
        await asyncio.gather(self._reading, self._listening, return_exceptions=True)
        return code

    async def end_when_stuck(self) -> None:
        """Ends it when it is there and does nothing any more; its calls hear nothing then. Runs until it is gone."""
        while True:
            await asyncio.sleep(PING_EVERY_S)
            try:
                await self.peer.request("ping", {}, PING_TIMEOUT_S)
            except TimeoutError:
                self._log("ERROR", f"The voice process did not answer for {PING_TIMEOUT_S:.0f} s and is ended")
                self.kill()
                return
            except WireError:
                continue
            except ConnectionClosed:
                return

    async def stop(self, drain_s: float) -> None:
        """Asks it to end, and sees to it. A second call ends the calls at once. Returns when nothing of it is left."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._end(drain_s))
        elif not self._ending.done():
            with contextlib.suppress(WireError, ConnectionClosed, TimeoutError):
                await self.peer.request("shutdown", {"drainMs": 0}, EXIT_GRACE_S)
        await asyncio.shield(self._ending)

    async def _end(self, drain_s: float) -> None:
        with contextlib.suppress(WireError, ConnectionClosed, TimeoutError):
            await self.peer.request("shutdown", {"drainMs": int(drain_s * 1000)}, drain_s + 5)
        if self._process.stdin is not None:
            self._process.stdin.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), EXIT_GRACE_S)
        self.kill()
        await self.wait()

    def kill(self) -> None:
        """Ends the process and everything it started, at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._process.kill()
            else:
                os.killpg(self._process.pid, signal.SIGKILL)

    async def _read_log(self, stream: asyncio.StreamReader) -> None:
        while True:
            try:
                line = await stream.readline()
            except ValueError:
                continue
            if not line:
                return
            level, text = _log_line(line.decode("utf-8", "replace").rstrip())
            if text:
                self._tail.append(text)
                self._log(level, text)


def _log_line(line: str) -> tuple[str, str]:
    """Level and text of a line of its log: JSON lines as pino writes them, else as it stands."""
    try:
        entry = json.loads(line)
    except ValueError:
        return "INFO", line
    if not isinstance(entry, dict):
        return "INFO", line
    level = entry.get("level")
    extra = {k: v for k, v in entry.items() if k not in ("level", "time", "pid", "hostname", "msg")}
    text = str(entry.get("msg", ""))
    if extra:
        text = f"{text} {json.dumps(extra, ensure_ascii=False)}".strip()
    return _LEVELS.get(level, "INFO") if isinstance(level, int) else "INFO", text
