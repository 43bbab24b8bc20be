"""Pipecat with its OpenAI realtime service, behind its Twilio and its SmallWebRTC transport, put together as its
documentation and its example `examples/realtime/realtime-openai.py` do it: one process of asyncio, FastAPI on uvicorn.

What is left out of the example is what costs: metrics, loggers, RTVI, turn tracking, tools, logging below errors.
"""

import argparse
import asyncio
import json
import os
import resource
import socket

import uvicorn
from fastapi import BackgroundTasks, FastAPI, WebSocket
from pipecat.frames.frames import LLMRunFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair
from pipecat.runner.utils import parse_telephony_websocket
from pipecat.serializers.twilio import TwilioFrameSerializer
from pipecat.services.openai.realtime.events import (
    AudioConfiguration,
    AudioInput,
    InputAudioTranscription,
    SemanticTurnDetection,
    SessionProperties,
)
from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService
from pipecat.transports.base_transport import BaseTransport, TransportParams
from pipecat.transports.websocket.fastapi import FastAPIWebsocketParams, FastAPIWebsocketTransport
from pipecat.workers.runner import WorkerRunner

arguments = argparse.ArgumentParser()
arguments.add_argument("model_url")
arguments.add_argument("--webrtc", action="store_true")
options = arguments.parse_args()

app = FastAPI()


async def run_bot(transport: BaseTransport, params: PipelineParams) -> None:
    llm = OpenAIRealtimeLLMService(
        api_key="bench",
        base_url=options.model_url,
        settings=OpenAIRealtimeLLMService.Settings(
            system_instruction="You are a helpful assistant.",
            session_properties=SessionProperties(
                audio=AudioConfiguration(
                    input=AudioInput(
                        transcription=InputAudioTranscription(),
                        # The model listens for turns; no voice detection runs here.
                        turn_detection=SemanticTurnDetection(),
                    )
                ),
            ),
        ),
    )
    user_aggregator, assistant_aggregator = LLMContextAggregatorPair(
        LLMContext([{"role": "developer", "content": "Say hello!"}])
    )
    pipeline = Pipeline(
        [transport.input(), user_aggregator, llm, transport.output(), assistant_aggregator]
    )
    worker = PipelineWorker(
        pipeline,
        params=params,
        enable_rtvi=False,
        enable_turn_tracking=False,
        idle_timeout_secs=None,
    )

    @transport.event_handler("on_client_connected")
    async def on_client_connected(_transport, _client) -> None:
        await worker.queue_frames([LLMRunFrame()])

    @transport.event_handler("on_client_disconnected")
    async def on_client_disconnected(_transport, _client) -> None:
        await worker.cancel()

    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    await runner.run()


@app.websocket("/ws")
async def twilio(websocket: WebSocket) -> None:
    await websocket.accept()
    _, call = await parse_telephony_websocket(websocket)
    serializer = TwilioFrameSerializer(
        stream_sid=call["stream_id"],
        call_sid=call["call_id"],
        # There is no Twilio to be asked to hang up.
        params=TwilioFrameSerializer.InputParams(auto_hang_up=False),
    )
    transport = FastAPIWebsocketTransport(
        websocket=websocket,
        params=FastAPIWebsocketParams(
            audio_in_enabled=True,
            audio_out_enabled=True,
            add_wav_header=False,
            serializer=serializer,
        ),
    )
    # As its guide to Twilio has it: resampled once each way, between the telephone's rate and the model's.
    await run_bot(transport, PipelineParams(audio_in_sample_rate=8000, audio_out_sample_rate=8000))


if options.webrtc:
    from pipecat.transports.smallwebrtc.connection import SmallWebRTCConnection
    from pipecat.transports.smallwebrtc.request_handler import (
        SmallWebRTCRequest,
        SmallWebRTCRequestHandler,
    )
    from pipecat.transports.smallwebrtc.transport import SmallWebRTCTransport

    handler = SmallWebRTCRequestHandler()

    @app.post("/api/offer")
    async def offer(request: dict, background: BackgroundTasks) -> dict[str, str] | None:
        async def connected(connection: SmallWebRTCConnection) -> None:
            transport = SmallWebRTCTransport(
                webrtc_connection=connection,
                params=TransportParams(audio_in_enabled=True, audio_out_enabled=True),
            )
            # The model's rate both ways, so that nothing is resampled but what Opus' 48 kHz need.
            params = PipelineParams(audio_in_sample_rate=24000, audio_out_sample_rate=24000)
            background.add_task(run_bot, transport, params)

        return await handler.handle_web_request(
            SmallWebRTCRequest.from_dict(request), connected
        )


class Parent:
    """Node's channel to a child (lines of JSON): answers what the process has used, as `lib/probe.ts` does."""

    def __init__(self) -> None:
        self._channel = socket.socket(fileno=int(os.environ.pop("NODE_CHANNEL_FD")))
        self._channel.setblocking(False)
        self._rest = b""

    def listen(self) -> None:
        asyncio.get_running_loop().add_reader(self._channel.fileno(), self._read)

    def send(self, message: dict) -> None:
        self._channel.send(json.dumps(message).encode() + b"\n")

    def _read(self) -> None:
        data = self._channel.recv(65536)
        # Whoever measures is gone: nothing of the benchmark outlives it.
        if not data:
            os._exit(0)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            probe = json.loads(line).get("probe")
            if probe is not None:
                self.send({"probe": probe, "usage": usage()})


def usage() -> dict[str, float]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    with open("/proc/self/statm") as statm:
        pages = int(statm.read().split()[1])
    return {
        "cpuUs": (used.ru_utime + used.ru_stime) * 1e6,
        "rss": pages * resource.getpagesize(),
        "heapUsed": 0,
        "external": 0,
        "delayP99Ms": 0,
        "delayMaxMs": 0,
        "gcMs": 0,
    }


# uvloop and httptools, where they are installed: requirements.txt has them.
config = uvicorn.Config(app, log_level="error", ws_per_message_deflate=False)


async def main() -> None:
    parent = Parent()
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    server = uvicorn.Server(config)
    parent.listen()
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.02)
    parent.send({"ready": f"127.0.0.1:{listener.getsockname()[1]}"})
    await serving


with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
    runner.run(main())
