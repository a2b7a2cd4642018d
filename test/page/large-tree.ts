/** A stored run with a tree of 275 thoughts, of which some are pruned and one is chosen. */
import type { Log } from "../../src/log/index.ts";
import { LogWriter } from "./log-writer.ts";

const CHILDREN = [5, 6, 8];

/** Each thought names its position, such as "Idea 2.4.1". */
export async function writeLargeTree(log: Log, session: string): Promise<void> {
  const writer = await new LogWriter(log, session).open();
  writer.begin("run-1", { agent: "tot", message: "Plan a city of bridges" });
  writer.put({ type: "node_enter", id: "think_expand" });
  const grow = (parent: string | undefined, depth: number): void => {
    const count = CHILDREN[depth - 1] ?? 0;
    if (count === 0) return;
    const ids = Array.from({ length: count }, (_, at) => (parent === undefined ? `${at + 1}` : `${parent}.${at + 1}`));
    const candidates = ids.map((id) => `Idea ${id}: a bridge over the river, wide enough for trams and trees`);
    const scores = ids.map((_, at) => Math.round((0.9 - at * 0.1) * 100) / 100);
    const kept = depth === CHILDREN.length ? ids.slice(0, 3) : ids;
    writer.put({ type: "tot_expand", candidates, ids, depth, ...(parent === undefined ? {} : { parent }) });
    writer.put({ type: "tot_evaluate", chosen: 0, scores, ids, kept, depth });
    for (const id of kept) grow(id, depth + 1);
  };
  grow(undefined, 1);
  writer.put({ type: "message_chunk", id: "think_expand", content: "Trams and trees on every bridge." });
  writer.end({}, "Trams and trees on every bridge.");
  await writer.flush();
}
