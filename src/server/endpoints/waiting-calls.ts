/**
 * Tool calls about which a run asks its client: those that need approval, and those that the client carries out. They are
 * read from the records of the run.
 */
import type { Log, RunInfo } from "../../log/index.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import type { JsonObject } from "../../protocol/index.ts";
import type { Approvals } from "../api/shapes.generated.ts";
import { findLiveRun } from "../commands/execute-command.ts";
import { findSession } from "./find-session.ts";
import { readRunEvents } from "./run-records.ts";

/** What the client answers: a decision, or the result of a call that it carries out. */
export type WaitKind = "approval" | "result";

/** A record that lets a run wait for its client. */
export interface RunWait {
  readonly kind: WaitKind;
  readonly call: Approvals["approvals"][number];
}

/** What a run asked its client. Both lists are in the order of the records. */
interface RunWaits {
  readonly asked: readonly RunWait[];
  /** What the run waits for now. Empty if it is not live. */
  readonly open: readonly RunWait[];
}

const TYPES = ["tool_call", "tool_approval", "tool_approval_result", "tool_start", "tool_end"] as const;

/** Throws `unknown_session`. */
export async function readWaits(log: Log, session: string, run: RunInfo): Promise<RunWaits> {
  const asked: RunWait[] = [];
  const open = new Map<string, RunWait>();
  /** Arguments of the calls that have not ended, by call ID. */
  const inputs = new Map<string, JsonObject>();
  const ask = (wait: RunWait): void => {
    asked.push(wait);
    open.set(`${wait.kind} ${wait.call.call_id}`, wait);
  };
  for await (const { envelope, event } of readRunEvents(log, await findSession(log, session), run, TYPES)) {
    const { call_id = "" } = event;
    const about = { call_id, run_id: run.runId };
    const { event_id } = envelope;
    if (event.type === "tool_approval") {
      const { name, arguments: given, expires_at, digest, server } = event;
      const call = dropUndefined({ ...about, name, arguments: given, event_id, expires_at, digest, server });
      ask({ kind: "approval", call });
    } else if (event.type === "tool_start" && event.executor === "client") {
      const { name, expires_at } = event;
      const call = dropUndefined({ ...about, name, arguments: inputs.get(call_id) ?? {}, event_id, expires_at });
      ask({ kind: "result", call });
    }
    // Arguments that the user edited replace the others.
    if ("arguments" in event && event.arguments !== undefined) inputs.set(call_id, event.arguments);
    if (event.type === "tool_approval_result" || event.type === "tool_end") open.delete(`approval ${call_id}`);
    if (event.type !== "tool_end") continue;
    inputs.delete(call_id);
    open.delete(`result ${call_id}`);
  }
  const isOpen = ({ call }: RunWait): boolean => (call.expires_at ?? Number.POSITIVE_INFINITY) > Date.now();
  return { asked, open: run.status === "live" ? [...open.values()].filter(isOpen) : [] };
}

/** Lists what the live run of a session waits for. Throws `unknown_session`. */
export async function listWaiting(log: Log, session: string): Promise<readonly RunWait[]> {
  await findSession(log, session);
  const live = await findLiveRun(log, session);
  return live === undefined ? [] : (await readWaits(log, session, live)).open;
}

/** Lists the calls of one kind that wait. Throws `unknown_session`. */
export async function listWaitingCalls(log: Log, session: string, kind: WaitKind): Promise<readonly RunWait["call"][]> {
  return (await listWaiting(log, session)).flatMap((wait) => (wait.kind === kind ? [wait.call] : []));
}
