/** What a run waits for, as the `RUN_FINISHED` of a run that waits says it: approvals, and calls of the client. */
import type { Json, JsonObject } from "../../../protocol/index.ts";
import { isJsonObject } from "../../../protocol/json.ts";
import type { Answered } from "./find-run.ts";

export interface ThreadWaits {
  /** Interrupts of AG-UI. */
  readonly approvals: readonly AgUiInterrupt[];
  /** Calls that the client carries out: `id`, `name` and `input`. */
  readonly results: readonly AgUiInterrupt[];
}

interface AgUiInterrupt extends JsonObject {
  readonly id: string;
}

export function readWaiting({ outcome, metadata }: JsonObject): ThreadWaits {
  const loom = isJsonObject(metadata) ? metadata["loom"] : undefined;
  return {
    approvals: listObjects(isJsonObject(outcome) ? outcome["interrupts"] : undefined),
    results: listObjects(isJsonObject(loom) ? loom["pending"] : undefined),
  };
}

function listObjects(value: Json | undefined): readonly AgUiInterrupt[] {
  return Array.isArray(value) ? (value as readonly AgUiInterrupt[]) : [];
}

export function countCalls({ approvals, results }: ThreadWaits): number {
  return approvals.length + results.length;
}

/** Names what the run waits for; different for the approval and the result of a call. */
export function listCalls({ approvals, results }: ThreadWaits): readonly string[] {
  return [...approvals.map(({ id }) => `approval ${id}`), ...results.map(({ id }) => `result ${id}`)];
}

export function dropAnswered({ approvals, results }: ThreadWaits, answered: readonly Answered[]): ThreadWaits {
  const isOpen =
    (given: Answered["kind"]) =>
    ({ id }: AgUiInterrupt) =>
      !answered.some(({ kind, call }) => kind === given && call === id);
  return { approvals: approvals.filter(isOpen("approval")), results: results.filter(isOpen("result")) };
}

/** The fields of `RUN_FINISHED` that name what is open. */
export function describeWaiting(frame: JsonObject, open: ThreadWaits, isTanStack: boolean): JsonObject {
  const { approvals, results } = open;
  if (isTanStack) return { outcome: { type: "interrupt", interrupts: listInterrupts(open) } };
  if (approvals.length > 0) return { outcome: { type: "interrupt", interrupts: approvals } };
  const given = isJsonObject(frame["outcome"]) ? frame["outcome"] : {};
  const isNamed = given["type"] === "interrupt" || given["pendingToolCallIds"] !== undefined;
  return {
    outcome: { type: "success", ...(isNamed ? { pendingToolCallIds: results.map(({ id }) => id) } : {}) },
  };
}

/** Interrupts as TanStack AI knows them: it carries out the calls of some, and answers with their output. */
export function listInterrupts({ approvals, results }: ThreadWaits): readonly JsonObject[] {
  const calls = results.map(({ id, name = "", input = {} }) => ({
    id,
    reason: "client_tool_input",
    toolCallId: id,
    metadata: { kind: "client_tool", toolName: name, input },
  }));
  return [...approvals, ...calls];
}
