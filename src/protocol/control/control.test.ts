import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeDown,
  decodeUp,
  DOWN_FRAMES,
  type DownFrame,
  encodeControl,
  isCommand,
  UP_FRAMES,
  type UpFrame,
} from "./index.ts";

const UP: { readonly [T in UpFrame["type"]]: Extract<UpFrame, { type: T }> } = {
  subscribe: { type: "subscribe", id: "1", session: "s", dialect: "loom", after: "7", skip: 2, follow: true, limit: 9 },
  unsubscribe: { type: "unsubscribe", id: "1", session: "s" },
  run: { type: "run", id: "1", session: "s", message: "Hello", when_busy: "reject" },
  cancel: { type: "cancel", id: "1", session: "s", run_id: "r" },
  approve: { type: "approve", id: "1", session: "s", call_id: "c", decision: "approved", arguments: { a: 1 } },
  tool_result: { type: "tool_result", id: "1", session: "s", call_id: "c", output: [1, { a: "b" }], is_error: true },
  permission: { type: "permission", id: "1", session: "s", name: "rm", rule: "allow" },
  feedback: { type: "feedback", id: "1", session: "s", run_id: "r", rating: "bad", comment: "Wrong" },
  todo: { type: "todo", id: "1", session: "s", list_id: "l", item_id: "i", completed: true },
  ping: { type: "ping" },
};

const DOWN: { readonly [T in DownFrame["type"]]: Extract<DownFrame, { type: T }> } = {
  hello: { type: "hello", version: 1, heartbeat_ms: 15_000 },
  subscribed: { type: "subscribed", id: "1", session: "s", dialect: "loom", first_id: 1, last_id: 8 },
  caught_up: { type: "caught_up", session: "s", dialect: "loom" },
  frames: { type: "frames", session: "s", dialect: "loom", frames: ["{}", "[DONE]"], cursor: "1.abcdefgh.8" },
  end: { type: "end", session: "s", dialect: "loom" },
  ack: { type: "ack", id: "1", result: { event_id: 9 } },
  refusal: { type: "refusal", id: "1", code: "evicted", message: "gone" },
  heartbeat: { type: "heartbeat", ts: 1 },
  pong: { type: "pong", id: "1" },
};

describe("control frames", () => {
  it.each(Object.values(UP))("round-trips $type from the client", (frame) => {
    expect(decodeUp(encodeControl(frame))).toEqual({ ok: true, frame });
    expect(decodeDown(encodeControl(frame))).toMatchObject({ ok: false, code: "invalid_control" });
  });

  it.each(Object.values(DOWN))("round-trips $type from the server", (frame) => {
    expect(decodeDown(encodeControl(frame))).toEqual({ ok: true, frame });
    expect(decodeUp(encodeControl(frame))).toMatchObject({ ok: false, code: "invalid_control" });
  });

  it.each([
    ["up", UP_FRAMES, UP, decodeUp],
    ["down", DOWN_FRAMES, DOWN, decodeDown],
  ] as const)("rejects %s frames without a required field", (_way, shapes, samples, decode) => {
    for (const [type, { fields }] of Object.entries(shapes)) {
      const sample: object = samples[type as keyof typeof samples];
      for (const [name, { required }] of Object.entries(fields)) {
        const text = JSON.stringify({ ...sample, [name]: undefined });
        expect([type, name, decode(text).ok]).toEqual([type, name, !required]);
      }
    }
  });

  it("treats null as absent and keeps unknown fields", () => {
    const text = '{"type":"ping","id":null,"later":1}';
    expect(decodeUp(text)).toEqual({ ok: true, frame: { type: "ping", later: 1 } });
  });

  it("reports the fault with the ID and session of the frame", () => {
    expect(decodeUp('{"type":"dance","id":"7","session":"s"}')).toMatchObject({ id: "7", session: "s" });
    expect(decodeUp('{"type":"constructor"}')).toMatchObject({ ok: false });
    expect(decodeUp('{"type":"subscribe","id":"7","session":"s","skip":-1}')).toMatchObject({
      message: expect.stringContaining("skip") as string,
    });
  });

  it("recognizes commands", () => {
    const commands = Object.values(UP).filter((frame) => isCommand(frame));
    expect(commands.map(({ type }) => type)).toEqual([
      "run",
      "cancel",
      "approve",
      "tool_result",
      "permission",
      "feedback",
      "todo",
    ]);
  });

  it("keeps the text of frames unchanged, even if it is not JSON", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom('{"2":0,"1":1.0}', "\ud800", "a\nb", "[DONE]"),
    );
    fc.assert(
      fc.property(fc.array(text), (frames) => {
        const decoded = decodeDown(encodeControl({ ...DOWN.frames, frames }));
        expect(decoded).toMatchObject({ ok: true, frame: { frames } });
      }),
    );
  });

  it("never throws on invalid text", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect([decodeUp(text).ok, decodeDown(text).ok]).toEqual([false, false]);
      }),
    );
  });
});
