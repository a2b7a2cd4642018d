#!/usr/bin/env python3
"""Sends the run of a small agent as NDJSON, to standard output or to the ingest endpoint of a Loom server.

    python3 sender.py "What is 6 times 7?" | loom check --dialect engine
    python3 sender.py --dialect loom | loom check
    python3 sender.py --server http://127.0.0.1:10338 --session demo --request-id req-1

The frames are sent while the agent works. If the response of the server is lost, the sender repeats the request; the
server stores the run once. The exit code is 0 if all frames were sent, also those of a run that failed.
"""
from __future__ import annotations

import argparse
import json
import re
import threading
import time
import uuid
from typing import Callable

from output import Ingest, Json, Output


def now() -> int:
    return int(time.time() * 1000)


class EngineRun:
    """Writes a run as messages of 003, numbered from 0."""

    def __init__(self, session_id: str, request_id: str, send: Callable[[Json], None]) -> None:
        self.session_id, self.request_id, self.send = session_id, request_id, send
        self.sequence, self.started_at, self.tool_calls = 0, now(), 0

    def emit(self, kind: str, **data: Json) -> None:
        metadata = {"request_id": self.request_id, "timestamp": now(), "sequence": self.sequence}
        self.sequence += 1
        self.send({"type": kind, "data": data, "metadata": metadata})

    def start(self, message: str) -> None:
        self.emit("session_start", session_id=self.session_id, request_id=self.request_id)

    def think(self, text: str) -> None:
        self.emit("thinking", content=text, stage="reasoning")

    def start_tool(self, tool_id: str, name: str, arguments: Json) -> None:
        self.tool_calls += 1
        self.emit("tool_call_start", tool_id=tool_id, tool_name=name, arguments=arguments)

    def end_tool(self, tool_id: str, name: str, value: Json) -> None:
        # `result` is an object: a text is sent as `content`, and another value as `value`.
        self.emit("tool_call_end", tool_id=tool_id, status="success", result={"value": value})

    def fail_tool(self, tool_id: str, name: str, message: str, code: str) -> None:
        self.emit("tool_call_end", tool_id=tool_id, status="failed", error={"message": message, "code": code})

    def answer(self, text: str, is_last: bool) -> None:
        self.emit("content", content=text, format="markdown", is_complete=is_last)

    def end(self, status: str, error: str | None) -> None:
        if error:
            self.emit("error", error_type="execution", message=error, recoverable=False)
        summary = {"duration_ms": now() - self.started_at, "tool_calls": self.tool_calls}
        self.emit("session_end", status=status, summary=summary)


class LoomRun:
    """Writes a run as frames of 001, with one node run. `event_id` has no gaps, and `run_end` counts the frames."""

    def __init__(self, session_id: str, run_id: str, send: Callable[[Json], None]) -> None:
        self.envelope, self.run_id, self.send = {"session_id": session_id, "run_id": run_id}, run_id, send
        self.event_id, self.reply = 0, ""

    def emit(self, node_id: str | None = "run-agent-1", **event: Json) -> None:
        self.event_id += 1
        node = {"node_id": node_id} if node_id else {}
        self.send({**self.envelope, "event_id": self.event_id, "ts": now(), **node, **event})

    def start(self, message: str) -> None:
        self.emit(None, type="run_start", message=message, agent="python", contiguous=True, request_id=self.run_id)
        self.emit(type="node_enter", id="agent")

    def think(self, text: str) -> None:
        self.emit(type="reasoning_chunk", content=text, id="agent")

    def start_tool(self, tool_id: str, name: str, arguments: Json) -> None:
        self.emit(type="tool_call", call_id=tool_id, name=name, arguments=arguments)
        self.emit(type="tool_start", call_id=tool_id, name=name)

    def end_tool(self, tool_id: str, name: str, value: Json) -> None:
        self.emit(type="tool_end", call_id=tool_id, name=name, result=json.dumps(value), is_error=False, output=value)

    def fail_tool(self, tool_id: str, name: str, message: str, code: str) -> None:
        self.emit(type="tool_end", call_id=tool_id, name=name, result=message, is_error=True, error_code=code)

    def answer(self, text: str, is_last: bool) -> None:
        self.reply += text
        self.emit(type="message_chunk", content=text, id="agent", is_complete=is_last)

    def end(self, status: str, error: str | None) -> None:
        if error:
            self.emit(type="error", message=error, error_type="execution", recoverable=False)
        self.emit(type="node_exit", id="agent", result={"Err": error} if error else "Ok")
        # The reply follows `run_end` and is counted there. If the run did not complete, it is the answer so far.
        last = self.event_id + 2
        partial = {} if status == "completed" else {"has_reply": True}
        self.emit(None, type="run_end", status=status, first_event_id=1, last_event_id=last, frame_count=last, **partial)
        self.emit(reply=self.reply)


def run_agent(run: EngineRun | LoomRun, message: str, delay: float) -> None:
    """Multiplies the numbers of the message. Ends the run in every case, and the tool call before it."""
    call: tuple[str, str] | None = None
    status, error = "completed", None
    run.start(message)
    try:
        run.think("The numbers must be multiplied.")
        numbers = [int(digits) for digits in re.findall(r"\d+", message)]
        call = (f"call-{uuid.uuid4()}", "multiply")
        run.start_tool(*call, {"numbers": numbers})
        if not numbers:
            raise ValueError("The message has no numbers")
        product = 1
        for number in numbers:
            time.sleep(delay)
            product *= number
        run.end_tool(*call, product)
        call = None
        for word in ["The ", "product ", "is "]:
            run.answer(word, False)
            time.sleep(delay)
        run.answer(f"**{product}**.", True)
    except KeyboardInterrupt:
        status = "cancelled"
    except Exception as failure:  # A run must not stay open, whatever happens.
        status, error = "error", str(failure)
    if call:
        run.fail_tool(*call, error or status, "tool_failed" if error else "cancelled")
    run.end(status, error)


def main() -> None:
    parser = argparse.ArgumentParser(description="Send the run of a small agent.")
    parser.add_argument("message", nargs="?", default="What is 6 times 7?", help="message with numbers to multiply")
    parser.add_argument("--dialect", choices=["engine", "loom"], default="engine", help="dialect (default: engine)")
    parser.add_argument("--server", help="URL of a server (default: standard output)")
    parser.add_argument("--token-file", help="file with the token for the server")
    parser.add_argument("--session", default="python", help="ID of the session (default: python)")
    parser.add_argument("--request-id", default=f"req-{uuid.uuid4()}", help="ID of the run (default: random)")
    parser.add_argument("--attempts", type=int, default=8, help="requests to send the run (default: 8)")
    parser.add_argument("--delay", type=float, default=0.05, help="seconds between frames (default: 0.05)")
    parser.add_argument("--heartbeat", type=float, default=15, help="seconds between heartbeats (default: 15)")
    options = parser.parse_args()
    output = Ingest(options, options.request_id) if options.server else Output()
    is_done = threading.Event()

    def beat() -> None:
        while not is_done.wait(options.heartbeat):
            output.beat()

    heart = threading.Thread(target=beat, daemon=True)
    heart.start()
    run = (EngineRun if options.dialect == "engine" else LoomRun)(options.session, options.request_id, output.send)
    run_agent(run, options.message, options.delay)
    is_done.set()
    heart.join()
    output.finish()


if __name__ == "__main__":
    main()
