import { expect, test, vi } from "vitest";
import { formatCursor } from "../../../log/cursor.ts";
import { FrameBatch } from "../../streams/frame-batch.ts";
import type { ReaderEnd, Sink, StreamReader } from "../../streams/stream-reader.ts";
import { type AgUiReaderOptions, createAgUiReader } from "./ag-ui-reader.ts";

const ORIGIN = { session: "s", dialect: "ag-ui" } as const;
const END: ReaderEnd = { reason: "end", cursor: "" };
const SUPERSEDED = { type: "CUSTOM", name: "loom.superseded", value: { node_id: "n", messageIds: ["message-2"] } };
const PAUSE = { type: "RUN_FINISHED", outcome: { type: "interrupt", interrupts: [{ id: "c" }] } };
let eventId = 0;

const batch = (...frames: readonly object[]): FrameBatch =>
  new FrameBatch(
    ORIGIN,
    frames.map((frame) => ({ text: JSON.stringify(frame), cursor: formatCursor("i", ++eventId) })),
    false,
  );

/** A reader between a source and a target that count what they receive. */
function connect(
  replaceMessages: () => Promise<readonly string[]>,
  settling: Pick<AgUiReaderOptions, "findLastId" | "settleMs"> = {
    findLastId: () => Promise.resolve(0),
    settleMs: 600_000,
  },
) {
  let sink: Sink | undefined;
  const source = { resume: vi.fn<() => void>(), close: vi.fn<() => void>() };
  const inner = { ...source, session: {}, cursor: "", start: (given: Sink) => void (sink = given) };
  const options = {
    threadId: "t",
    runId: "r",
    answered: [],
    isTanStack: false,
    snapshots: [],
    isEnveloped: false,
    ownResults: new Map<string, string>(),
  };
  const reader = createAgUiReader(inner as unknown as StreamReader, {
    ...options,
    replaceMessages,
    ...settling,
  });
  const sent: unknown[] = [];
  const target = {
    hasRoom: true,
    write(given: FrameBatch) {
      sent.push(...given.frames.map(({ text }) => (JSON.parse(text) as { type: unknown }).type));
      return target.hasRoom;
    },
    end: ({ reason }: ReaderEnd) => void sent.push(reason),
  };
  reader.start(target);
  if (sink === undefined) throw new Error("The reader was not started");
  return { reader, source, target, sent, sink };
}

test("takes nothing while a snapshot is read, then sends it in order, and ends", async () => {
  const read = Promise.withResolvers<readonly string[]>();
  const { reader, source, sent, sink } = connect(() => read.promise);
  expect(sink.write(batch({ type: "RUN_STARTED" }))).toBe(true);
  expect(sink.write(batch({ type: "STEP_FINISHED" }, SUPERSEDED, { type: "STEP_STARTED" }))).toBe(false);
  reader.resume();
  sink.end(END);
  expect([sent, source.resume.mock.calls.length]).toEqual([["RUN_STARTED"], 0]);
  read.resolve(['{"type":"MESSAGES_SNAPSHOT"}']);
  await vi.waitFor(() => expect(sent).toContain("end"));
  expect(sent).toEqual(["RUN_STARTED", "STEP_FINISHED", "CUSTOM", "MESSAGES_SNAPSHOT", "STEP_STARTED", "end"]);
});

test("continues after a snapshot when the target has room", async () => {
  const { source, target, sent, sink } = connect(() => Promise.resolve(['{"type":"MESSAGES_SNAPSHOT"}']));
  sink.write(batch(SUPERSEDED));
  await vi.waitFor(() => expect(source.resume).toHaveBeenCalledTimes(1));
  target.hasRoom = false;
  sink.write(batch(SUPERSEDED));
  await vi.waitFor(() => expect(sent).toHaveLength(4));
  expect(source.resume).toHaveBeenCalledTimes(1);
});

test("ends with the error of a snapshot that cannot be read, without the frame that needs it", async () => {
  const { source, sent, sink } = connect(() => Promise.reject(new Error("disk")));
  sink.write(batch(SUPERSEDED));
  await vi.waitFor(() => expect(sent).toEqual(["error"]));
  expect(source.close).toHaveBeenCalledTimes(1);
});

test("ends with an error if the store cannot say whether the run waits for more", async () => {
  const findLastId = () => Promise.reject(new Error("away"));
  const { source, sent, sink } = connect(() => Promise.resolve([]), { findLastId, settleMs: 1 });
  sink.write(batch({ type: "RUN_STARTED" }, PAUSE));
  await vi.waitFor(() => expect(sent).toEqual(["RUN_STARTED", "error"]));
  expect(source.close).toHaveBeenCalledTimes(1);
});

test("takes frames that it holds back when a full target has room again", () => {
  const { reader, source, target, sink } = connect(() => Promise.resolve([]));
  target.hasRoom = false;
  expect(sink.write(batch({ type: "RUN_STARTED" }, PAUSE))).toBe(false);
  reader.resume();
  expect(source.resume).toHaveBeenCalledTimes(1);
  expect(sink.write(batch({ type: "RUN_STARTED" }, { type: "CUSTOM", name: "x" }, PAUSE))).toBe(true);
  reader.close();
  sink.end({ reason: "left", cursor: "" });
});
