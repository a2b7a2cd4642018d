/**
 * Runs one tool call of a model: checks the arguments, asks the user for approval if needed, runs the tool and writes
 * the events. The `tool_call` event was written before.
 *
 *     (tool_approval → answer →) tool_start → (tool_output | tool_progress | shown)* → tool_end (→ error)
 *     or tool_start → tool_end, for a call that the client carries out: the host writes both
 *     or only tool_end, for a call that is not run
 *
 * Invariants:
 * - Each call gets exactly one `tool_end`, unless the run is over: then the engine closes the call.
 * - It resolves whatever the tool does, and rejects only if the run is over or the host cannot write.
 * - Output of a tool is ignored after its timeout or after the end of the run.
 */
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { isLoomError, type JsonObject, LoomError, type LoomEvent } from "../protocol/index.ts";
import type { ToolRule } from "../protocol/tool-rules.ts";
import type { ErrorEvent, ToolEndEvent } from "../protocol/events.generated.ts";
import { truncateResult } from "./truncate-result.ts";
import { describeFailure } from "./describe-failure.ts";
import { writeSummary } from "./summarize-tool.ts";
import { reserveBytes } from "./write-budget.ts";
import { readArguments } from "./read-arguments.ts";
import {
  DEFAULT_LIMITS,
  type Tool,
  type ToolCallRequest,
  type ToolCallResult,
  type ToolContext,
  type ToolOutcome,
} from "./tool.ts";
import type { ToolApprovalAnswer, ToolHost } from "./tool-host.ts";
import { ToolOutput } from "./tool-output.ts";
import { asToolResult } from "./tool-result.ts";
import type { Toolbox } from "./toolbox.ts";
import { untilAborted } from "../protocol/until-aborted.ts";
import { withTimeout } from "../protocol/with-timeout.ts";
import { dropUndefined } from "../protocol/drop-undefined.ts";
import { cutText, shorten } from "../protocol/cut-text.ts";
import { describeEdit } from "../protocol/describe-edit.ts";
import { copyJson } from "../protocol/json.ts";

/** How a call ended: the content of its `tool_end`, and the thrown error if there is one. */
interface CallEnding extends ToolCallResult {
  readonly code?: string;
  /** The thrown value and the ID under which it is reported, for the `error` event. */
  readonly thrown?: { readonly error: unknown; readonly errorId: string };
}

type ToolCallCheck =
  | { readonly ok: true; readonly value: unknown; readonly arguments?: JsonObject }
  | { readonly ok: false; readonly ending: CallEnding };

/** `note` tells the model something before the result, such as that the user changed the arguments. */
type ToolCallApproval = ToolCallCheck & { readonly note?: string };

/** Limit for the list of tool names in the result of a call to an unknown tool. */
const MAX_NAMES_LENGTH = 2000;
/** Limit of the preview of a call, in characters. */
const MAX_PREVIEW = 20_000;
const NO_CLIENT = "No client can carry out this call here; it was not run";
const CHANGED_SINCE_APPROVAL = "The effect of this call has changed since the user approved it; it was not run.";

/**
 * Runs a tool call and writes its events to the host. Returns the outcome, also if the call was rejected or the tool
 * failed. Rejects if the run is over or the host cannot write.
 */
export async function runToolCall(call: ToolCallRequest, toolbox: Toolbox, host: ToolHost): Promise<ToolOutcome> {
  const { signal } = host;
  signal.throwIfAborted();
  const tool = toolbox.find(call.name);
  const rule = toolbox.ruleOf(call.name);
  if (tool === undefined || rule === "deny") {
    const { callId, name } = call;
    const requested = host.recall?.(callId)?.approvalArguments;
    // A pending approval must be answered before its call can end.
    if (requested !== undefined)
      await untilAborted(host.requestApproval({ callId, name, arguments: requested }), signal);
    if (tool !== undefined) return endCall(call, host, {}, refuse("tool_denied", describeDenied(name)));
    return endCall(call, host, {}, refuse("unknown_tool", describeUnknown(call.name, toolbox)));
  }

  const approved = await untilAborted(checkAndApprove(call, tool, rule, host), signal);
  const { note } = approved;
  if (!approved.ok) return endCall(call, host, tool, approved.ending, { note });
  if (tool.executor === "client") return callClient(call, tool, host);

  let release;
  try {
    release = await toolbox.enter(tool.name, signal);
  } catch (error) {
    signal.throwIfAborted();
    return endCall(call, host, tool, fail(error, tool, host), { note });
  }
  try {
    const { ending, durationMs } = await startAndExecute(call, tool, host, approved.value);
    return await endCall(call, host, tool, ending, { note, durationMs });
  } finally {
    // Also after a timeout: a tool that hangs must not block other calls.
    release();
  }
}

