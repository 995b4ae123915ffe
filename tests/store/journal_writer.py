"""Writes calls into a journal until it is killed, and prints each key once it is acknowledged."""

import asyncio
import sys
from itertools import count
from pathlib import Path

from adage.models.base import ChatReply, ChatRequest, Message
from adage.store.journal import Journal


async def write(journal: Journal, number: int) -> None:
    """Store one call."""
    request = ChatRequest(model="m", family="scripted", messages=(Message(role="user", content=str(number)),))
    await journal.put(request.key(), request, ChatReply(text="x" * 200))
    sys.stdout.write(request.key() + "\n")
    sys.stdout.flush()


async def main(path: Path, first: int) -> None:
    """Store calls in groups, from number `first` on."""
    journal = Journal(path)
    for start in count(first, 50):
        await asyncio.gather(*(write(journal, number) for number in range(start, start + 50)))


asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
