"""Which tools of one session may run side by side: nanobot's rule, kept without its runner."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class TurnTaking:
    """Tools that may share do; one that may not runs alone, and all begin in the order they came."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[asyncio.Future[None], bool]] = deque()
        self._sharing = 0
        self._is_alone = False

    @asynccontextmanager
    async def turn(self, *, alone: bool) -> AsyncIterator[None]:
        go: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((go, alone))
        self._advance()
        try:
            await go
        except asyncio.CancelledError:
            if not go.cancelled():
                self._leave(alone)
            self._advance()
            raise
        try:
            yield
        finally:
            self._leave(alone)

    def _advance(self) -> None:
        while self._waiting:
            go, alone = self._waiting[0]
            if not go.cancelled():
                if self._is_alone or (alone and self._sharing):
                    return
                self._is_alone = alone
                self._sharing += not alone
                go.set_result(None)
            self._waiting.popleft()

    def _leave(self, alone: bool) -> None:
        if alone:
            self._is_alone = False
        else:
            self._sharing -= 1
        self._advance()
