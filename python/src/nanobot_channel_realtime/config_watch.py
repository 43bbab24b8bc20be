"""Edits of our section in nanobot's config file, as they are saved by hand, the command line or the settings page.

nanobot restarts a channel when its settings page saves and enables it; of every other save a channel hears nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from nanobot.config.loader import load_config
from nanobot.config.paths import get_config_path
from nanobot.config.watcher import watch_config_file

from nanobot_channel_realtime.version import CHANNEL

#: Takes the section as it is now.
Changed = Callable[[Any], Awaitable[None]]


def read_section() -> Any:
    """The section in the file.

    :raises Exception: the file can't be read as it is now
    """
    section = getattr(load_config().channels, CHANNEL, None)
    return {} if section is None else section


async def watch_section(before: Any, changed: Changed, complain: Callable[[str], None]) -> None:
    """Tells of every edit of the section, one after another, until it is cancelled."""
    saved = asyncio.Event()
    # Once in any case: it may have been edited since ``before`` was read.
    saved.set()
    watching = asyncio.create_task(watch_config_file(get_config_path(), saved.set))
    watching.add_done_callback(lambda _: saved.set())
    last = before
    try:
        while not watching.done():
            await saved.wait()
            saved.clear()
            try:
                section = await asyncio.to_thread(read_section)
            except Exception as error:
                # A half-written file; the next save tells of itself.
                complain(f"The config can't be read as it is now ({type(error).__name__}); nothing is changed by it")
                continue
            if section != last:
                last = section
                await changed(section)
        complain("The config file can't be watched: edits of channels.realtime take effect at a restart")
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
