/**
 * Attribute names of the OpenTelemetry conventions for generative AI (repository `semantic-conventions-genai`, status
 * Development, autumn 2026) and of Loom.
 */
import type { Json } from "../../protocol/index.ts";

export const GEN_AI = {
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  agent: "gen_ai.agent.name",
  conversation: "gen_ai.conversation.id",
  isCompacted: "gen_ai.conversation.compacted",
  requestModel: "gen_ai.request.model",
  responseModel: "gen_ai.response.model",
  stream: "gen_ai.request.stream",
  firstChunk: "gen_ai.response.time_to_first_chunk",
  finishReasons: "gen_ai.response.finish_reasons",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",
  toolName: "gen_ai.tool.name",
  toolType: "gen_ai.tool.type",
  callId: "gen_ai.tool.call.id",
  callArguments: "gen_ai.tool.call.arguments",
  callResult: "gen_ai.tool.call.result",
  query: "gen_ai.retrieval.query.text",
  documents: "gen_ai.retrieval.documents",
  errorType: "error.type",
} as const;

export const LOOM = {
  runId: "loom.run.id",
  requestId: "loom.request.id",
  source: "loom.run.source",
  /** completed, error, cancelled; `left` if this process no longer writes the run. */
  status: "loom.run.status",
  isResumed: "loom.run.resumed",
  nodeId: "loom.node.id",
  attempts: "loom.llm.attempts",
  /** `summary` for calls that write a summary. */
  purpose: "loom.llm.purpose",
  isCancelled: "loom.cancelled",
  /** The end of the span was not seen. */
  isIncomplete: "loom.incomplete",
  approvalWait: "loom.approval.wait_ms",
  approvalDecision: "loom.approval.decision",
  openApprovals: "loom.approval.open",
  droppedSpans: "loom.dropped.spans",
  droppedEvents: "loom.dropped.events",
} as const;

/** For failures without an error code. */
export const OTHER_ERROR = "_OTHER";

/** Provider names of the AI SDK that differ from the conventions. */
const PROVIDER_NAMES: ReadonlyMap<string, string> = new Map([
  ["amazon-bedrock", "aws.bedrock"],
  ["bedrock", "aws.bedrock"],
  ["azure", "azure.ai.openai"],
  ["azure-openai", "azure.ai.openai"],
  ["google", "gcp.gemini"],
  ["google.vertex", "gcp.vertex_ai"],
  ["vertex", "gcp.vertex_ai"],
  ["mistral", "mistral_ai"],
  ["moonshotai", "moonshot_ai"],
  ["watsonx", "ibm.watsonx.ai"],
  ["xai", "x_ai"],
]);

/** Splits a model such as `openai.responses/gpt-5` into the provider `openai` and the name `gpt-5`. */
export function readModelName(model: string): { readonly provider: string | undefined; readonly name: string } {
  const slash = model.indexOf("/");
  if (slash <= 0) return { provider: undefined, name: model };
  const full = model.slice(0, slash);
  const [first = "", second = ""] = full.split(".");
  const provider = PROVIDER_NAMES.get(`${first}.${second}`) ?? PROVIDER_NAMES.get(first) ?? first;
  return { provider, name: model.slice(slash + 1) };
}

/** Formats a message according to the conventions. */
export function formatMessage(role: "user" | "assistant", parts: readonly Json[], finishReason?: string): string {
  return JSON.stringify([{ role, parts, ...(finishReason === undefined ? {} : { finish_reason: finishReason }) }]);
}

/**
 * Reads the caller's span from the W3C `traceparent` in the run context. This connects a run to the caller's trace even
 * if another process continues it.
 */
export function readTraceParent(context: unknown): { traceId: string; spanId: string; traceFlags: number } | undefined {
  if (typeof context !== "object" || context === null) return undefined;
  const { traceparent } = context as { readonly traceparent?: unknown };
  if (typeof traceparent !== "string") return undefined;
  const [, traceId = "", spanId = "", flags = ""] =
    /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/.exec(traceparent) ?? [];
  if (traceId === "" || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 };
}

/** Converts milliseconds since 1970 to seconds and nanoseconds. Some SDK versions misinterpret a plain number. */
export function toHrTime(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.min(999_999_999, Math.round((ms - seconds * 1000) * 1e6))];
}
