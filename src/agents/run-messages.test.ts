import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findRuleViolation } from "../../test/agents/find-rule-violation.ts";
import { joinUserMessages } from "../models/join-user-messages.ts";
import type { AnyEvent } from "../protocol/index.ts";
import { RunMessages } from "./run-messages.ts";

function fold(events: readonly AnyEvent[]) {
  const messages = new RunMessages();
  for (const event of events) messages.add({ envelope: {}, event });
  return messages.finish();
}

const start: AnyEvent = { type: "run_start", message: "Hello" };
const said = (content: string, more: object = {}): AnyEvent => ({
  type: "message_chunk",
  content,
  id: "think",
  ...more,
});
const called = (call_id: string, name = "t"): AnyEvent => ({ type: "tool_call", call_id, name, arguments: { a: 1 } });
const ended = (call_id: string, result = "ok", is_error = false): AnyEvent => ({
  type: "tool_end",
  call_id,
  name: "t",
  result,
  is_error,
});

const checkpoint: AnyEvent = { type: "checkpoint", checkpoint_id: "c", timestamp: "", step: 0, state: {} };

const user = { role: "user", content: [{ type: "text", text: "Hello" }] };
const text = (value: string) => ({ type: "text", text: value });
const call = (id: string) => ({ type: "tool-call", toolCallId: id, toolName: "t", input: { a: 1 } });
const result = (id: string, value = "ok", type = "text") => ({
  type: "tool-result",
  toolCallId: id,
  toolName: "t",
  output: { type, value },
});

