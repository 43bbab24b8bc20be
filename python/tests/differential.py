"""Runs a list of tool calls in this nanobot, and prints what each gave: ``python -m tests.differential LEVEL``.

Standard input: ``{"config": path, "calls": [[name, arguments], ...]}``. Standard output: a list of
``{"output", "isError"}``.
The calls run one after another in one session, as the calls of one phone call do.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from loguru import logger
from nanobot.bus.queue import MessageBus
from nanobot.config.loader import set_config_path

from nanobot_channel_realtime.access import reach
from nanobot_channel_realtime.settings import ToolAccess
from nanobot_channel_realtime.tools import MAX_OUTPUT_CHARS, ToolRunner
from tests.support import make_agent


async def run(level: ToolAccess, calls: list[tuple[str, Any]]) -> list[dict[str, Any]]:
    bus = MessageBus()
    agent = make_agent(bus)
    access = reach(bus, level, None)
    assert access.level == level and access.ctx is not None, access.note
    runner = ToolRunner(
        access.host,
        access.ctx.sessions,
        channel="realtime",
        max_output_chars=MAX_OUTPUT_CHARS,
        is_allowed=lambda _sender: True,
        owns_session=lambda _key: True,
    )
    results = []
    for number, (name, arguments) in enumerate(calls):
        params = {
            "executionId": f"d{number}",
            "sessionKey": "realtime:d",
            "channel": "realtime",
            "chatId": "d",
            "senderId": "caller",
            "name": name,
            "arguments": arguments,
            "timeoutMs": 30_000,
        }
        results.append(await runner.execute(params))
    await agent.aclose()
    return results


def main() -> None:
    logger.remove()
    asked = json.load(sys.stdin)
    set_config_path(Path(asked["config"]))
    level: ToolAccess = "full" if sys.argv[1] == "full" else "public"
    results = asyncio.run(run(level, [(name, arguments) for name, arguments in asked["calls"]]))
    json.dump(results, sys.stdout, ensure_ascii=False)


if __name__ == "__main__":
    main()
