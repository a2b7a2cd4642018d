/**
 * The request that a run was started with, and how it is stored: in the body of an `enqueue` command while the message
 * waits, and in `run_start`. Both have the fields of `FIELDS` under the same names, except for the tool rules.
 *
 * Invariant: a field of `RunOrigin` without a row in `FIELDS` does not compile. `notices` has none: it becomes events.
 */
import { dropUndefined } from "../protocol/drop-undefined.ts";
import type { ErrorEvent, RunStartEvent } from "../protocol/events.generated.ts";
import type { Hint } from "../protocol/fault.ts";
import type { Json, JsonObject, ReasoningLevel, ToolRules } from "../protocol/index.ts";
import { copyJson } from "../protocol/json.ts";
import {
  type ClientTool,
  readClientTools,
  readInstructions,
  readOutputSchema,
  writeClientTool,
} from "../protocol/run-additions.ts";
import { isReasoningLevel } from "../protocol/reasoning-level.ts";
import { readStrategySettings, type StrategySettings } from "../protocol/strategy-settings.ts";
import { readToolRules } from "../protocol/tool-rules.ts";
import { findEventFault } from "../protocol/validate.ts";
import { invalidCommand, readCallerRules, readName } from "./command-body.ts";

/** What to do with a run whose process died. */
export type OnInterruption = "resume" | "fail";

/** The request that a run was started with. */
export interface RunOrigin {
  readonly runId: string;
  /** The client's ID of the request; cancels can name it. */
  readonly requestId?: string | undefined;
  /** The message of the user. */
  readonly message?: string | undefined;
  /** Name of the agent that executes the run. */
  readonly agent?: string | undefined;
  readonly source?: RunStartEvent["source"] | undefined;
  /** Data of the caller for observers of the run. Stored in the log. */
  readonly context?: JsonObject | undefined;
  /** Files of the message, by reference. */
  readonly attachments?: RunStartEvent["attachments"] | undefined;
  /** How much the models of the run reason. Default: the setting of the agent. */
  readonly reasoning?: ReasoningLevel | undefined;
  /** How the agent searches, in this run only. Default: the settings of the agent. */
  readonly strategy?: StrategySettings | undefined;
  /** What the run ignores of its request. Each is written after `run_start` as an error that does not end the run. */
  readonly notices?: readonly string[] | undefined;
  /** Who requested the run. Never a secret. */
  readonly actor?: string | undefined;
  /** Tool rules of the run. They also apply when another process resumes it. */
  readonly toolRules?: ToolRules | undefined;
  /**
   * What to do when the process of the run dies: run the interrupted nodes again (`resume`), or end the run as
   * `interrupted` (`fail`). Default: the setting of the session.
   */
  readonly onInterruption?: OnInterruption | undefined;
  /** Tools that the client of the run carries out, in addition to those of the agent. Default: none. */
  readonly clientTools?: readonly ClientTool[] | undefined;
  /** Instructions of the client, added to the system prompt of the agent for this run only. Default: none. */
  readonly instructions?: string | undefined;
  /** JSON Schema of the reply, which is then JSON that matches it. Default: the reply is plain text. */
  readonly outputSchema?: JsonObject | undefined;
  /**
   * What the client that requested the run can do: `approval` if it can answer approvals, `tools` if it can carry out
   * tools of the agent. A list without them makes `requestApproval` reject with `approval_unavailable`, and `callClient`
   * with `client_unavailable` unless the tool is one of `clientTools`. Default: unknown, and both wait for an answer.
   */
  readonly capabilities?: readonly string[] | undefined;
}

/** Maximum attachments of one message; code `invalid_command`. */
export const MAX_ATTACHMENTS = 20;

/** How a field of a request is stored. */
interface StoredField<Value> {
  /** Name in `run_start`. */
  readonly name: string;
  /** Name in a queued message. Default: the same. */
  readonly queuedAs?: string;
  /** Converts the value to JSON that its owner cannot change. Throws `invalid_command`. Default: uses it as it is. */
  readonly write?: (value: Value) => unknown;
  /** Checks what the declaration of `run_start` does not say. Throws `invalid_command`. */
  readonly check?: (body: JsonObject, name: string) => unknown;
  /** Reads a stored value. Throws if the run cannot be what its client asked for. Default: uses it as it is. */
  readonly read?: (value: Json) => Value | undefined;
}

type StoredFields = {
  readonly [Key in Exclude<keyof RunOrigin, "notices">]-?: StoredField<NonNullable<RunOrigin[Key]>>;
};

