#!/usr/bin/env python3
"""Receives a stream of specification 003 (dialect `engine`) and prints the MessageState of each request, one per line.

    python3 receiver.py run.ndjson
    python3 sender.py | python3 receiver.py -
    python3 receiver.py "http://127.0.0.1:10338/v1/sessions/demo/events?dialect=engine"

If the connection to a URL breaks, the receiver resumes the stream with `Last-Event-ID`. The exit code is 0 if the
stream is complete, 1 if it was cut or messages are missing, and 2 if it cannot be read.
"""
from __future__ import annotations

import argparse
import http.client
import json
import random
import sys
import time
from typing import Iterable, Iterator
from urllib.parse import urlsplit

from message_state import Json, MessageBuilder

INVALID = (ValueError, LookupError, TypeError, AttributeError)


class Cut(Exception):
    """The stream ended where it must not end. The server may ask to wait before the next request."""

    def __init__(self, message: str, retry_after: str | None = None) -> None:
        super().__init__(message)
        self.wait = float(retry_after) if retry_after and retry_after.isdigit() else 0.0


class Refused(Exception):
    """The server refused the request; repeating it does not help."""


def split_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yields lines with their line break. Only the last one may have none."""
    rest = b""
    for chunk in chunks:
        lines = (rest + chunk).splitlines(keepends=True)
        # The last line may continue, and a CR at the end may be half of a CRLF.
        rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        yield from lines
    if rest:
        yield rest


def read_frames(chunks: Iterable[bytes]) -> Iterator[tuple[str | None, str]]:
    """Yields the ID and the JSON text of each frame of NDJSON or server-sent events. Raises Cut inside a frame."""
    is_ndjson: bool | None = None
    event_id: str | None = None
    data: list[str] = []
    is_open = False
    for line in split_lines(chunks):
        if is_ndjson is None and line.strip():
            is_ndjson = line.lstrip().startswith(b"{")
        if is_ndjson and line.strip():
            # A file may end without a line break. If the last line was cut off, it is not valid JSON.
            if not line.endswith((b"\n", b"\r")) and not is_json(line):
                raise Cut("the stream ended inside a frame")
            yield None, line.decode("utf-8").strip()
        elif not is_ndjson and not line.endswith((b"\n", b"\r")):
            raise Cut("the stream ended inside a frame")
        elif line.strip(b"\r\n") == b"":
            if data:
                yield event_id, "\n".join(data)
            data, is_open = [], False
        elif not is_ndjson and not line.startswith(b":"):
            name, _, value = line.decode("utf-8").rstrip("\r\n").partition(":")
            value = value[1:] if value.startswith(" ") else value
            is_open = True
            if name == "data":
                data.append(value)
            elif name == "id":
                event_id = value
    if is_open:
        raise Cut("the stream ended inside a frame")


def is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


class Request:
    """Puts the messages of one request in order and drops repeated ones."""

    def __init__(self, request_id: str) -> None:
        self.request_id = request_id
        self.start: Json = None
        self.builder = MessageBuilder(request_id)
        self.next_sequence = 0
        self.held: dict[int, Json] = {}

    def receive(self, frame: Json) -> None:
        sequence = frame["metadata"]["sequence"]
        if frame["type"] == "session_start":
            self.start = frame
        if sequence >= self.next_sequence:
            self.held.setdefault(sequence, frame)
        while self.next_sequence in self.held:
            self.next_sequence += 1
            self.builder.apply(self.held.pop(self.next_sequence - 1))

    def end(self) -> None:
        """Applies the messages after a gap. Raises Cut if the request is not complete."""
        gap = self.next_sequence if self.held else None
        while self.held:
            self.next_sequence = min(self.held)
            self.receive(self.held[self.next_sequence])
        if gap is not None:
            raise Cut(f"request {self.request_id}: message {gap} is missing")
        if not self.builder.is_ended:
            raise Cut(f"request {self.request_id}: the stream ended before session_end")


class Receiver:
    """Assigns messages to requests. A stream can have several, in sequence or at the same time."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.latest: dict[str, Request] = {}
        self.faults: list[str] = []

    def receive(self, text: str) -> None:
        try:
            frame = json.loads(text)
            request_id = frame["metadata"].get("request_id") or frame["data"]["request_id"]
            known = self.latest.get(request_id)
            # After the end of a request, another session_start may use its ID again.
            is_again = known is not None and known.builder.is_ended and frame["type"] == "session_start"
            if known is None or (is_again and frame != known.start):
                known = self.latest[request_id] = Request(request_id)
                self.requests.append(known)
            known.receive(frame)
        except INVALID as error:
            self.faults.append(f"invalid message ({error!r}): {text[:200]}")

    def end(self) -> list[Json]:
        """Ends the stream and returns the messages. `faults` then says what is missing."""
        if not self.requests:
            self.faults.append("the stream has no messages")
        for request in self.requests:
            try:
                request.end()
            except (Cut, *INVALID) as error:
                self.faults.append(str(error))
        return [request.builder.finish() for request in self.requests]


