/**
 * Carries out one call a model has made: checks the arguments, asks the user where that is needed, runs the tool and
 * writes how it went. The `tool_call` was written before. It knows no agent; what it needs of the run is its host.
 *
 *     (tool_approval → answer →) tool_start → (tool_output | tool_progress | shown)* → tool_end (→ error)
 *     or tool_end alone, for a call that is not run
 *
 * Invariants:
 * - Each call gets exactly one `tool_end` from here, unless the run is over: then its engine closes the call.
 * - Whatever a tool does, this resolves; it rejects only when the run is over or its host cannot write.
 * - A tool that was left behind, because it ran out of time or the run ended, is heard no more.
 */
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
  type ErrorEvent,
  isLoomError,
  type JsonObject,
  LoomError,
  type LoomEvent,
  type ToolEndEvent,
  type ToolRule,
} from "../protocol/index.ts";
import { cutResult } from "./cut-result.ts";
import { describeFailure, shorten } from "./describe-failure.ts";
import { makeRoom } from "./pace.ts";
import { readArguments } from "./read-arguments.ts";
import { DEFAULT_LIMITS } from "./tool-limits.ts";
import type { ToolHost } from "./tool-host.ts";
import { ToolOutput } from "./tool-output.ts";
import { asToolResult } from "./tool-result.ts";
import type { Toolbox } from "./toolbox.ts";
import type { Tool, ToolCall, ToolContext, ToolOutcome, ToolResult } from "./tool.ts";
import { untilAborted } from "./until-aborted.ts";

/** How a call ends: what its `tool_end` says, and what went wrong inside. */
interface Ending extends ToolResult {
  readonly code?: string;
  /** What was thrown, for the error record. */
  readonly thrown?: { readonly error: unknown };
}

type Checked =
  | { readonly ok: true; readonly value: unknown; readonly arguments?: JsonObject }
  | { readonly ok: false; readonly ending: Ending };

/** What the model must know before the result, such as that the user changed what it asked for. */
type Agreed = Checked & { readonly note?: string };

/** Characters of the names a model is given when it asks for a tool that does not exist. */
const MAX_NAMES_LENGTH = 2000;
/** Characters of the arguments as the user changed them, in what the model is told. */
const MAX_CHANGED_LENGTH = 2000;
const CHANGED_SINCE = "What the call would do has changed since the user agreed to it; it was not run.";

export async function runToolCall(call: ToolCall, toolbox: Toolbox, host: ToolHost): Promise<ToolOutcome> {
  const { signal } = host;
  signal.throwIfAborted();
  const tool = toolbox.find(call.name);
  const rule = toolbox.ruleOf(call.name);
  if (tool === undefined || rule === "deny") {
    const { callId, name } = call;
    const asked = host.recall?.(callId)?.asked;
    // A question that stands must be answered before its call can end.
    if (asked !== undefined) await untilAborted(host.requestApproval({ callId, name, arguments: asked }), signal);
    if (tool !== undefined) return endCall(call, host, {}, refuse("tool_denied", describeDenied(name)));
    return endCall(call, host, {}, refuse("unknown_tool", describeUnknown(call.name, toolbox)));
  }

  const agreed = await untilAborted(agree(call, tool, rule, host), signal);
  const { note } = agreed;
  if (!agreed.ok) return endCall(call, host, tool, agreed.ending, { note });

  let release;
  try {
    release = await toolbox.enter(tool.name, signal);
  } catch (error) {
    signal.throwIfAborted();
    return endCall(call, host, tool, fail(error), { note });
  }
  try {
    const { ending, durationMs } = await carryOut(call, tool, host, agreed.value);
    return await endCall(call, host, tool, ending, { note, durationMs });
  } finally {
    // Also where the tool was left behind: one that hangs must not block all others.
    release();
  }
}

