/**
 * A receiver: from decoded records, or from the bytes of a response, to the state that a page shows. The peers are the
 * clients of other protocols. The limit is a plain immutable reducer, which checks and orders nothing. All make the same
 * number of states.
 */
import type { UIMessageChunk } from "ai";
import { createReceiver } from "../../src/client/index.ts";
import type { EventRecord } from "../../src/protocol/index.ts";
import type { Benchmark, Contestants, Prepare, Row } from "../benchmark.ts";
import {
  encodeFrames,
  receiveAgUi,
  receiveAssistantUi,
  type ReceiveFrames,
  receiveLoom,
  receivePlainly,
  receiveTanStack,
  receiveUseChat,
} from "../frame-clients.ts";
import {
  createConversation,
  createRecords,
  cutText,
  START,
  streamOf,
  writeFileArguments,
  writeListArguments,
} from "../records.ts";

/** A page draws about once per 16 deltas. */
const PER_VIEW = 16;

type MakeRecords = (size: number) => EventRecord[];

const receive =
  (make: MakeRecords, perView: number): Prepare =>
  (size) => {
    const records = make(size);
    return () => {
      const receiver = createReceiver();
      const source = receiver.open({ dialect: "loom" });
      for (const [index, record] of records.entries()) {
        source.pushRecord(record);
        if ((index + 1) % perView === 0) receiver.getSnapshot();
      }
      return receiver.getSnapshot();
    };
  };

/** The same from a stream, as the peers of these rows read it. */
const receiveStream =
  (make: MakeRecords): Prepare =>
  (size) => {
    const records = make(size);
    return async () => {
      const receiver = createReceiver();
      const source = receiver.open({ dialect: "loom" });
      for await (const record of streamOf(records)) {
        source.pushRecord(record);
        receiver.getSnapshot();
      }
      return receiver.getSnapshot();
    };
  };

const reduce =
  (make: MakeRecords, parses = false): Prepare =>
  async (size) => {
    const records = make(size);
    const { runPlainly } = await import("../receiver-peers.ts");
    const { PartialJson } = await import("../../src/protocol/partial-json.ts");
    return () => runPlainly(records, parses ? new PartialJson() : undefined);
  };

const useChat =
  (make: (size: number) => UIMessageChunk[]): Prepare =>
  async (size) => {
    const chunks = make(size);
    const { runUseChat } = await import("../receiver-peers.ts");
    return () => runUseChat(chunks);
  };

const texts = (size: number): string[] => Array.from({ length: size }, (_, index) => `word${index % 100} `);
const textRecords: MakeRecords = (size) =>
  createRecords([
    ...START,
    ...texts(size).map((content) => ({ type: "message_chunk", content, id: "think" }) as const),
  ]);
const textChunks = (size: number): UIMessageChunk[] => [
  { type: "start" },
  { type: "text-start", id: "t" },
  ...texts(size).map((delta): UIMessageChunk => ({ type: "text-delta", id: "t", delta })),
  { type: "text-end", id: "t" },
  { type: "finish" },
];

/** Deltas of four characters. */
const list = (size: number): string[] => cutText(writeListArguments(size * 4), 4).slice(0, size);
const file = (size: number): string[] => cutText(writeFileArguments(size * 4), 4).slice(0, size);
const argumentRecords =
  (deltas: (size: number) => string[]): MakeRecords =>
  (size) =>
    createRecords([
      ...START,
      ...deltas(size).map(
        (arguments_delta) => ({ type: "tool_call_chunk", call_id: "c1", name: "write", arguments_delta }) as const,
      ),
    ]);
const argumentChunks = (size: number): UIMessageChunk[] => [
  { type: "start" },
  { type: "tool-input-start", toolCallId: "c1", toolName: "write", dynamic: true },
  ...list(size).map((inputTextDelta): UIMessageChunk => ({
    type: "tool-input-delta",
    toolCallId: "c1",
    inputTextDelta,
  })),
  { type: "finish" },
];

/** A whole run, as clients of other protocols need it. */
const wholeRun: MakeRecords = (size) =>
  createRecords([
    ...START,
    ...texts(size).map((content) => ({ type: "message_chunk", content, id: "think" }) as const),
    { type: "node_exit", id: "think", result: "Ok" },
    { type: "run_end", status: "completed", first_event_id: 1, last_event_id: size + 4, frame_count: size + 4 },
    { type: "reply", reply: texts(size).join("") },
  ]);

/** From the bytes of a response, one frame per chunk, with a state per delta. */
const receiveBytes =
  (dialect: "ag-ui" | "ai-sdk", receiveFrames: ReceiveFrames): Prepare =>
  async (size) => {
    const chunks = await encodeFrames(dialect, wholeRun(size));
    const end = texts(size).slice(-10).join("");
    return async () => {
      const { states, text } = await receiveFrames(chunks);
      if (states < size) throw new Error(`${states} states for ${size} deltas`);
      if (!text.includes(end)) throw new Error("The end of the text is missing.");
    };
  };

