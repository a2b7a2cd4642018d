/** Describes a thread for TanStack AI: its messages, with `parts`, its live run, and what the run waits for. */
import type { Json, JsonObject } from "../../../protocol/index.ts";
import { isJsonObject } from "../../../protocol/json.ts";
import type { ServerCore } from "../../api/server-core.ts";
import { findLiveRun } from "../../commands/execute-command.ts";
import { encodeRunReference } from "./find-run.ts";
import { readThread } from "./read-thread.ts";
import type { AgUiThreadMessage } from "./thread-fold.ts";
import { listInterrupts } from "./waiting.ts";

export async function describeThread(
  core: ServerCore,
  session: string,
  { before, limit }: { readonly before: string | undefined; readonly limit: number | undefined },
): Promise<object> {
  // A run has at least two messages: that of the user and the answer.
  const maxRuns = limit === undefined ? {} : { maxRuns: Math.ceil(limit / 2) };
  const { fold, cursor } = await readThread(core, { session, before, ...maxRuns });
  const run = before === undefined ? await findLiveRun(core.log, session) : undefined;
  const interrupts = run === undefined ? [] : listInterrupts(fold.waiting);
  const waiting = new Map(fold.waiting.approvals.map((interrupt) => [interrupt["toolCallId"] as string, interrupt]));
  const runId = run === undefined ? undefined : await nameRun(core, session, run.runId);
  return {
    messages: toUiMessages(fold.messages, waiting),
    ...(runId === undefined ? {} : { activeRun: { runId } }),
    ...(runId === undefined || interrupts.length === 0 ? {} : { interrupts: { runId, pending: interrupts } }),
    page: cursor === undefined ? { truncated: false } : { truncated: true, cursor },
  };
}

/** The ID by which a client can join the run: its own if a client of AG-UI started it. */
async function nameRun({ log }: ServerCore, session: string, run: string): Promise<string> {
  return (await log.getCommand(session, run)) === undefined ? encodeRunReference(session, run) : run;
}

interface UiMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: JsonObject[];
}

/** The interrupts of the run that waits, by call. Their calls ask for approval. */
type InterruptsByCall = ReadonlyMap<string, JsonObject>;

function toUiMessages(messages: readonly AgUiThreadMessage[], waiting: InterruptsByCall): readonly UiMessage[] {
  const results = new Map(
    messages.flatMap((message) => (message.role === "tool" ? [[message.toolCallId, message]] : [])),
  );
  const converted: UiMessage[] = [];
  // The client shows thoughts as a part of the message after them.
  let thoughts: JsonObject[] = [];
  for (const { id, role, content, toolCalls = [] } of messages) {
    if (role === "user") converted.push({ id, role, parts: toUserParts(content) });
    else if (role === "reasoning") thoughts.push({ type: "thinking", content: content ?? "" });
    else if (role === "assistant") {
      const text = typeof content === "string" && content !== "" ? [{ type: "text", content }] : [];
      const calls = toolCalls.flatMap((call) => toCallParts(call, results.get(call.id), waiting.get(call.id)));
      converted.push({ id, role, parts: [...thoughts, ...text, ...calls] });
      thoughts = [];
    }
  }
  const last = converted.at(-1);
  if (thoughts.length > 0 && last?.role === "assistant") last.parts.push(...thoughts);
  return converted;
}

function toUserParts(content: Json | undefined): JsonObject[] {
  if (!Array.isArray(content)) return [{ type: "text", content: content ?? "" }];
  return content.flatMap((part) => {
    if (!isJsonObject(part)) return [];
    return [part["type"] === "text" ? { type: "text", content: part["text"] ?? "" } : part];
  });
}

function toCallParts(
  { id, function: { name, arguments: text } }: NonNullable<AgUiThreadMessage["toolCalls"]>[number],
  result: AgUiThreadMessage | undefined,
  interrupt: JsonObject | undefined,
): readonly JsonObject[] {
  const call = { type: "tool-call", id, name, arguments: text, ...readInput(text) };
  if (interrupt !== undefined)
    return [{ ...call, state: "approval-requested", approval: { id: interrupt["id"] ?? id, needsApproval: true } }];
  if (result === undefined) return [{ ...call, state: "input-complete" }];
  const { content = "", metadata } = result;
  const loom = isJsonObject(metadata) ? metadata["loom"] : undefined;
  const isError = isJsonObject(loom) && loom["is_error"] === true;
  const output = typeof content === "string" ? readOutput(content) : content;
  return [
    { ...call, state: isError ? "error" : "complete", output },
    { type: "tool-result", toolCallId: id, content, state: isError ? "error" : "complete" },
  ];
}

function readInput(text: string): JsonObject {
  try {
    return { input: JSON.parse(text) as Json };
  } catch {
    return {};
  }
}

function readOutput(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
