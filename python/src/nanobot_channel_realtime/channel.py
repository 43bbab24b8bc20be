"""The channel that nanobot sees: it starts the voice process, serves it, and hands it what the agent says."""

from __future__ import annotations

import asyncio
from typing import Any

from nanobot.bus.events import OutboundMessage
from nanobot.bus.queue import MessageBus
from nanobot.channels.base import BaseChannel

from nanobot_channel_realtime import surroundings
from nanobot_channel_realtime.access import Access, reach
from nanobot_channel_realtime.config_watch import read_section, watch_section
from nanobot_channel_realtime.edits import Edits
from nanobot_channel_realtime.gate import CHECK_TIMEOUT_S, gate_of
from nanobot_channel_realtime.messages import delta_params, outbound_params
from nanobot_channel_realtime.node import NotFoundError, find_command
from nanobot_channel_realtime.process import HANDSHAKE_TIMEOUT_S, VoiceProcess
from nanobot_channel_realtime.service import Service
from nanobot_channel_realtime.settings import parse, read
from nanobot_channel_realtime.version import CHANNEL, PROTOCOL, __version__
from nanobot_channel_realtime.wire import CANT_START, ConnectionClosed, WireError

#: How often a process that broke is started again, and how long each time is waited before it.
RESPAWN_DELAYS_S = (1.0, 2.0, 5.0, 10.0, 20.0)
#: A process that ran this long was well: the count begins anew.
HEALTHY_AFTER_S = 300.0
#: nanobot waits for channels one after another when it ends; calls may go on for so long at most.
MAX_DRAIN_S = 10.0
OUTBOUND_TIMEOUT_S = 10.0


class StartError(Exception):
    """Why the channel does not run, in words for whoever looks at it."""


