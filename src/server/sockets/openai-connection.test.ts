// What a client of the Responses API on a WebSocket receives while it reads slowly.
import { describe, expect, it } from "vitest";
import { type JsonObject, LoomError } from "../../protocol/index.ts";
import { FrameBatch } from "../streams/frame-batch.ts";
import type { Sink, StreamReader } from "../streams/stream-reader.ts";
import { OpenaiConnection } from "./openai-connection.ts";

const ORIGIN = { session: "s", dialect: "openai-responses" } as const;
const CREATE = JSON.stringify({ type: "response.create", model: "main", input: "Hi", stream_id: "a" });

const CONNECTION = {
  describe: () => ({ status: 400, error: {} }),
  send: () => undefined,
  sendBytes: () => undefined,
  hasRoom: () => true,
  whenRoom: () => undefined,
  onClose: () => undefined,
  maxMessageBytes: 1000,
  maxLanes: 10,
};

/** A connection with one reader, and a socket that has room when the test says so. */
async function createConnection(hasRoomAtStart = true) {
  let hasRoom = hasRoomAtStart;
  let sink: Sink | undefined;
  const waiting: (() => void)[] = [];
  const sent: JsonObject[] = [];
  const closed: unknown[] = [];
  let resumed = 0;
  const reader = {
    start: (given: Sink) => (sink = given),
    resume: () => resumed++,
    close: () => undefined,
  } as unknown as StreamReader;
  const connection = new OpenaiConnection({
    ...CONNECTION,
    open: async () => reader,
    send: (text) => void sent.push(JSON.parse(text) as JsonObject),
    hasRoom: () => hasRoom,
    whenRoom: (act) => void waiting.push(act),
    onClose: (why) => void closed.push(why),
  });
  connection.receive(CREATE);
  await expect.poll(() => sink).toBeDefined();
  const setRoom = (value: boolean): void => {
    hasRoom = value;
    if (value) for (const act of waiting.splice(0)) act();
  };
  const batch = (text: string): FrameBatch => new FrameBatch(ORIGIN, [{ text, cursor: "c" }], false);
  return { connection, sink: sink as unknown as Sink, sent, closed, setRoom, batch, resumed: () => resumed };
}

describe("a client that reads slowly", () => {
  it("receives nothing until there is room", async () => {
    const { sink, sent, setRoom, batch, resumed } = await createConnection();
    expect(sink.mayWrite?.()).toBe(true);
    setRoom(false);
    expect(sink.write(batch('{"type":"response.created","response":{}}'))).toBe(false);
    expect(sent).toEqual([{ type: "response.created", response: {}, stream_id: "a" }]);
    expect(sink.mayWrite?.()).toBe(false);
    setRoom(true);
    expect(resumed()).toBeGreaterThan(0);
    expect(sink.mayWrite?.()).toBe(true);
  });

  it("is disconnected if it had no room from the start", async () => {
    const { sink, closed } = await createConnection(false);
    expect(sink.mayWrite?.()).toBe(false);
    sink.end({ reason: "slow", cursor: "c" });
    await expect.poll(() => closed).toMatchObject([{ code: "backlog_full" }]);
  });

  it("is disconnected if it is too slow, also if it only sends", async () => {
    const slow = await createConnection();
    slow.sink.end({ reason: "slow", cursor: "c" });
    await expect.poll(() => slow.closed).toMatchObject([{ code: "backlog_full" }]);
    const { connection, sent, closed, setRoom } = await createConnection();
    setRoom(false);
    for (let count = 0; count < 2000; count++) connection.receive("{}");
    expect(closed).toMatchObject([{ code: "backlog_full" }]);
    expect(sent).toHaveLength(1000);
  });

  it("receives an error if its run ends without the last event", async () => {
    const { sink, sent } = await createConnection();
    sink.end({ reason: "end", cursor: "c" });
    await expect.poll(() => sent).toMatchObject([{ type: "error", stream_id: "a" }]);
  });

  it("cannot let any number of messages wait", async () => {
    const { connection, sent } = await createConnection();
    for (let count = 0; count < 101; count++) connection.receive(CREATE);
    expect(sent).toMatchObject([{ type: "error", stream_id: "a" }]);
  });
});

it("does not report that a client left while its message waited, but reports what failed meanwhile", async () => {
  const away = new LoomError("store_unavailable", "The database is away");
  for (const [failure, reports] of [
    [undefined, []],
    [away, [away]],
  ] as const) {
    const described: unknown[] = [];
    const ended = Promise.withResolvers<void>();
    const connection = new OpenaiConnection({
      ...CONNECTION,
      async open(_message, signal) {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        setImmediate(ended.resolve);
        throw failure ?? signal.reason;
      },
      describe: (error) => ({ count: described.push(error) }),
    });
    connection.receive(CREATE);
    await Promise.resolve();
    connection.close();
    await ended.promise;
    expect(described).toEqual(reports);
  }
});
