/** Shared helpers of the graph tests: run a graph in a session, and check its records. */
import { expect } from "vitest";
import { openSession } from "../../src/engine/index.ts";
import { createLog, expectValid, SESSION } from "./sender.ts";
import type { Log } from "../../src/log/log.ts";
import { type AnyEvent, isLoomError, StateFold, type StampedRecord } from "../../src/protocol/index.ts";
import { append, type Channels, type Graph, type WritesOf } from "../../src/graph/graph.ts";
import { runGraph } from "../../src/graph/run-graph.ts";

export const trail = { trail: append<string>() };

export const ignore = (): void => undefined;
export const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Runs a graph in a new session, and returns its result and the session's records. */
export async function perform<C extends Channels>(graph: Graph<C>, input?: WritesOf<C>, log?: Log) {
  const store = log ?? (await createLog());
  await using session = await openSession(store, SESSION, { onError: ignore });
  const run = await session.startRun({ runId: "r" });
  let state: unknown;
  let error: unknown;
  try {
    state = await runGraph(graph, { run, ...(input === undefined ? {} : { input }) });
    await run.finish({ reply: "" });
  } catch (thrown) {
    error = thrown;
    await run.fail(isLoomError(thrown) ? thrown : { message: String(thrown), code: "node_failed" }).catch(ignore);
  }
  const records = await expectValid(store);
  const fold = new StateFold();
  for (const { event } of records) fold.add(event);
  if (error === undefined) expect(fold.find()?.state).toEqual(state);
  return { state, error, records, events: records.map(({ event }) => event) };
}

export function ofType(records: readonly StampedRecord[], type: string): readonly AnyEvent[] {
  return records.flatMap(({ event }) => (event.type === type ? [event] : []));
}