/** In the order of `run_start`. */
const FIELDS: StoredFields = {
  runId: { name: "run_id", check: readName },
  message: { name: "message", read: repairText },
  agent: { name: "agent", check: readName },
  source: { name: "source" },
  requestId: { name: "request_id", check: readName },
  context: { name: "context" },
  attachments: { name: "attachments", check: checkAttachments },
  reasoning: { name: "reasoning", read: (value) => (isReasoningLevel(value) ? value : undefined) },
  strategy: { name: "strategy", write: readStrategySettings, read: readStrategySettings },
  actor: { name: "actor", check: readName },
  // Processes of earlier versions read queued messages too, and must find the rules.
  toolRules: { name: "tool_rules", queuedAs: "tools", write: copyJson, check: readCallerRules, read: readToolRules },
  onInterruption: { name: "on_interruption", read: readInterruption },
  capabilities: { name: "capabilities", write: copyJson },
  clientTools: { name: "client_tools", write: writeClientTools, check: checkClientTools, read: recallClientTools },
  instructions: { name: "instructions", write: readInstructions, read: readInstructions },
  outputSchema: { name: "output_schema", write: readOutputSchema, read: readOutputSchema },
};

const ROWS = Object.entries(FIELDS) as readonly (readonly [keyof StoredFields, StoredField<unknown>])[];

/** Creates the first events of a run: `run_start`, and what the run ignores of its request. Throws `invalid_command`. */
export function createRunStart(origin: RunOrigin): readonly [RunStartEvent, ...ErrorEvent[]] {
  const { run_id, message, agent, ...others } = writeFields(origin, ({ name }) => name);
  const start = dropUndefined({ type: "run_start", run_id, message, agent, contiguous: true, ...others });
  const about = { code: "unknown_field", stage: "request", recoverable: true } as const;
  return [
    start as RunStartEvent,
    ...(origin.notices ?? []).map((notice) => ({ type: "error", message: notice, ...about }) as const),
  ];
}

/** Reads the request of a run from its record. `isReadable` is false if the run cannot be what its client asked for. */
export function readRunStart(start: RunStartEvent): { readonly origin: RunOrigin; readonly isReadable: boolean } {
  const origin: { [key: string]: unknown } = {};
  let isReadable = true;
  for (const [key, { name, read = asIs }] of ROWS) {
    const value = (start as unknown as JsonObject)[name];
    try {
      if (value != null) origin[key] = read(value);
    } catch {
      isReadable = false;
    }
  }
  return { origin: origin as unknown as RunOrigin, isReadable };
}

/** Writes a request as the body of an `enqueue` command. Throws `invalid_command`. */
export function writeQueuedMessage(origin: RunOrigin): JsonObject {
  const { notices } = origin;
  const fields = writeFields(origin, ({ name, queuedAs = name }) => queuedAs);
  return notices === undefined ? fields : { ...fields, notices };
}

/** Reads the body of an `enqueue` command, which any program may have written. Throws `invalid_command`. */
export function readQueuedMessage(body: JsonObject): Partial<RunOrigin> {
  const origin: { [key: string]: unknown } = { notices: readNotices(body) };
  const start: { [name: string]: Json } = { type: "run_start" };
  for (const [key, { name, queuedAs = name, check, read = asIs }] of ROWS) {
    check?.(body, queuedAs);
    const value = body[queuedAs];
    if (value == null) continue;
    start[name] = value;
    origin[key] = read(value);
  }
  // A stored run may name a choice that this version does not know. A message must not.
  const unknownChoices: Hint[] = [];
  const fault = findEventFault(start, unknownChoices) ?? unknownChoices[0];
  if (fault !== undefined) throw invalidCommand(fault.message);
  return origin;
}

function writeFields(origin: RunOrigin, nameOf: (field: StoredField<unknown>) => string): JsonObject {
  const fields: { [name: string]: Json } = {};
  for (const [key, field] of ROWS) {
    const { write = asIs } = field;
    const value = origin[key] == null ? undefined : write(origin[key]);
    if (value !== undefined) fields[nameOf(field)] = value as Json;
  }
  return fields;
}

function asIs(value: unknown): unknown {
  return value;
}

/** `run_start` with a message that is not a string is rejected later, as any event. */
function repairText(message: Json): string {
  return typeof message === "string" ? message.toWellFormed() : (message as never);
}

function checkAttachments({ attachments }: JsonObject): void {
  if (Array.isArray(attachments) && attachments.length > MAX_ATTACHMENTS)
    throw invalidCommand(`A message has at most ${MAX_ATTACHMENTS} attachments, not ${attachments.length}`);
}

/** Undefined for unknown values. */
function readInterruption(value: Json): OnInterruption | undefined {
  return value === "resume" || value === "fail" ? value : undefined;
}

function checkClientTools({ client_tools }: JsonObject): void {
  readClientTools(client_tools);
}

function writeClientTools(tools: readonly ClientTool[]): unknown {
  const written = Array.isArray(tools) ? tools.map(writeClientTool) : tools;
  readClientTools(written);
  return written;
}

/** The model is not offered client tools that cannot be read. */
function recallClientTools(tools: Json): readonly ClientTool[] | undefined {
  try {
    return readClientTools(tools);
  } catch {
    return undefined;
  }
}

/** What the server ignored of the request. */
function readNotices({ notices }: JsonObject): readonly string[] | undefined {
  return Array.isArray(notices) ? notices.filter((notice): notice is string => typeof notice === "string") : undefined;
}