class RealtimeChannel(BaseChannel):
    """Calls by phone and from a web page."""

    name = CHANNEL
    display_name = "Realtime voice"
    #: A core that has such a gateway hands it over by keyword; none does today.
    wants_tool_gateway = True

    def __init__(self, config: Any, bus: MessageBus, *, tool_gateway: Any = None) -> None:
        super().__init__(config, bus)
        self._settings = parse(config)
        # As the file has it: what an edit is told from.
        self._section = read_section()
        #: What `is_allowed` and `supports_streaming` read.
        self.config = {
            "enabled": True,
            "allowFrom": self._settings.allow_from,
            "streaming": self._settings.streaming,
        }
        self._access = reach(bus, self._settings.tool_access, tool_gateway)
        self._service = Service(self, self._access)
        self._edits = Edits(self._hold_gate, self._log)
        self._process: VoiceProcess | None = None
        self._stopping = False
        self._wake = asyncio.Event()
        # From the first moment: until the voice process can answer, nothing runs that it may have to be asked about.
        self._hold_gate(self._settings.gate_is_on)

    @property
    def peer(self) -> Any:
        """The wire to the voice process; ``None`` while it does not run."""
        return self._process.peer if self._process is not None and self._running else None

    @property
    def access(self) -> Access:
        return self._access

    def _hold_gate(self, is_on: bool) -> None:
        if (loop := self._access.loop) is not None:
            gate_of(loop).hold(self, self._check if is_on else None, self._decide, self._service.tools_changed)

    # Life

    async def start(self) -> None:
        """Runs until :meth:`stop`. A process that breaks is started again, a bounded number of times."""
        if self._access.note is not None:
            self.logger.warning("Tool access is {}: {}", self._access.level, self._access.note)
        if self._gate_would_not_hold():
            raise StartError(
                "channels.realtime.approvals: the gate can't be put in front of nanobot's own turns "
                f"({self._access.note}). Set approvals.scope to voiceOnly to have it in calls alone."
            )
        if self._access.locks_note is not None:
            self.logger.warning(
                "nanobot's locks of sessions were not found ({}): rows of calls are written between its own, not after "
                "a turn that runs",
                self._access.locks_note,
            )
        watching = asyncio.create_task(watch_section(self._section, self._edited, self._warn))
        try:
            await self._keep_running()
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _keep_running(self) -> None:
        failures = 0
        clock = asyncio.get_running_loop()
        while not self._stopping:
            begun = clock.time()
            try:
                process = await self._spawn()
            except StartError:
                # What is wrong at the first start is wrong at the second, too.
                if failures == 0:
                    raise
                self.logger.warning("The voice process did not start again")
            else:
                watching = asyncio.create_task(process.end_when_stuck())
                code = await process.wait()
                watching.cancel()
                self._running = False
                if self._stopping:
                    return
                self.logger.error("The voice process ended by itself with code {}", code)
            if clock.time() - begun >= HEALTHY_AFTER_S:
                failures = 0
            if failures == len(RESPAWN_DELAYS_S):
                raise StartError(
                    f"The voice process broke {failures + 1} times and is not started again. "
                    f"Its last words: {process.last_words or 'none'}"
                )
            await self._pause(RESPAWN_DELAYS_S[failures])
            failures += 1

    def _gate_would_not_hold(self) -> bool:
        """Whether a gate for everything was asked for, and this nanobot does not let us at everything."""
        settings = self._settings
        if self._access.loop is not None or settings.tool_access != "full" or not settings.gate_is_on:
            return False
        return bool(read(settings.section, "approvals.scope") != "voiceOnly")

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._wake.wait(), seconds)
        except TimeoutError:
            return

    async def _spawn(self) -> VoiceProcess:
        """
        :raises StartError: it can't be found, or does not get as far as to listen
        """
        settings, service = self._settings, self._service
        try:
            command = await asyncio.to_thread(find_command, settings)
        except NotFoundError as error:
            raise StartError(str(error)) from error
        self.logger.info("Starting the voice process from {}", command.found)
        try:
            process = await VoiceProcess.start(
                command, settings.secrets, service.requests, service.notifications, self._log
            )
        except OSError as error:
            raise StartError(f"{command.argv[0]} could not be started: {error.strerror}") from error
        self._process = process
        if self._stopping:
            await process.stop(0)
            raise StartError("The channel was stopped while it started.")
        try:
            answer = await process.initialize(surroundings.initialize_params(self._settings, self._access, PROTOCOL))
        except BaseException as error:
            process.kill()
            await process.wait()
            raise self._start_error(error, process) from error
        # It may know of a gate that the section does not tell of.
        self._hold_gate(answer.get("gate") is True)
        self._running = True
        await self._edits.tell(self.peer)
        for note in answer.get("notes") or []:
            self.logger.info("{}", note)
        if answer["version"] != __version__:
            self.logger.warning("The voice process is {}, this package {}", answer["version"], __version__)
        self.logger.info("Listening for calls at {} with {}", answer.get("address"), answer.get("model"))
        if answer.get("operatorUrl"):
            # Its token is a secret, and this is a log.
            self.logger.info("The operator's page is at {}", answer["operatorUrl"])
            if answer.get("operatorToken"):
                self.logger.info("Make a token for it with: {} approvals token", " ".join(command.argv[:-1]))
        return process

    @staticmethod
    def _start_error(error: BaseException, process: VoiceProcess) -> BaseException:
        if isinstance(error, WireError):
            text = error.message if error.code == CANT_START else f"The handshake failed: {error.message}"
            if supported := error.data.get("supported"):
                text += f" (it speaks version {', '.join(map(str, supported))} of the wire, this package {PROTOCOL})"
            return StartError(text)
        if isinstance(error, ConnectionClosed):
            return StartError(f"The voice process ended as it started: {process.last_words or 'without a word'}")
        if isinstance(error, TimeoutError):
            return StartError(f"The voice process said nothing for {HANDSHAKE_TIMEOUT_S:.0f} s.")
        return error

    async def stop(self) -> None:
        """Ends the process and waits until it is gone. May be called twice, and at any time."""
        self._stopping = True
        self._wake.set()
        if (loop := self._access.loop) is not None:
            gate_of(loop).release(self)
        if self._process is not None:
            await self._process.stop(min(self._settings.drain_s, MAX_DRAIN_S))
        self._running = False

    def start_error_message(self, error: Exception) -> str | None:
        return str(error) if isinstance(error, StartError) else None

    def _log(self, level: str, text: str) -> None:
        self.logger.log(level, "{}", text)

    def _warn(self, text: str) -> None:
        self._log("WARNING", text)

    async def _edited(self, section: Any) -> None:
        await self._edits.take(section, self.peer)

    # What the agent says

    async def send(self, msg: OutboundMessage) -> None:
        """Hands a message to the voice process. What can't be said now is not said later: it waits in the session."""
        params = outbound_params(msg)
        is_final = params["kind"] == "final"
        try:
            if (peer := self.peer) is None:
                raise ConnectionClosed("the voice process does not run")
            answer = await peer.request("outbound", params, OUTBOUND_TIMEOUT_S)
            if not is_final or answer.get("handled") != "kept":
                return
            self.logger.info(
                "A message of the agent's is for nobody on the line, and channels.realtime.ring rings nobody for it: "
                "it waits in the session"
            )
        except (WireError, ConnectionClosed, TimeoutError) as error:
            self.logger.warning("A message of the agent's was lost to the line: {}", type(error).__name__)
        if is_final:
            self._service.keep(params["chatId"], params["content"])

    async def send_delta(self, chat_id: str, delta: str, metadata: dict[str, Any] | None = None, **how: Any) -> None:
        if (peer := self.peer) is not None:
            peer.notify("delta", delta_params(chat_id, delta, metadata, **how))

    def progress_transport_defaults(self) -> tuple[bool, bool]:
        # Text in between tells a waiting caller how far it is; names of tools are not for the ear.
        return True, False

    def should_retry_send_error(self, error: Exception) -> bool:
        return False

    # What the gate asks

    async def _check(self, params: dict[str, Any]) -> dict[str, Any]:
        return await self._ask("gate/check", params)

    async def _decide(self, params: dict[str, Any]) -> str | None:
        reply = (await self._ask("approvals/decide", params)).get("reply")
        return reply if isinstance(reply, str) else None

    async def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        peer = self.peer
        if peer is None:
            raise ConnectionClosed("the voice process does not run")
        answer: dict[str, Any] = await peer.request(method, params, CHECK_TIMEOUT_S)
        return answer

    def lock_of(self, key: str) -> asyncio.Lock:
        """The lock that a turn of this session holds; one of our own where that is not to be had."""
        return (self._access.locks or self._service.own_lock)(key)
