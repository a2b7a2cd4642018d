"""Where a sender writes its frames: standard output, or the ingest endpoint of a Loom server."""
from __future__ import annotations

import argparse
import http.client
import json
import sys
import threading
import time
from typing import Any
from urllib.parse import quote, urlsplit

Json = Any


class Output:
    """Writes frames to standard output."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def send(self, frame: Json) -> None:
        with self.lock:
            self.write(encode(frame))

    def beat(self) -> None:
        """A space before the next frame shows that the sender is alive. JSON parsers skip it."""
        with self.lock:
            self.write(b" ")

    def write(self, data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def finish(self) -> None:
        pass


class Ingest(Output):
    """Sends frames in the body of one request, and keeps them until the server has stored the run."""

    def __init__(self, options: argparse.Namespace, run_id: str) -> None:
        super().__init__()
        self.address, self.run_id, self.attempts = urlsplit(options.server), run_id, options.attempts
        self.path = f"{self.address.path.rstrip('/')}/v1/sessions/{quote(options.session, safe='')}"
        self.dialect, self.authorization = options.dialect, {}
        if options.token_file:
            with open(options.token_file, encoding="utf-8") as file:
                self.authorization = {"Authorization": f"Bearer {file.read().strip()}"}
        self.frames: list[Json] = []
        self.connection = self.open()

    def connect(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self.address.scheme == "https" else http.client.HTTPConnection
        return kind(self.address.hostname or "", self.address.port, timeout=60)

    def open(self) -> http.client.HTTPConnection | None:
        connection = self.connect()
        headers = {"Content-Type": "application/x-ndjson", "Transfer-Encoding": "chunked", **self.authorization}
        try:
            # `refuse` makes the request safe to repeat: the server does not store a run that it has.
            connection.putrequest("POST", f"{self.path}/ingest?dialect={self.dialect}&when_taken=refuse")
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders()
        except OSError:
            return None
        return connection

    def send(self, frame: Json) -> None:
        self.frames.append(frame)
        super().send(frame)

    def write(self, data: bytes) -> None:
        try:
            if self.connection:
                self.connection.send(b"%x\r\n%b\r\n" % (len(data), data))
        except OSError:
            self.connection = None  # `finish` sends all frames again.

    def finish(self) -> None:
        """Returns when the run is stored. Repeats the request if it is not known what the server has stored."""
        for attempt in range(1, self.attempts + 1):
            try:
                if self.is_stored():
                    return
            except (OSError, http.client.HTTPException, ValueError) as error:
                print(f"attempt {attempt}: {error!r}", file=sys.stderr)
            time.sleep(min(10.0, 0.05 * 2**attempt))
            self.connection = self.open()
            for frame in self.frames:
                self.write(encode(frame))
        raise SystemExit("The run could not be sent")

    def is_stored(self) -> bool:
        if self.connection is None:
            raise ConnectionError("The connection was lost")
        self.connection.send(b"0\r\n\r\n")
        status, body = read_json(self.connection)
        code = body.get("code")
        if status == 201:
            return True
        if code == "run_exists":
            connection = self.connect()
            connection.request("GET", f"{self.path}/runs/{quote(self.run_id, safe='')}", headers=self.authorization)
            _, run = read_json(connection)
            if run.get("code") not in ("stream_cut", "interrupted"):
                return run["status"] != "live"
            self.rename(f"{self.run_id}-again")
        elif code != "run_live" and status not in (408, 429, 500, 502, 503, 504):
            raise SystemExit(f"HTTP {status}: {body}")
        return False

    def rename(self, run_id: str) -> None:
        """A run that was cut cannot be continued; it is sent again with another ID."""
        for frame in self.frames:
            for part in (frame, frame.get("metadata", {}), frame.get("data", {})):
                part.update({name: run_id for name in ("run_id", "request_id") if part.get(name) == self.run_id})
        self.run_id = run_id


def read_json(connection: http.client.HTTPConnection) -> tuple[int, Json]:
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def encode(frame: Json) -> bytes:
    return json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"
