"""Computes the MessageState of 003 §3.1 from the messages of one request (dialect `engine`).

The messages must arrive in the order of their sequence numbers, each once. Unknown types are ignored.
"""
from __future__ import annotations

import json
from typing import Any

Json = Any
# Events of Loom that are sent as `data` with `$loom`. All other values are data of the application.
LOOM_DATA = {"tool_approval", "tool_approval_result", "todo_list", "todo_update", "custom", "data"}
# After an interruption these only close what was open. Any other message means that the run continues.
CLOSING = {"tool_call_end", "tool_approval_result", "error", "session_end"}


class MessageBuilder:
    def __init__(self, request_id: str) -> None:
        self.answer: list[str] = []
        self.thinking: list[str] = []
        self.mark = (0, 0)  # Lengths of both lists at the last tool call.
        self.calls: dict[str, Json] = {}
        self.interruption: Json = None
        self.has_failed_tool = False
        self.is_ended = False
        self.state: dict[str, Json] = {
            "messageId": f"{request_id}:assistant",
            "role": "assistant",
            "thinkingContent": "",
            "mainContent": "",
            "toolCalls": [],
            "dataBlocks": [],
            "isStreaming": True,
            "hasError": False,
            "metadata": {"requestId": request_id, "startTime": 0},
        }

    def apply(self, frame: Json) -> None:
        kind, data = frame["type"], frame["data"]
        if kind == "data" and data["data_type"] == "custom" and data["data"].get("$loom") in LOOM_DATA:
            data = data["data"]
            kind = data["$loom"]
        if self.interruption and kind not in CLOSING:
            # Another process repeats the interrupted step, so the text since the last tool call does not count.
            self.interruption = None
            del self.answer[self.mark[0] :], self.thinking[self.mark[1] :]
        handle = getattr(self, f"on_{kind}", None)
        if handle:
            # An optional field may be null, which means that it has no value.
            handle({name: value for name, value in data.items() if value is not None}, frame["metadata"])

    def finish(self) -> dict[str, Json]:
        """Ends the stream and returns the state, also if the request has not ended."""
        texts = {"mainContent": "".join(self.answer), "thinkingContent": "".join(self.thinking)}
        self.state.update(texts, isStreaming=False)
        return self.state

    def on_session_start(self, data: Json, metadata: Json) -> None:
        self.state["metadata"]["startTime"] = metadata["timestamp"]

    def on_thinking(self, data: Json, metadata: Json) -> None:
        self.thinking.append(data["content"])

    def on_content(self, data: Json, metadata: Json) -> None:
        self.answer.append(data["content"])

    def on_data(self, data: Json, metadata: Json) -> None:
        block = {"dataType": data["data_type"], "data": data["data"]}
        self.state["dataBlocks"].append({**block, **pick(data, metadata="metadata")})

    def on_tool_call_start(self, data: Json, metadata: Json) -> None:
        call = self.find_call(data["tool_id"], data["tool_name"], is_start=True)
        call.update(pick(data, arguments="arguments", description="description"))
        if call.get("approval", {}).get("decision") in ("rejected", "expired"):
            return  # A call that was refused also has a start before its end, but it did not run.
        call.update(status="running", startedAt=metadata["timestamp"])
        decide(call, "approved")

    def on_tool_call_progress(self, data: Json, metadata: Json) -> None:
        call = self.find_call(data["tool_id"])
        call["progress"] = data["progress"]
        if data.get("message"):
            call["progressMessage"] = data["message"]

    def on_tool_call_end(self, data: Json, metadata: Json) -> None:
        call = self.find_call(data["tool_id"])
        was_waiting = call["status"] == "awaiting_approval"
        decision = "approved"
        if data["status"] == "success":
            call.update(status="success", result=split_result(data.get("result")))
        else:
            self.has_failed_tool = True
            # `detail` is the original of a message that was translated for the user.
            error = {"message": "failed", **pick(data.get("error", {}), message="message", code="code")}
            error.update(pick(data.get("error", {}), detail="message"))
            refusal = {"approval_expired": "expired", "tool_rejected": "rejected"}.get(error.get("code", ""))
            call["status"] = "rejected" if was_waiting or call["status"] == "rejected" or refusal else "failed"
            call.update(error=error, result={"text": error["message"]})
            if "result" in data:
                call["result"]["data"] = unwrap_value(data["result"])
            if was_waiting:
                decision = refusal or "rejected"
        decide(call, decision)
        if "duration_ms" in metadata:
            call["durationMs"] = metadata["duration_ms"]
        elif "startedAt" in call:
            call["durationMs"] = max(0, metadata["timestamp"] - call["startedAt"])

    def on_tool_approval(self, data: Json, metadata: Json) -> None:
        call = self.find_call(data["call_id"], data["name"])
        details = pick(data, arguments="arguments", expires_at="expiresAt", digest="digest")
        call["approval"] = {"decision": "pending", **details}
        if call["status"] == "ready":
            call.update(status="awaiting_approval", arguments=data["arguments"])

    def on_tool_approval_result(self, data: Json, metadata: Json) -> None:
        call = self.find_call(data["call_id"], data.get("name", ""))
        call.update(pick(data, arguments="arguments"))
        result = pick(data, decision="decision", arguments="arguments", reason="reason", actor="actor")
        call["approval"] = {"arguments": call["arguments"], **call.get("approval", {}), **result}
        if call["status"] in ("ready", "awaiting_approval"):
            call["status"] = "ready" if data["decision"] == "approved" else "rejected"

    def on_error(self, data: Json, metadata: Json) -> None:
        code, stage, is_recoverable = data.get("code"), data.get("stage"), data.get("recoverable")
        is_interruption = (code or stage) == "interrupted" and is_recoverable is not False
        self.interruption = {**data, **metadata} if is_interruption else None
        # A tool that failed while the run goes on is an error of its call, not of the message.
        is_tool_failure = stage == "tool_execute" or (self.has_failed_tool and not stage and not code)
        if not is_interruption and not (is_recoverable and is_tool_failure):
            self.state.update(hasError=True, errorMessage=data["message"])

    def on_session_end(self, data: Json, metadata: Json) -> None:
        self.is_ended = True
        self.state["metadata"]["endTime"] = metadata["timestamp"]
        if data["status"] == "error":
            self.state["hasError"] = True
            if self.interruption and "attempt" not in self.interruption:
                self.state["errorMessage"] = self.interruption["message"]
        for call in self.state["toolCalls"]:
            decide(call, "expired")
            if "result" not in call and call["status"] != "rejected":
                call["status"] = "interrupted"

    def find_call(self, tool_id: str, name: str = "unknown", is_start: bool = False) -> Json:
        """Returns the call with this ID, or a new one. An ID that starts again after its call names another call."""
        call = self.calls.get(tool_id)
        if call is None or (is_start and ("startedAt" in call or "result" in call)):
            call = {"toolId": tool_id, "toolName": name, "arguments": {}, "status": "ready"}
            self.calls[tool_id] = call
            self.state["toolCalls"].append(call)
            self.mark = (len(self.answer), len(self.thinking))
        return call


def pick(source: Json, **names: str) -> dict[str, Json]:
    """Returns the fields of `source` that have a value, under new names."""
    return {new: source[name] for name, new in names.items() if source.get(name) is not None}


def decide(call: Json, decision: str) -> None:
    """Sets the decision of an approval that was not reported."""
    if call.get("approval", {}).get("decision") == "pending":
        call["approval"]["decision"] = decision


def split_result(result: Json) -> dict[str, Json]:
    """Returns the text and the data of a result. Text is sent as `content`, data that is not an object as `value`."""
    if result is None:
        return {"text": ""}
    if list(result) == ["content"] and isinstance(result["content"], str) and result["content"]:
        return {"text": result["content"]}
    value = result if isinstance(result.get("value"), str) else unwrap_value(result)
    return {"text": json.dumps(value, ensure_ascii=False, separators=(",", ":")), "data": value}


def unwrap_value(result: Json) -> Json:
    return result["value"] if list(result) == ["value"] and not isinstance(result["value"], dict) else result