def open_url(url: str, token: str | None, last_event_id: str | None) -> Iterator[bytes]:
    parts = urlsplit(url)
    connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    # A server that is alive sends a heartbeat every 15 seconds, unless it is configured otherwise.
    connection = connect(parts.hostname or "", parts.port, timeout=45)
    headers = {"Accept": "text/event-stream"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    if last_event_id:
        headers["Last-Event-ID"] = last_event_id
    try:
        connection.request("GET", parts._replace(scheme="", netloc="", fragment="").geturl(), headers=headers)
        response = connection.getresponse()
        if response.status == 204:
            return
        if response.status != 200:
            problem = f"HTTP {response.status}: {response.read(65536).decode('utf-8', 'replace')}"
            if response.status in (408, 429, 500, 502, 503, 504):
                raise Cut(problem, response.headers.get("Retry-After"))
            raise Refused(problem)
        if not response.chunked and response.length is None:
            # http.client accepts a head that was cut off. Without its length, the body would end at any cut.
            raise Cut("the head of the response is not complete")
        # Only `read1` reports a connection that breaks between two chunks; `readline` returns as at the end.
        yield from iter(lambda: response.read1(65536), b"")
    finally:
        connection.close()


def follow(url: str, token: str | None, attempts: int) -> Iterator[str]:
    """Yields the frames of a URL. Resumes the stream where it broke off, and gives up after failures in a row."""
    last_event_id: str | None = None
    failures = 0
    while True:
        try:
            for event_id, text in read_frames(open_url(url, token, last_event_id)):
                yield text
                # Only now the frame was processed.
                last_event_id, failures = event_id, 0
            return
        except (Cut, OSError, http.client.HTTPException) as error:
            failures += 1
            if failures > attempts:
                raise Cut(f"gave up after {attempts} attempts: {error!r}") from error
            print(f"{error!r}; resuming after {last_event_id}", file=sys.stderr)
            time.sleep(max(getattr(error, "wait", 0.0), random.uniform(0.5, 1) * min(15.0, 0.1 * 2**failures)))


def read_file(path: str) -> Iterator[str]:
    with open(0 if path == "-" else path, "rb", buffering=0) as file:
        for _, text in read_frames(iter(lambda: file.read(65536), b"")):
            yield text


def main() -> int:
    parser = argparse.ArgumentParser(description="Receive a stream of specification 003 and print its MessageState.")
    parser.add_argument("source", help="file, URL, or - for standard input")
    parser.add_argument("--token-file", help="file with the token for the server")
    parser.add_argument("--attempts", type=int, default=10, help="attempts to resume without progress (default: 10)")
    options = parser.parse_args()
    receiver = Receiver()
    try:
        token = None
        if options.token_file:
            with open(options.token_file, encoding="utf-8") as file:
                token = file.read().strip()
        is_url = options.source.startswith(("http://", "https://"))
        for text in follow(options.source, token, options.attempts) if is_url else read_file(options.source):
            receiver.receive(text)
    except Cut as error:
        receiver.faults.append(str(error))
    except (Refused, OSError, UnicodeDecodeError) as error:
        print(error, file=sys.stderr)
        return 2
    for message in receiver.end():
        print(json.dumps(message, ensure_ascii=False))
    for fault in receiver.faults:
        print(fault, file=sys.stderr)
    return 1 if receiver.faults else 0


if __name__ == "__main__":
    sys.exit(main())
