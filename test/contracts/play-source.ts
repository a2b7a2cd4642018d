/** Records a source in a new log, for tests of adapters. */
import { setTimeout } from "node:timers/promises";
import { expect } from "vitest";
import { sendCommand } from "../../src/engine/send-command.ts";
import { MemoryLog } from "../../src/log/index.ts";
import type { AnyEvent, EventRecord, JsonObject } from "../../src/protocol/index.ts";
import { StateFold } from "../../src/protocol/state-fold.ts";
import { Verifier } from "../../src/protocol/verify/verifier.ts";
import { record } from "../../src/adapters/record.ts";
import type { ForeignSource } from "../../src/adapters/source.ts";

/** An event, its fields unchecked. */
export type EventFields = AnyEvent & { readonly [name: string]: unknown };
/** Answers an approval. */
export type AnswerApproval = (approval: EventFields) => JsonObject;

/** Records a source, answers its approvals, checks the records and returns them. */
export async function playSource(source: ForeignSource, answer?: AnswerApproval) {
  const log = new MemoryLog();
  const run = await record(log, { sessionId: "s", message: "Hi" }, source);
  const answered = new Set<unknown>();
  const read = async (): Promise<readonly EventRecord[]> => {
    const all: EventRecord[] = [];
    for (let after = 0; ;) {
      const page = await log.read("s", { after });
      if (page.isEmpty) return all;
      all.push(...page.records);
      after = page.lastId;
    }
  };
  const state = { isOver: false };
  void run.ended.finally(() => (state.isOver = true));
  while (!state.isOver) {
    for (const { event } of await read()) {
      const { call_id } = event as EventFields;
      if (event.type !== "tool_approval" || answered.has(call_id) || answer === undefined) continue;
      answered.add(call_id);
      const body = { run_id: run.runId, call_id: String(call_id), ...answer(event as EventFields) };
      await sendCommand(log, { commandId: `answer-${answered.size}`, sessionId: "s", kind: "approve", body });
    }
    await setTimeout(2);
  }
  const records = await read();
  const verifier = new Verifier();
  for (const one of records) expect(verifier.check(one).filter(({ level }) => level === "error")).toEqual([]);
  const events = records.map(({ event }) => event as EventFields);
  const find = (type: string): readonly EventFields[] => events.filter((event) => event.type === type);
  return { end: await run.ended, records, events, find };
}

/** Node runs as `name` or `parent/name`, in the order they began. */
export function listNodes(records: readonly EventRecord[]): readonly string[] {
  const names = new Map<unknown, string>();
  for (const { envelope, event } of records) {
    if (event.type !== "node_enter") continue;
    const { id, parent } = event as EventFields;
    names.set(envelope.node_id, [...(parent === undefined ? [] : [names.get(parent)]), id].join("/"));
  }
  return [...names.values()];
}

/** The last state of the graph, folded from the events. */
export function readState(records: readonly EventRecord[]): unknown {
  const fold = new StateFold();
  for (const { event } of records) fold.add(event);
  return fold.find()?.state;
}
