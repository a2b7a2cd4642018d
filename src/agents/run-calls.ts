/**
 * Runs the tool calls of one answer in parallel and returns their outcomes. Calls that ended before their process died
 * are not repeated.
 */
import type { NodeContext } from "../graph/index.ts";
import type { PartContext } from "../graph/graph.ts";
import type { ToolCallPart } from "../models/model.ts";
import { dropUndefined } from "../protocol/drop-undefined.ts";
import { untilAborted } from "../protocol/until-aborted.ts";
import { runToolCall, toOutcome } from "../tools/run-tool-call.ts";
import type { ToolHost } from "../tools/tool-host.ts";
import type { ToolOutcome } from "../tools/tool.ts";
import type { AgentContext } from "./agent-kind.ts";
import type { AgentRun } from "./agent-run.ts";
import { runInCall } from "./parent-call.ts";

export interface RunCallsOptions extends Pick<NodeContext, "signal" | "ready" | "endedCalls"> {
  readonly span: PartContext["span"];
  /** Raw arguments that are not a JSON object, by call ID. */
  readonly malformed?: { readonly [callId: string]: string };
  readonly monitor?: ToolCallMonitor;
}

/** Observes the calls while they run and while they wait for the user. */
export interface ToolCallMonitor {
  /** Wraps each approval request, and each call that the client carries out. */
  duringWait<T>(wait: () => Promise<T>): Promise<T>;
  /** Called when a call has ended. */
  onCallEnd(): void;
}

export async function runCalls(
  { log, run, sessionId, toolbox, language, exposeToolErrors, onError, saveBlob }: AgentContext,
  calls: readonly ToolCallPart[],
  { span, signal, ready, endedCalls, malformed = {}, monitor }: RunCallsOptions,
): Promise<readonly ToolOutcome[]> {
  const { nodeId } = span;
  const wait = <T>(start: () => Promise<T>): Promise<T> =>
    monitor === undefined ? start() : monitor.duringWait(start);
  const requestApproval: AgentRun["requestApproval"] = (request, options) =>
    wait(() => run.requestApproval(request, options));
  const callClient: AgentRun["callClient"] = (request, options) => wait(() => run.callClient(request, options));
  const host: ToolHost = {
    sessionId,
    runId: run.runId,
    signal,
    now: () => run.now(),
    emit: (event) => run.post(event, { nodeId }).durable,
    recall: (callId) => {
      const known = run.work.findCall(callId);
      return known === undefined
        ? undefined
        : { approvalArguments: known.approvalArguments, started: known.state === "started" };
    },
    ready: () => ready(),
    requestApproval: (request) => requestApproval(request, { nodeId }),
    callClient: (request) => callClient(request, { nodeId }),
    exposeErrors: exposeToolErrors,
    language,
    ...dropUndefined({ onError, saveBlob }),
  };
  const perform = async ({ toolCallId: callId, toolName: name, input }: ToolCallPart): Promise<ToolOutcome> => {
    const left = endedCalls.has(callId) ? undefined : run.recallClient(callId, { nodeId });
    const ended = left === undefined ? endedCalls.get(callId) : await wait(() => untilAborted(left, signal));
    if (ended !== undefined) return toOutcome(callId, name, ended);
    const raw = Object.hasOwn(malformed, callId) ? malformed[callId] : undefined;
    const call = { callId, name, input: raw === undefined ? input : undefined, rawInput: raw ?? JSON.stringify(input) };
    return runInCall({ log, run, nodeId, requestApproval, callClient }, () => runToolCall(call, toolbox, host));
  };
  const running = calls.map((call) => perform(call).finally(() => monitor?.onCallEnd()));
  // Wait for all calls, because a call that is still running would write into a closed span.
  const settled = await Promise.allSettled(running);
  return settled.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  });
}
