/**
 * Adds a node run to runs of dialects that have none, for dialects that have them: the records of a run name the node
 * `agent`, so it is entered before the first of them and exited before the end of the run.
 */
import { type EventOf, type EventRecord, isKnownEvent } from "../protocol/index.ts";
import { BoundedMap } from "../protocol/bounded-map.ts";
import { runKey } from "../protocol/match-run.ts";
import { isTerminal, mayLackRun, isAnswerChannel } from "../protocol/record.ts";
import { DEFAULT_NODE_NAME } from "./tool-values.ts";

const MAX_RUNS = 1000;
const NODE_ID = `run-${DEFAULT_NODE_NAME}-1`;

interface EnteredRun {
  isOpen: boolean;
  /** Characters of the answer so far. */
  length: number;
}

/** Creates a function that returns the record with its node run, and around it the start and end of the node run. */
export function createNodeEntry(): (record: EventRecord) => readonly EventRecord[] {
  const runs = new BoundedMap<EnteredRun>(MAX_RUNS);
  return (record) => {
    const { envelope, event } = record;
    // Such a record may belong to the session.
    if (mayLackRun(event) || !isKnownEvent(event)) return [record];
    const key = runKey(envelope.session_id, envelope.run_id);
    if (event.type === "run_start") {
      runs.delete(key);
      return [record];
    }
    const inside = { ...envelope, node_id: NODE_ID };
    const added: EventRecord[] = [];
    let run = runs.get(key);
    if (event.type !== "run_end" && event.type !== "reply") {
      if (run === undefined) {
        runs.set(key, (run = { isOpen: true, length: 0 }));
        added.push({ envelope: inside, event: { type: "node_enter", id: DEFAULT_NODE_NAME } });
      }
      if (event.type === "message_chunk" && isAnswerChannel(event.channel)) run.length += event.content.length;
      return [...added, { envelope: inside, event }];
    }
    if (isTerminal(event)) runs.delete(key);
    if (run?.isOpen === true) added.push({ envelope: inside, event: createExit(event) });
    if (run !== undefined) run.isOpen = false;
    // A reply has the node_id of the node run whose answer it repeats. 002 repeats only the last part.
    const isWhole = event.type === "reply" && run?.length === event.reply.length;
    return [...added, isWhole ? { envelope: inside, event } : record];
  };
}

function createExit(end: EventOf<"run_end" | "reply">): EventOf<"node_exit"> {
  const isOk = end.type === "reply" || end.status === "completed";
  const result = isOk ? "Ok" : { Err: end.reason ?? end.status };
  return { type: "node_exit", id: DEFAULT_NODE_NAME, result };
}
