import { describe, expect, it } from "vitest";
import { LoomError } from "../../protocol/index.ts";
import { FrameBatch } from "./frame-batch.ts";
import { holdReader } from "./wrap-reader.ts";
import type { ReaderEnd, Sink, StreamReader } from "./stream-reader.ts";

/** A reader that the test drives. */
function createReader() {
  let sink: Sink | undefined;
  const calls: string[] = [];
  const reader: StreamReader = {
    session: { sessionId: "s" } as StreamReader["session"],
    cursor: "0",
    start: (given) => void (sink = given),
    resume: () => void calls.push("resume"),
    close: (reason = "left") => void calls.push(reason),
  };
  const write = (...texts: readonly string[]): boolean | undefined =>
    sink?.write(
      new FrameBatch(
        { session: "s", dialect: "loom" },
        texts.map((text) => ({ text, cursor: text })),
        false,
      ),
    );
  const end = (given: Partial<ReaderEnd>): void => sink?.end({ reason: "end", cursor: "", ...given });
  return { reader, calls, write, end };
}

function createSink({ room = true } = {}) {
  const received: string[] = [];
  const sink: Sink = {
    write({ frames }) {
      received.push(...frames.map(({ text }) => text));
      return room;
    },
    end: ({ reason }) => void received.push(`<${reason}>`),
  };
  return { received, sink };
}

const isB = (text: string): boolean => text === "b";
const NEVER = { isDecided: isB, maxMs: 60_000 };

describe("a held reader", () => {
  it("delivers every frame once and in order, and goes on", async () => {
    const { reader, calls, write, end } = createReader();
    const held = holdReader(reader, NEVER);
    expect([write("a"), write("b", "c"), write("d")]).toEqual([true, false, true]);
    const { received, sink } = createSink();
    (await held).start(sink);
    expect(calls).toEqual(["resume"]);
    expect(write("e")).toBe(true);
    end({});
    expect(received).toEqual(["a", "b", "c", "d", "e", "<end>"]);
  });

  it("leaves it to a full sink to go on", async () => {
    const { reader, calls, write } = createReader();
    const held = holdReader(reader, NEVER);
    write("b");
    const { received, sink } = createSink({ room: false });
    (await held).start(sink);
    expect([received, calls]).toEqual([["b"], []]);
  });

  it("passes on an end that came before a decision", async () => {
    const { reader, write, end } = createReader();
    const held = holdReader(reader, NEVER);
    write("a");
    end({ reason: "left" });
    const { received, sink } = createSink();
    (await held).start(sink);
    expect(received).toEqual(["a", "<left>"]);
  });

  it("does not wait longer than its limit", async () => {
    const { reader, write } = createReader();
    const held = await holdReader(reader, { isDecided: isB, maxMs: 0 });
    const { received, sink } = createSink();
    held.start(sink);
    write("a");
    expect(received).toEqual(["a"]);
  });

  it("fails if a frame is refused, and with the error of its stream", async () => {
    const { reader, calls, write } = createReader();
    const refused = new LoomError("model_rate_limited", "Later");
    const isDecided = (): boolean => {
      throw refused;
    };
    const held = holdReader(reader, { isDecided, maxMs: 60_000 });
    expect(write("a")).toBe(false);
    await expect(held).rejects.toBe(refused);
    expect(calls).toEqual(["end"]);
    const failing = createReader();
    const failed = holdReader(failing.reader, NEVER);
    failing.end({ reason: "error", error: refused });
    await expect(failed).rejects.toBe(refused);
  });
});