/** Lets the client carry out the call. The end that the host writes also says whether the user changed the arguments. */
async function callClient(call: ToolCallRequest, tool: Tool, host: ToolHost): Promise<ToolOutcome> {
  const { callId, name } = call;
  const { timeoutMs: expiresInMs } = tool;
  try {
    if (host.callClient === undefined) throw new LoomError("client_unavailable", NO_CLIENT);
    const request = dropUndefined({ callId, name, expiresInMs });
    return toOutcome(callId, name, await untilAborted(host.callClient(request), host.signal));
  } catch (error) {
    if (!isLoomError(error, "client_unavailable")) throw error;
    return endCall(call, host, tool, refuse("client_unavailable", `${error.message}. Continue without it.`));
  }
}

/** The outcome of a call that has ended. */
export function toOutcome(callId: string, name: string, end: ToolEndEvent): ToolOutcome {
  const { result, is_error: isError, output, error_code } = end;
  const more = dropUndefined({ output, errorCode: error_code });
  return { callId, name, result, isError, ...more };
}

/** Returns the arguments to run the tool with, after validation and approval. */
async function checkAndApprove(
  call: ToolCallRequest,
  tool: Tool,
  rule: ToolRule,
  host: ToolHost,
): Promise<ToolCallApproval> {
  const { callId, name } = call;
  // An approval requested before a restart keeps its arguments, even if schema or policy have changed.
  let requested = host.recall?.(callId)?.approvalArguments;
  let preview: string | undefined;
  if (requested === undefined) {
    const read = readArguments(call);
    if (!read.ok) return { ok: false, ending: refuse("invalid_arguments", read.message) };
    const checked = await validate(tool, read.input, host);
    if (!checked.ok) return checked;
    if (rule !== "ask" && !(await needsApproval(tool, checked.value, host.signal))) return checked;
    requested = checked.arguments ?? read.input;
    preview = await previewCall(tool, checked.value, host.signal);
  }
  // The caller has stopped waiting, so do not ask the user.
  host.signal.throwIfAborted();
  const more = dropUndefined({ expiresInMs: tool.approvalMs, preview, server: tool.server });
  let answer: ToolApprovalAnswer;
  try {
    answer = await host.requestApproval({ callId, name, arguments: requested, ...more });
  } catch (error) {
    if (!isLoomError(error, "approval_unavailable")) throw error;
    return { ok: false, ending: refuse("approval_unavailable", `${error.message}. Continue without it.`) };
  }
  const { decision, arguments: approved, reason, code } = answer;
  const why = reason === undefined || reason.trim() === "" ? "" : ` Reason: ${shorten(reason.toWellFormed(), 2000)}`;
  if (decision === "expired")
    return {
      ok: false,
      ending: refuse("approval_expired", `Approval for this call expired; it was not run.${why}`),
    };
  if (decision !== "approved" && code !== undefined)
    return { ok: false, ending: refuse(...describeUndecided(code, why)) };
  if (decision !== "approved")
    return { ok: false, ending: refuse("tool_rejected", `The user rejected this call; it was not run.${why}`) };
  const checked = await validate(tool, approved, host);
  if (!isSame(requested, approved)) {
    return { ...checked, note: describeEdit(approved) };
  }
  // The tool must still derive the same arguments that the user approved.
  const isOther = checked.ok && checked.arguments !== undefined && !isSame(requested, checked.arguments);
  return isOther ? { ok: false, ending: refuse("approval_mismatch", CHANGED_SINCE_APPROVAL) } : checked;
}

/** No user decided, so the text must not say that one rejected the call. */
function describeUndecided(code: string, why: string): Parameters<typeof refuse> {
  return code === "approval_failed"
    ? ["approval_failed", `The request for approval failed because of an error; the call was not run.${why}`]
    : [
        "approval_unavailable",
        `This call needs approval, which is not available here; it was not run. Continue without it and say what was not done.${why}`,
      ];
}