describe("RunMessages", () => {
  it("joins the answer text and leaves out thoughts", () => {
    expect(
      fold([
        start,
        said("Hi "),
        said("no", { channel: "thought" }),
        said("there"),
        { type: "reply", reply: "Hi there" },
      ]),
    ).toEqual([user, { role: "assistant", content: [text("Hi there")] }]);
  });

  it("leaves out what an interrupted node run said and called, except calls that had started", () => {
    const messages = new RunMessages();
    const inside = (node_id: string, ...events: AnyEvent[]) => {
      for (const event of events) messages.add({ envelope: { node_id }, event });
    };
    const died: AnyEvent = { type: "node_exit", id: "think", result: { Err: "interrupted" } };
    messages.add({ envelope: {}, event: start });
    messages.add({ envelope: {}, event: checkpoint });
    inside("n1", said("Half a "), called("a"), died);
    messages.add({ envelope: {}, event: ended("a", "not executed", true) });
    inside("n2", said("Look: "), called("b"), { type: "tool_start", call_id: "b", name: "t" }, ended("b"), died);
    inside("n3", said("Do"), died);
    inside("n4", said("Done"));
    expect(messages.finish()).toEqual([
      user,
      { role: "assistant", content: [call("b")] },
      { role: "tool", content: [result("b")] },
      { role: "assistant", content: [text("Done")] },
    ]);
  });

  it("keeps what an interrupted run said if there is no other attempt", () => {
    const died: AnyEvent = { type: "node_exit", id: "think", result: { Err: "interrupted" } };
    const over: AnyEvent = { type: "run_end", status: "error", code: "interrupted" };
    const answer = (...events: readonly AnyEvent[]) => {
      const messages = new RunMessages();
      messages.add({ envelope: {}, event: start });
      for (const event of events) messages.add({ envelope: { node_id: "a" }, event });
      return messages.finish();
    };
    const half = { role: "assistant", content: [text("Half")] };
    expect(answer(said("Half"), died, over)).toEqual([user, half]);
    const again: AnyEvent = { type: "node_enter", id: "think", supersedes: "a", attempt: 2 };
    expect(answer(said("Half"), died, again, over)).toEqual([user]);
  });

  it("keeps calls of an interrupted agent of another framework, except those that wait for the user", () => {
    const messages = new RunMessages();
    const inside = (node_id: string, ...events: AnyEvent[]) => {
      for (const event of events) messages.add({ envelope: { node_id }, event });
    };
    messages.add({ envelope: {}, event: start });
    const asked: AnyEvent = { type: "tool_approval", call_id: "b", name: "t", arguments: {} };
    const died: AnyEvent = { type: "node_exit", id: "step", result: { Err: "interrupted" } };
    inside("n1", said("Half a "), called("a"), called("b"), asked, died);
    const unknown = {
      type: "tool-result",
      toolCallId: "a",
      toolName: "t",
      output: { type: "error-text", value: "This call has no result. It may have been executed." },
    };
    inside("n2", ended("b"));
    expect(messages.finish()).toEqual([
      user,
      { role: "assistant", content: [call("a"), call("b")] },
      { role: "tool", content: [unknown, result("b")] },
    ]);
  });

  it("includes attached files by reference, also without text", () => {
    const attachments = [{ blob_id: "b", media_type: "image/png", bytes: 3, name: "n" }];
    const part = { type: "attachment", blobId: "b", mediaType: "image/png", bytes: 3, name: "n" };
    expect(fold([{ ...start, attachments }])).toEqual([
      { role: "user", content: [{ type: "text", text: "Hello" }, part] },
    ]);
    expect(fold([{ type: "run_start", message: " ", attachments }])).toEqual([{ role: "user", content: [part] }]);
  });

  it("puts results of parallel calls into one message, in call order", () => {
    const events = [start, said("Look: "), called("a"), called("b"), ended("b"), ended("a"), said("Done")];
    expect(fold([...events, { type: "reply", reply: "Done" }])).toEqual([
      user,
      { role: "assistant", content: [text("Look: "), call("a"), call("b")] },
      { role: "tool", content: [result("a"), result("b")] },
      { role: "assistant", content: [text("Done")] },
    ]);
  });

  it("uses the reply if nothing was streamed after the tools", () => {
    expect(fold([start, said("Look: "), called("a"), ended("a"), { type: "reply", reply: "42" }]).at(-1)).toEqual({
      role: "assistant",
      content: [text("42")],
    });
  });

  it("does not repeat the text of a run that ends with its calls", () => {
    expect(
      fold([start, said("I will look."), called("a"), ended("a"), { type: "reply", reply: "I will look." }]),
    ).toEqual([
      user,
      { role: "assistant", content: [text("I will look."), call("a")] },
      { role: "tool", content: [result("a")] },
    ]);
  });

  it("separates the texts of node runs, also if they run in parallel", () => {
    const messages = new RunMessages();
    const say = (node_id: string, content: string) => messages.add({ envelope: { node_id }, event: said(content) });
    say("a", "Hel");
    say("b", "Good");
    say("a", "lo");
    say("b", " day");
    messages.add({ envelope: { node_id: "b" }, event: { type: "reply", reply: "Good day" } });
    expect(messages.finish()).toEqual([{ role: "assistant", content: [text("Hello\n\nGood day")] }]);
  });

  it("adds an error result to a call without a result", () => {
    expect(fold([start, called("a")])).toEqual([
      user,
      { role: "assistant", content: [call("a")] },
      { role: "tool", content: [result("a", "This call has no result. It may have been executed.", "error-text")] },
    ]);
  });

  it("ignores results without a call, and marks errors", () => {
    expect(fold([start, ended("x"), called("a"), ended("a", "no such file", true)])).toEqual([
      user,
      { role: "assistant", content: [call("a")] },
      { role: "tool", content: [result("a", "no such file", "error-text")] },
    ]);
  });

  it("places text streamed during tool calls after their results", () => {
    expect(fold([start, called("a"), said("meanwhile"), ended("a"), said(" after")])).toEqual([
      user,
      { role: "assistant", content: [call("a")] },
      { role: "tool", content: [result("a")] },
      { role: "assistant", content: [text("meanwhile after")] },
    ]);
  });

  it.each(["tot", "got"])("keeps the question and the answer of a search, not its tools: %s", (agent) => {
    const search = [{ ...start, agent }, said("perhaps", { channel: "thought" }), called("a"), called("b"), ended("a")];
    const answer = { role: "assistant", content: [text("42.")] };
    expect(fold([...search, said("42."), { type: "reply", reply: "42." }])).toEqual([user, answer]);
    expect(fold([...search, ended("b"), { type: "reply", reply: "42." }])).toEqual([user, answer]);
    expect(fold(search)).toEqual([user]);
    expect(fold([...search, start, called("c"), ended("c")])).toHaveLength(4);
  });

  it("starts from the edited messages of a fork", () => {
    const edit = (messages: readonly unknown[]): AnyEvent =>
      ({
        type: "checkpoint",
        checkpoint_id: "c",
        timestamp: "t",
        step: 1,
        state: { messages: { set: messages } },
        delta: true,
      }) as AnyEvent;
    const edited = { role: "user", content: [{ type: "text", text: "Edited" }] };
    expect(fold([start, edit([edited, 7, { role: "tool", content: [] }]), said("Yes.")])).toEqual([
      edited,
      { role: "assistant", content: [text("Yes.")] },
    ]);
    const asked = { role: "assistant", content: [call("a")] };
    expect(fold([start, edit([edited, asked]), ended("a"), said("Done.")])).toEqual([
      edited,
      asked,
      { role: "tool", content: [result("a")] },
      { role: "assistant", content: [text("Done.")] },
    ]);
  });

  it("follows the rules of providers and keeps the whole answer, for any records", () => {
    const id = fc.constantFrom("a", "b", "c");
    const event = fc.oneof(
      fc.oneof(fc.constantFrom(" ", "\n"), fc.string({ maxLength: 3 })).map((content) => said(content)),
      id.map((callId) => called(callId)),
      id.map((callId) => ended(callId)),
      fc.constant<AnyEvent>({ type: "node_enter", id: "think" }),
      fc.constant(start),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 30 }), (events) => {
        const messages = fold(events);
        const broken = findRuleViolation(joinUserMessages(messages))?.replace(
          /message \d+ \(assistant\) calls . a second time/,
          "",
        );
        // An ID that is used again after its result is another call; only foreign runs do that.
        expect(broken ?? "").toBe("");
        const spoken = messages.flatMap((message) =>
          message.role === "assistant"
            ? message.content.flatMap((part) => (part.type === "text" ? [part.text] : []))
            : [],
        );
        const written = events.flatMap((item) =>
          item.type === "message_chunk" ? [(item as { content: string }).content] : [],
        );
        // A message that is only whitespace does not count.
        const squeeze = (texts: readonly string[]): string => texts.join("").replaceAll(/\s/g, "");
        expect(squeeze(spoken)).toBe(squeeze(written));
      }),
    );
  });
});
