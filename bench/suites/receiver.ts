/**
 * A receiver: from decoded records to the state that a page shows. The peers are the state behind `useChat` of the AI SDK
 * and the AG-UI client; the limit is a plain immutable reducer, which checks and orders nothing. All make the same number
 * of states.
 */
import type { UIMessageChunk } from "ai";
import { createReceiver } from "../../src/client/index.ts";
import type { EventRecord } from "../../src/protocol/index.ts";
import type { Benchmark, Contestants, Prepare, Row } from "../benchmark.ts";
import {
  createConversation,
  createRecords,
  cutText,
  START,
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

/** `useChat` makes a state per delta, so ours has a row with as many. */
function rowsOf(
  what: string,
  unit: string,
  sizes: readonly number[],
  make: MakeRecords,
  peers: Contestants,
  limits: Contestants,
): Row[] {
  return [
    { what: `${what}, a view per ${unit}`, unit, sizes, ours: receive(make, 1), peers, limits },
    { what: `${what}, a view per ${PER_VIEW} ${unit}s`, unit, sizes, ours: receive(make, PER_VIEW), limits },
  ];
}

export const benchmark: Benchmark = {
  about: "CPU time of a receiver, from decoded records to the state that a page shows",
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
    {
      what: "a long history, a view per record",
      unit: "turn",
      sizes: [500, 1000, 2000],
      ours: receive(createConversation, 1),
      limits: { "plain reducer": reduce(createConversation) },
    },
  ],
};