/** The arguments to run the tool with, once they are right and the user has agreed where that is needed. */
async function agree(call: ToolCall, tool: Tool, rule: ToolRule, host: ToolHost): Promise<Agreed> {
  const { callId, name } = call;
  // What was asked before a restart stays asked as it was, whatever schema and policy say now.
  let asked = host.recall?.(callId)?.asked;
  if (asked === undefined) {
    const read = readArguments(call);
    if (!read.ok) return { ok: false, ending: refuse("invalid_arguments", read.message) };
    const checked = await validate(tool, read.input, host.signal);
    if (!checked.ok) return checked;
    if (rule !== "ask" && !(await needsApproval(tool, checked.value, host.signal))) return checked;
    asked = checked.arguments ?? read.input;
  }
  // Whoever waits for this has left; nobody must be asked any more.
  host.signal.throwIfAborted();
  const {
    decision,
    arguments: agreed,
    reason,
  } = await host.requestApproval({
    callId,
    name,
    arguments: asked,
    ...(tool.approvalMs === undefined ? {} : { expiresInMs: tool.approvalMs }),
  });
  const why = reason === undefined || reason.trim() === "" ? "" : ` The reason given: ${shorten(reason, 2000)}`;
  if (decision === "expired")
    return {
      ok: false,
      ending: refuse("approval_expired", `Nobody agreed to this call in time; it was not run.${why}`),
    };
  if (decision !== "approved")
    return { ok: false, ending: refuse("tool_rejected", `The user refused this call; it was not run.${why}`) };
  const checked = await validate(tool, agreed, host.signal);
  if (!isSame(asked, agreed)) {
    const note = `The user changed the arguments to ${shorten(JSON.stringify(agreed), MAX_CHANGED_LENGTH)}.`;
    return { ...checked, note };
  }
  // What the tool makes of them now must be what the user was shown then.
  const isOther = checked.ok && checked.arguments !== undefined && !isSame(asked, checked.arguments);
  return isOther ? { ok: false, ending: refuse("approval_mismatch", CHANGED_SINCE) } : checked;
}

/** As the log gives it back: it knows no -0. */
function withoutForm(input: JsonObject): unknown {
  return JSON.parse(JSON.stringify(input));
}

function isSame(one: JsonObject, other: JsonObject): boolean {
  return isDeepStrictEqual(withoutForm(one), withoutForm(other));
}

async function validate(tool: Tool, input: JsonObject, signal: AbortSignal): Promise<Checked> {
  try {
    const checked = await withinTime(tool, signal, () => tool.validate(input));
    return checked.ok ? checked : { ok: false, ending: refuse("invalid_arguments", checked.message) };
  } catch (error) {
    signal.throwIfAborted();
    return { ok: false, ending: fail(error) };
  }
}

/** Only a clear no is a no. */
async function needsApproval(tool: Tool, input: unknown, signal: AbortSignal): Promise<boolean> {
  try {
    const answer: unknown = await withinTime(tool, signal, () => tool.needsApproval(input));
    return answer !== false;
  } catch {
    signal.throwIfAborted();
    return true;
  }
}

/**
 * Lets a part of the tool work as long as the tool may and the run goes on. It is given a signal that tells it to stop;
 * one that does not is left behind.
 */
async function withinTime<T>(
  { timeoutMs = DEFAULT_LIMITS.timeoutMs }: Tool,
  signal: AbortSignal,
  work: (signal: AbortSignal) => T | PromiseLike<T>,
): Promise<T> {
  signal.throwIfAborted();
  const abort = new AbortController();
  const onEnd = (): void => abort.abort(signal.reason);
  const onTimeout = (): void =>
    abort.abort(new LoomError("tool_timeout", `The tool did not finish within ${timeoutMs} ms.`, { limit: timeoutMs }));
  const timer = setTimeout(onTimeout, timeoutMs);
  signal.addEventListener("abort", onEnd, { once: true });
  try {
    return await untilAborted((async () => work(abort.signal))(), abort.signal);
  } catch (error) {
    // One that obeys its signal throws what it likes.
    throw abort.signal.aborted ? abort.signal.reason : error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onEnd);
  }
}

async function carryOut(
  call: ToolCall,
  tool: Tool,
  host: ToolHost,
  input: unknown,
): Promise<{ readonly ending: Ending; readonly durationMs: number }> {
  const { callId, name } = call;
  const { signal, now = Date.now } = host;
  const output = new ToolOutput(host, call, tool);
  if (host.recall?.(callId)?.started !== true) {
    await makeRoom(host, 512);
    const written = host.emit({ type: "tool_start", call_id: callId, name });
    // A tool begins when its start is on disk: whoever finds it there after a crash will not run it twice.
    if (written !== undefined) await untilAborted(written, signal);
  }
  const startedAt = now();
  const ending = await execute(call, tool, host, output, input);
  await untilAborted(output.flush(), signal);
  if (output.failure !== undefined) throw output.failure.error;
  const refused = output.refusal === undefined || ending.thrown !== undefined ? ending : fail(output.refusal);
  return { ending: refused, durationMs: Math.max(0, now() - startedAt) };
}

