/**
 * Carries out tool calls of one answer, side by side, and gives what each came to. Calls that ended before their process
 * died are not made again. It knows no graph and no model.
 */
import type { NodeContext, Part } from "../graph/index.ts";
import type { ToolCallPart } from "../models/model.ts";
import { runToolCall } from "../tools/run-tool-call.ts";
import type { ToolHost } from "../tools/tool-host.ts";
import type { ToolOutcome } from "../tools/tool.ts";
import type { AgentContext } from "./agent-kind.ts";

export interface RunCallsOptions extends Pick<NodeContext, "signal" | "ready" | "endedCalls"> {
  readonly span: Part["span"];
  /** The model's text of arguments that are no JSON object, by call. */
  readonly malformed?: { readonly [callId: string]: string };
}

export async function runCalls(
  { run, sessionId, toolbox, onError }: AgentContext,
  calls: readonly ToolCallPart[],
  { span, signal, ready, endedCalls, malformed = {} }: RunCallsOptions,
): Promise<readonly ToolOutcome[]> {
  const { nodeId } = span;
  const host: ToolHost = {
    sessionId,
    runId: run.runId,
    signal,
    now: () => run.now(),
    emit: (event) => run.post(event, { nodeId }).durable,
    recall: (callId) => {
      const known = run.work.findCall(callId);
      return known === undefined ? undefined : { asked: known.asked, started: known.state === "started" };
    },
    ready: () => ready(),
    requestApproval: (request) => run.requestApproval(request, { nodeId }),
    ...(onError === undefined ? {} : { onError }),
  };
  const going = calls.map(async ({ toolCallId: callId, toolName: name, input }): Promise<ToolOutcome> => {
    const ended = endedCalls.get(callId);
    if (ended !== undefined) {
      const { result, is_error: isError, output } = ended;
      return { callId, name, result, isError, ...(output === undefined ? {} : { output }) };
    }
    const raw = Object.hasOwn(malformed, callId) ? malformed[callId] : undefined;
    const call = { callId, name, input: raw === undefined ? input : undefined, rawInput: raw ?? JSON.stringify(input) };
    return runToolCall(call, toolbox, host);
  });
  // All come to their end before the node does, or its siblings would write into a span that is closed.
  const settled = await Promise.allSettled(going);
  return settled.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  });
}
