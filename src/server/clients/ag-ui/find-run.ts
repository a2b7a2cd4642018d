/**
 * Finds the run that a request of an AG-UI client stands for. The run ID of a client is the ID of a command: of the
 * message that started the run, or of the first answer that let it go on. Further answers of the request have the same
 * ID with a number.
 */
import { formatOpaqueId, parseOpaqueId } from "../../../dialects/opaque-id.ts";
import type { CommandState, Log } from "../../../log/index.ts";
import { LoomError } from "../../../protocol/index.ts";
import { findCommand } from "../../commands/execute-command.ts";
import { findRun } from "../../endpoints/find-session.ts";
import { readWaits, type WaitKind } from "../../endpoints/waiting-calls.ts";
import type { RunSlice } from "../client-protocol.ts";

/** What the client answers: an approval, or a call that it carries out. */
export interface Answered {
  readonly kind: WaitKind;
  readonly call: string;
}

/** The slice of a run that one response sends. Its key is the command of the request. */
export interface AgUiRun extends RunSlice {
  readonly key: string;
  /** What the request answered; empty if it started the run. */
  readonly answered: readonly Answered[];
}

const REFERENCE = "loom.";

/** A run ID that contains the session, for clients that request a run by its ID alone. */
export function encodeRunReference(session: string, run: string): string {
  return formatOpaqueId(REFERENCE, [session, run]);
}

/** Returns undefined for any other ID. */
export function decodeRunReference(id: string): { readonly session: string; readonly run: string } | undefined {
  const value = parseOpaqueId(REFERENCE, id);
  const [session, run] = Array.isArray(value) && value.length === 2 ? (value as readonly unknown[]) : [];
  return typeof session === "string" && typeof run === "string" ? { session, run } : undefined;
}

/** Maximum number of answers in a request. */
export const MAX_ANSWERS = 100;

export function nameAnswer(runId: string, index: number): string {
  return index === 0 ? runId : `${runId}#${index}`;
}

/**
 * Returns undefined if the session has no command of this request. Throws `command_conflict` if another kind of command
 * has the ID.
 */
export async function findAgUiRun(log: Log, session: string, runId: string): Promise<AgUiRun | undefined> {
  const command = await findCommand(log, session, runId);
  if (command === undefined) return undefined;
  const run = command.body["run_id"] as string;
  if (command.kind === "enqueue") return { session, run, key: runId, answered: [] };
  if (command.kind !== "approve" && command.kind !== "tool_result")
    throw new LoomError("command_conflict", `The ID "${runId}" was used for another command`);
  const answered: Answered[] = [];
  let answer: CommandState | undefined = command;
  while (answer !== undefined && answered.length < MAX_ANSWERS) {
    const kind = answer.kind === "approve" ? "approval" : "result";
    answered.push({ kind, call: answer.body["call_id"] as string });
    answer = await findCommand(log, session, nameAnswer(runId, answered.length));
  }
  return { session, run, key: runId, answered };
}

/**
 * Returns the record after which the answers continue the run: the last one that made it wait for one of them. Undefined
 * if it never waited for them. Throws `unknown_run`.
 */
export async function findPause(log: Log, { session, run, answered }: AgUiRun): Promise<number | undefined> {
  const { asked } = await readWaits(log, session, await findRun(log, session, run));
  const isAnswered = (kind: WaitKind, id: string): boolean =>
    answered.some((each) => each.kind === kind && each.call === id);
  return asked.findLast(({ kind, call }) => isAnswered(kind, call.call_id))?.call.event_id;
}
