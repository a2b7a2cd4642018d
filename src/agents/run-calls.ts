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
import { withinRules } from "./inherited-rules.ts";

export interface RunCallsOptions extends Pick<NodeContext, "signal" | "ready" | "endedCalls"> {
  readonly span: Part["span"];
  /** The model's text of arguments that are no JSON object, by call. */
  readonly malformed?: { readonly [callId: string]: string };
  readonly watch?: CallWatch;
}

/** For one who has something to give away while calls wait for the user. */
export interface CallWatch {
  /** Around each question. */
  wait<T>(asking: () => Promise<T>): Promise<T>;
  /** Told at the end of each call. */
  end(): void;
}

export async function runCalls(
  { run, sessionId, toolbox, onError, saveBlob }: AgentContext,
  calls: readonly ToolCallPart[],
  { span, signal, ready, endedCalls, malformed = {}, watch }: RunCallsOptions,
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
    requestApproval: (request) => {
      const ask = () => run.requestApproval(request, { nodeId });
      return watch === undefined ? ask() : watch.wait(ask);
    },
    ...(onError === undefined ? {} : { onError }),
    ...(saveBlob === undefined ? {} : { saveBlob }),
  };
  const perform = async ({ toolCallId: callId, toolName: name, input }: ToolCallPart): Promise<ToolOutcome> => {
    const ended = endedCalls.get(callId);
    if (ended !== undefined) {
      const { result, is_error: isError, output } = ended;
      return { callId, name, result, isError, ...(output === undefined ? {} : { output }) };
    }
    const raw = Object.hasOwn(malformed, callId) ? malformed[callId] : undefined;
    const call = { callId, name, input: raw === undefined ? input : undefined, rawInput: raw ?? JSON.stringify(input) };
    return withinRules(run.toolRules, () => runToolCall(call, toolbox, host));
  };
  const going = calls.map((call) => perform(call).finally(() => watch?.end()));
  // All come to their end before the node does, or its siblings would write into a span that is closed.
  const settled = await Promise.allSettled(going);
  return settled.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  });
}
