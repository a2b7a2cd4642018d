import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readLumineInput } from "./lumine-input.ts";

const read = (frame: unknown) => readLumineInput(JSON.stringify(frame), 1000);

describe("the input of a Lumine client", () => {
  it.each([
    [{ content: "Hi" }, { kind: "message", content: "Hi", capabilities: [] }],
    [
      { content: " Hi\n", session_id: "s", agent: "tot", capabilities: ["approval"], more: 1 },
      { kind: "message", content: " Hi\n", session: "s", agent: "tot", capabilities: ["approval"] },
    ],
    [
      { type: "message", content: "Hi", session_id: null, agent: "", capabilities: null },
      { kind: "message", content: "Hi", capabilities: [] },
    ],
    [
      { type: "todo_update", list_id: "l", item_id: "i", completed: true, text: null },
      { kind: "command", command: { type: "todo", list_id: "l", item_id: "i", completed: true } },
    ],
    [
      { type: "todo_update", list_id: "l", item_id: "i", completed: null, text: "", session_id: "s" },
      { kind: "command", session: "s", command: { type: "todo", list_id: "l", item_id: "i", text: "" } },
    ],
    [
      { type: "tool_approval", tool_use_id: "c", decision: "approved", args: { a: 1 }, reason: "fine" },
      {
        kind: "command",
        command: { type: "approve", call_id: "c", decision: "approved", arguments: { a: 1 }, reason: "fine" },
      },
    ],
    [
      { type: "tool_approval", tool_use_id: "c", decision: "rejected", args: null },
      { kind: "command", command: { type: "approve", call_id: "c", decision: "rejected" } },
    ],
    [{ type: "cancel" }, { kind: "cancel" }],
    [
      { type: "cancel", reason: "enough" },
      { kind: "cancel", reason: "enough" },
    ],
  ])("is parsed: %j", (frame, ask) => expect(read(frame)).toEqual(ask));

  it.each([
    [{}, true],
    [{ type: "dance" }, true],
    [{ content: "" }, true],
    [{ content: "x", session_id: 7 }, true],
    [{ content: "x".repeat(1000) }, true],
    [{ type: "todo_update", list_id: "l", completed: true }, false],
    [{ type: "todo_update", list_id: "l", item_id: "i", completed: "yes" }, false],
    [{ type: "todo_update", list_id: "l", item_id: "i", text: 1 }, false],
    [{ content: "Hi", capabilities: "approval" }, true],
    [{ content: "Hi", capabilities: [1] }, true],
    [{ type: "tool_approval", tool_use_id: "c", decision: "maybe" }, false],
    [{ type: "tool_approval", tool_use_id: "c", decision: "approved", args: [] }, false],
    [{ type: "tool_approval", decision: "approved" }, false],
  ])("is refused: %j; waits for [DONE]: %s", (frame, isRequest) =>
    expect(read(frame)).toMatchObject({ kind: "bad", isRequest }),
  );

  it("never causes an exception", () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string(), fc.constantFrom("[DONE]", "null", "{", '"x"')), (text) => {
        expect(["message", "command", "cancel", "bad"]).toContain(readLumineInput(text, 50).kind);
      }),
    );
  });
});