function isSame(one: JsonObject, other: JsonObject): boolean {
  return isDeepStrictEqual(copyJson(one), copyJson(other));
}

async function validate(tool: Tool, input: JsonObject, host: ToolHost): Promise<ToolCallCheck> {
  try {
    const checked = await runUntilTimeout(tool, host.signal, () => tool.validate(input));
    return checked.ok ? checked : { ok: false, ending: refuse("invalid_arguments", checked.message) };
  } catch (error) {
    host.signal.throwIfAborted();
    return { ok: false, ending: fail(error, tool, host) };
  }
}

/** Requires approval unless the policy returns false. */
async function needsApproval(tool: Tool, input: unknown, signal: AbortSignal): Promise<boolean> {
  try {
    const answer: unknown = await runUntilTimeout(tool, signal, () => tool.needsApproval(input));
    return answer !== false;
  } catch {
    signal.throwIfAborted();
    return true;
  }
}

/** The user is asked without a preview if the tool has none or cannot compute it. */
async function previewCall(tool: Tool, input: unknown, signal: AbortSignal): Promise<string | undefined> {
  if (tool.preview === undefined) return undefined;
  try {
    const preview: unknown = await runUntilTimeout(tool, signal, async (until) => tool.preview?.(input, until));
    return typeof preview === "string" && preview !== "" ? cutText(preview, MAX_PREVIEW).toWellFormed() : undefined;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

/**
 * Runs a function of the tool until its timeout or the end of the run. The signal asks it to stop; a function that
 * ignores the signal is abandoned.
 */
async function runUntilTimeout<T>(
  { timeoutMs = DEFAULT_LIMITS.timeoutMs }: Tool,
  signal: AbortSignal,
  work: (signal: AbortSignal) => T | PromiseLike<T>,
): Promise<T> {
  const message = `The tool did not finish within ${timeoutMs} ms`;
  const late = (): Error => new LoomError("tool_timeout", message, { limit: timeoutMs });
  return withTimeout({ timeoutMs, late, signal }, work);
}

async function startAndExecute(
  call: ToolCallRequest,
  tool: Tool,
  host: ToolHost,
  input: unknown,
): Promise<{ readonly ending: CallEnding; readonly durationMs: number }> {
  const { callId, name } = call;
  const { signal, now = Date.now } = host;
  const output = new ToolOutput(host, call, tool);
  if (host.recall?.(callId)?.started !== true) {
    await reserveBytes(host, 512);
    const written = host.emit({ type: "tool_start", call_id: callId, name });
    // The tool starts after its `tool_start` is durable, so that it is not run twice after a crash.
    if (written !== undefined) await untilAborted(written, signal);
  }
  const startedAt = now();
  const ending = await execute(call, tool, host, output, input);
  await untilAborted(output.flush(), signal);
  if (output.failure !== undefined) throw output.failure.error;
  const refused =
    output.refusal === undefined || ending.thrown !== undefined ? ending : fail(output.refusal, tool, host);
  return { ending: refused, durationMs: Math.max(0, now() - startedAt) };
}

/** Runs the tool and returns how it ended. Rejects only if the run is over. */
async function execute(
  { callId }: ToolCallRequest,
  tool: Tool,
  host: ToolHost,
  output: ToolOutput,
  input: unknown,
): Promise<CallEnding> {
  const { sessionId, runId, saveBlob } = host;
  try {
    const result = await runUntilTimeout(tool, host.signal, (signal) => {
      const context: ToolContext = {
        callId,
        sessionId,
        runId,
        signal,
        print: (text) => output.print(text),
        report: (progress, message) => output.report(progress, message),
        show: (event) => output.show(event),
        ready: () => untilAborted(output.ready(), signal),
        ...(saveBlob === undefined
          ? {}
          : { saveBlob: (bytes, about) => untilAborted(saveBlob(bytes, { ...about, signal }), signal) }),
      };
      return tool.execute(input, context);
    });
    return readResult(result);
  } catch (error) {
    host.signal.throwIfAborted();
    return fail(error, tool, host);
  } finally {
    output.close();
  }
}

/** A tool that was not created by `defineTool` can return anything. */
function readResult(result: unknown): ToolCallResult {
  const given: Partial<ToolCallResult> | null | undefined = typeof result === "object" ? result : undefined;
  if (typeof given?.text !== "string") return asToolResult(result);
  const { text, output, summary, isError } = given;
  return { text, ...dropUndefined({ output, summary }), ...(isError === true ? { isError } : {}) };
}

/** Writes `tool_end`, and `error` if the tool failed. */
async function endCall(
  { callId, name }: ToolCallRequest,
  host: ToolHost,
  limits: Pick<Tool, "maxResultCharacters">,
  ending: CallEnding,
  { note, durationMs }: { readonly note?: string | undefined; readonly durationMs?: number } = {},
): Promise<ToolOutcome> {
  host.signal.throwIfAborted();
  const { text, output, bytes } = truncateResult(ending, limits.maxResultCharacters);
  const result = note === undefined ? text : `${note}\n${text}`;
  const isError = ending.isError === true;
  const code = ending.code ?? (isError ? "tool_failed" : undefined);
  const given = output === undefined ? {} : { output };
  const summary = writeSummary(ending.summary, host.language);
  const end: ToolEndEvent = {
    type: "tool_end",
    call_id: callId,
    name,
    result,
    is_error: isError,
    ...given,
    ...(summary === undefined ? {} : { summary }),
    ...(code === undefined ? {} : { error_code: code }),
    ...(durationMs === undefined ? {} : { duration_ms: durationMs }),
  };
  await reserveBytes(host, bytes + (note?.length ?? 0) + 512);
  const write = async (event: LoomEvent): Promise<unknown> => host.emit(event);
  const written = [write(end)];
  if (ending.thrown !== undefined) written.push(write(describeError(callId, ending, ending.thrown, host)));
  await untilAborted(Promise.all(written), host.signal);
  return { callId, name, result, isError, ...given, ...(code === undefined ? {} : { errorCode: code }) };
}

function describeError(
  callId: string,
  { text, code }: CallEnding,
  { error, errorId }: Required<CallEnding>["thrown"],
  host: ToolHost,
): ErrorEvent {
  try {
    host.onError?.(error, errorId);
  } catch {
    // An error in the callback must not affect the run.
  }
  return dropUndefined({
    type: "error",
    message: text,
    code,
    stage: "tool_execute",
    recoverable: true,
    call_id: callId,
    details: { error_id: errorId },
  });
}

/** Ends a call that is not run. This is not a failure of the tool. */
function refuse(
  code:
    | "unknown_tool"
    | "tool_denied"
    | "invalid_arguments"
    | "tool_rejected"
    | "approval_expired"
    | "approval_failed"
    | "approval_unavailable"
    | "approval_mismatch"
    | "client_unavailable",
  text: string,
): CallEnding {
  return { text, code, isError: true };
}

/** Errors of a model or a store that a tool used. They repeat messages of other systems. */
const FOREIGN = /^(?:model_|store_|retrieval_failed|compression_failed|missing_key|run_failed)/;

/**
 * Ends a call whose tool failed. A LoomError of a tool, such as a `ToolError`, is written for users; the message of any
 * other exception may name addresses or paths, and the host decides whether it is shown.
 */
function fail(error: unknown, { name }: Pick<Tool, "name">, { exposeErrors = true }: ToolHost): CallEnding {
  const code = isLoomError(error) ? error.code : "tool_failed";
  const errorId = randomUUID();
  const isShown = exposeErrors || (isLoomError(error) && !FOREIGN.test(error.code));
  const text = isShown ? describeFailure(error) : `The tool ${name} failed (code ${code}, error ID ${errorId})`;
  return { text, code, isError: true, thrown: { error, errorId } };
}

function describeDenied(name: string): string {
  return `The tool ${name} is not allowed here; it was not run. Continue without it, and tell the user what was not done.`;
}

function describeUnknown(name: string, { names }: Toolbox): string {
  const requested = shorten(JSON.stringify(name), 100);
  if (names.length === 0) return `Unknown tool ${requested}. No tools are available.`;
  let list = "";
  let count = 0;
  for (const one of names) {
    if (list.length + one.length > MAX_NAMES_LENGTH) break;
    list += `${count++ === 0 ? "" : ", "}${one}`;
  }
  const rest = names.length - count;
  return `Unknown tool ${requested}. Available tools: ${list}${rest === 0 ? "" : `, and ${rest} more`}.`;
}