function bytesRow(dialect: "ag-ui" | "ai-sdk", peers: { readonly [name: string]: ReceiveFrames }): Row {
  const entries = Object.entries(peers).map(([name, client]) => [name, receiveBytes(dialect, client)] as const);
  return {
    what: `bytes of ${dialect}, a state per delta of text`,
    unit: "delta",
    sizes: [1000, 2000, 4000],
    ours: receiveBytes(dialect, receiveLoom(dialect)),
    peers: Object.fromEntries(entries),
    limits: { "JSON.parse and one text": receiveBytes(dialect, receivePlainly) },
  };
}

/** Each step is a node run with a short text. */
const stepRecords: MakeRecords = (size) =>
  createRecords([
    ...START.slice(0, 1),
    ...Array.from({ length: size }, (_, step) => [
      { type: "node_enter", id: `step-${step}` } as const,
      { type: "message_chunk", content: `word${step} `, id: `step-${step}` } as const,
      { type: "node_exit", id: `step-${step}`, result: "Ok" } as const,
    ]).flat(),
  ]);

const SESSION_COUNT = 100;

/** Each session has one run. Their deltas alternate. */
const sessionRecords: MakeRecords = (size) => {
  const runs = Array.from({ length: SESSION_COUNT }, (_, index) => {
    const session = `s${index}`;
    const run = `run-${index}`;
    const [start, enter] = START;
    if (start === undefined || enter === undefined) throw new Error("A run has a start.");
    return createRecords(
      [
        { ...start, run_id: run },
        enter,
        ...textRecords(size / SESSION_COUNT)
          .slice(2)
          .map(({ event }) => event),
      ],
      { session, run },
    );
  });
  return Array.from({ length: Math.max(...runs.map((records) => records.length)) }, (_, index) =>
    runs.flatMap((records) => records.slice(index, index + 1)),
  ).flat();
};

/** `useChat` reads a stream and makes a state per delta, so ours has a row in which it does the same. */
function rowsOf(
  what: string,
  unit: string,
  sizes: readonly number[],
  make: MakeRecords,
  peers: Contestants,
  limits: Contestants,
): Row[] {
  // The reducers make a state per record, which is more work than fewer views.
  const reducers = Object.entries(limits).map(([name, prepare]) => [`${name}, a state per ${unit}`, prepare] as const);
  const fewer = { ours: receive(make, PER_VIEW), limits: Object.fromEntries(reducers) };
  return [
    { what: `${what}, a view per ${unit}`, unit, sizes, ours: receiveStream(make), peers, limits },
    { what: `${what}, a view per ${PER_VIEW} ${unit}s`, unit, sizes, ...fewer },
  ];
}

export const benchmark: Benchmark = {
  about: "CPU time of a receiver, from decoded records or bytes to the state that a page shows",
  rows: [
    ...rowsOf(
      "text",
      "delta",
      [10_000, 20_000, 40_000],
      textRecords,
      { "AI SDK 7 useChat": useChat(textChunks) },
      { "plain reducer": reduce(textRecords) },
    ),
    ...rowsOf(
      "tool arguments, a list",
      "delta",
      [1000, 2000, 4000],
      argumentRecords(list),
      { "AI SDK 7 useChat": useChat(argumentChunks) },
      { "plain reducer that parses": reduce(argumentRecords(list), true) },
    ),
    {
      what: "tool arguments, a long string, a view per delta",
      unit: "delta",
      sizes: [2000, 4000, 8000],
      ours: receive(argumentRecords(file), 1),
      limits: { "plain reducer that parses": reduce(argumentRecords(file), true) },
    },
    bytesRow("ag-ui", { "@ag-ui/client 1.0": receiveAgUi, "@tanstack/ai-client 0.33": receiveTanStack }),
    bytesRow("ai-sdk", { "AI SDK 7 useChat": receiveUseChat, "assistant-stream 0.3": receiveAssistantUi }),
    {
      what: "many steps, a view per record",
      unit: "step",
      sizes: [500, 1000, 2000],
      ours: receive(stepRecords, 1),
      limits: { "plain reducer": reduce(stepRecords) },
    },
    {
      what: `${SESSION_COUNT} sessions at once, a view per delta`,
      unit: "delta",
      sizes: [5000, 10_000, 20_000],
      ours: receive(sessionRecords, 1),
      limits: { "plain reducer": reduce(sessionRecords) },
    },
    {
      what: "a long history, a view per record",
      unit: "turn",
      sizes: [500, 1000, 2000],
      ours: receive(createConversation, 1),
      limits: { "plain reducer": reduce(createConversation) },
    },
  ],
};
