"""A very fast OpenAI-compatible server on loopback, as a process of its own, for the benchmarks of model calls.

    python benchmarks/stub.py [--latency 0.05] [--capacity 0] [--malformed 0] [--stories 10]

Prints its port. Above `--capacity` calls at once it answers 429 with `Retry-After: 1`; of `--malformed` of the answers
(a share, chosen by the request's hash) something is broken in one of six ways. GET /stats counts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import urllib.request
from collections import Counter
from hashlib import blake2b
from pathlib import Path
from typing import Self

WORDS = ("the baker", "a nurse", "her cousin", "our neighbour", "an old driver", "the gardener", "his aunt", "a guest")
STORY = "{} walked home late with {} and found that nobody had waited. {} only laughed and went back to the work."


class Stub:
    """Settings and counts."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.in_flight = self.peak = self.refused = 0
        self.prompts: Counter[bytes] = Counter()

    def content(self, digest: bytes) -> tuple[str, str]:
        """Scenarios, different for every request, or something broken; and the reason for the end."""
        if self.options.answer:
            return self.options.answer, "stop"
        size = 3 * self.options.stories
        words = [WORDS[byte % len(WORDS)] + f" of number {byte}" for byte in blake2b(digest, digest_size=size).digest()]
        stories = [STORY.format(*words[i : i + 3]) for i in range(0, size, 3)]
        good = json.dumps({"scenarios": stories})
        if digest[0] >= 256 * self.options.malformed:
            return good, "stop"
        broken = (
            (good[: len(good) // 2], "length"),
            (f"Sure! Here they are:\n```json\n{good}\n``` I hope they help.", "stop"),
            ("Let me think about that for a while.", "stop"),
            (json.dumps({"scenarios": None}), "stop"),
            ("I'm sorry, but I can't help with that.", "stop"),
            (good.replace('"scenarios"', "Scenarios"), "stop"),
        )
        return broken[digest[1] % len(broken)]

    def answer(self, body: bytes) -> bytes:
        """A chat completion."""
        digest = blake2b(body, digest_size=16).digest()
        self.prompts[digest] += 1
        text, reason = self.content(digest)
        usage = {"prompt_tokens": len(body) // 4, "completion_tokens": 300, "total_tokens": len(body) // 4 + 300}
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}
        head = {"id": "1", "created": 1, "object": "chat.completion", "model": "stub"}
        return json.dumps({**head, "choices": [choice], "usage": usage}).encode()


class Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive, and no more of it than the benchmarks need."""

    def __init__(self, stub: Stub) -> None:
        self.stub = stub
        self.buffer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = bytes(self.buffer[:end])
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
            if len(self.buffer) < end + 4 + length:
                return
            body = bytes(self.buffer[end + 4 : end + 4 + length])
            del self.buffer[: end + 4 + length]
            self.handle(head.startswith(b"GET"), body)

    def handle(self, is_get: bool, body: bytes) -> None:
        stub = self.stub
        if is_get:
            repeats = sum(count - 1 for count in stub.prompts.values())
            counts = {"calls": stub.prompts.total(), "repeats": repeats, "peak": stub.peak, "refused": stub.refused}
            self.write(200, json.dumps(counts).encode())
        elif stub.options.capacity and stub.in_flight >= stub.options.capacity:
            stub.refused += 1
            self.write(429, b'{"error": {"message": "slow down"}}', b"Retry-After: 1\r\n")
        else:
            stub.in_flight += 1
            stub.peak = max(stub.peak, stub.in_flight)
            asyncio.get_running_loop().call_later(stub.options.latency, self.later, body)

    def later(self, body: bytes) -> None:
        self.stub.in_flight -= 1
        self.write(200, self.stub.answer(body))

    def write(self, status: int, body: bytes, headers: bytes = b"") -> None:
        if not self.transport.is_closing():
            head = b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n" % (status, len(body))
            self.transport.write(head + headers + b"\r\n" + body)


class Running:
    """The server as a process; a context manager."""

    def __init__(self, **options: float | str) -> None:
        self.arguments = [part for name, value in options.items() for part in (f"--{name}", str(value))]

    def __enter__(self) -> Self:
        command = [sys.executable, str(Path(__file__)), *self.arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def stats(self) -> dict[str, int]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/stats") as reply:
            return json.load(reply)


async def serve(options: argparse.Namespace) -> None:
    stub = Stub(options)
    server = await asyncio.get_running_loop().create_server(lambda: Connection(stub), "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=float, default=0.05, help="seconds before each answer")
    parser.add_argument("--capacity", type=int, default=0, help="calls at once; 0 is any number")
    parser.add_argument("--stories", type=int, default=10, help="scenarios in an answer")
    parser.add_argument("--malformed", type=float, default=0.0, help="share of broken answers")
    parser.add_argument("--answer", default="", help="answer this, instead of scenarios")
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