/** Runs the tool, and gives how it went. Rejects only when the run is over. */
async function execute(
  { callId }: ToolCall,
  tool: Tool,
  host: ToolHost,
  output: ToolOutput,
  input: unknown,
): Promise<Ending> {
  const { sessionId, runId, saveBlob } = host;
  try {
    const result = await withinTime(tool, host.signal, (signal) => {
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
    return fail(error);
  } finally {
    output.close();
  }
}

/** A tool that was not made by `defineTool` may give anything. */
function readResult(result: unknown): ToolResult {
  const given: Partial<ToolResult> | null | undefined = typeof result === "object" ? result : undefined;
  if (typeof given?.text !== "string") return asToolResult(result);
  const { text, output, isError } = given;
  return { text, ...(output === undefined ? {} : { output }), ...(isError === true ? { isError } : {}) };
}

/** Writes the end of the call, and the error where the tool has failed. */
async function endCall(
  { callId, name }: ToolCall,
  host: ToolHost,
  limits: Pick<Tool, "maxResultCharacters">,
  ending: Ending,
  { note, durationMs }: { readonly note?: string | undefined; readonly durationMs?: number } = {},
): Promise<ToolOutcome> {
  host.signal.throwIfAborted();
  const { text, output, bytes } = cutResult(ending, limits.maxResultCharacters);
  const result = note === undefined ? text : `${note}\n${text}`;
  const isError = ending.isError === true;
  const given = output === undefined ? {} : { output };
  const end: ToolEndEvent = {
    type: "tool_end",
    call_id: callId,
    name,
    result,
    is_error: isError,
    ...given,
    ...(ending.code === undefined ? {} : { error_code: ending.code }),
    ...(durationMs === undefined ? {} : { duration_ms: durationMs }),
  };
  await makeRoom(host, bytes + (note?.length ?? 0) + 512);
  const write = async (event: LoomEvent): Promise<unknown> => host.emit(event);
  const written = [write(end)];
  if (ending.thrown !== undefined) written.push(write(describeError(callId, ending, ending.thrown.error, host)));
  await untilAborted(Promise.all(written), host.signal);
  return { callId, name, result, isError, ...given, ...(ending.code === undefined ? {} : { errorCode: ending.code }) };
}

function describeError(callId: string, { text, code }: Ending, error: unknown, host: ToolHost): ErrorEvent {
  const errorId = randomUUID();
  try {
    host.onError?.(error, errorId);
  } catch {
    // Whoever is told must not disturb the run.
  }
  return {
    type: "error",
    message: text,
    ...(code === undefined ? {} : { code }),
    stage: "tool_execute",
    recoverable: true,
    call_id: callId,
    details: { error_id: errorId },
  };
}

/** The call is not run, and that is nobody's failure. */
function refuse(
  code:
    | "unknown_tool"
    | "tool_denied"
    | "invalid_arguments"
    | "tool_rejected"
    | "approval_expired"
    | "approval_mismatch",
  text: string,
): Ending {
  return { text, code, isError: true };
}

/** The tool has failed. */
function fail(error: unknown): Ending {
  const code = isLoomError(error) ? error.code : "tool_failed";
  return { text: describeFailure(error), code, isError: true, thrown: { error } };
}

function describeDenied(name: string): string {
  return `The tool ${name} may not be used here; it was not run. Go on without it, and say what was not done.`;
}

function describeUnknown(name: string, { names }: Toolbox): string {
  const asked = shorten(JSON.stringify(name), 100);
  if (names.length === 0) return `There is no tool ${asked}: there are no tools.`;
  let list = "";
  let count = 0;
  for (const one of names) {
    if (list.length + one.length > MAX_NAMES_LENGTH) break;
    list += `${count++ === 0 ? "" : ", "}${one}`;
  }
  const rest = names.length - count;
  return `There is no tool ${asked}. There are: ${list}${rest === 0 ? "" : `, and ${rest} more`}.`;
}
