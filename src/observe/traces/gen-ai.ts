/**
 * The words of the OpenTelemetry conventions for generative AI, as far as they are used here, and ours beside them. They
 * are those of the repository `semantic-conventions-genai`, status Development, in the autumn of 2026. It knows no span.
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
  /** completed, error, cancelled; `left` when this process writes it no more. */
  status: "loom.run.status",
  isResumed: "loom.run.resumed",
  nodeId: "loom.node.id",
  attempts: "loom.llm.attempts",
  /** `summary`, where the call is not the run's own. */
  purpose: "loom.llm.purpose",
  isCancelled: "loom.cancelled",
  /** Its end was not seen. */
  isIncomplete: "loom.incomplete",
  approvalWait: "loom.approval.wait_ms",
  approvalDecision: "loom.approval.decision",
  openApprovals: "loom.approval.open",
  droppedSpans: "loom.dropped.spans",
  droppedEvents: "loom.dropped.events",
} as const;

/** For failures that nobody gave a code. */
export const OTHER_ERROR = "_OTHER";

/** Names that providers have in the AI SDK, and in the conventions where these differ. */
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

/** `openai.responses/gpt-5` is the model gpt-5 of openai. */
export function readModelName(model: string): { readonly provider: string | undefined; readonly name: string } {
  const slash = model.indexOf("/");
  if (slash <= 0) return { provider: undefined, name: model };
  const full = model.slice(0, slash);
  const [first = "", second = ""] = full.split(".");
  const provider = PROVIDER_NAMES.get(`${first}.${second}`) ?? PROVIDER_NAMES.get(first) ?? first;
  return { provider, name: model.slice(slash + 1) };
}

/** A message in the form of the conventions. */
export function formMessage(role: "user" | "assistant", parts: readonly Json[], finishReason?: string): string {
  return JSON.stringify([{ role, parts, ...(finishReason === undefined ? {} : { finish_reason: finishReason }) }]);
}

export function formTextPart(type: "text" | "reasoning", content: string): Json {
  return { type, content };
}

/**
 * The caller's place in a trace, where the run's context has it as W3C `traceparent`: so a run belongs to its trace even
 * where another process goes on with it.
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

/** Milliseconds since 1970 as seconds and nanoseconds: a bare number is taken for something else by some versions. */
export function toHrTime(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.min(999_999_999, Math.round((ms - seconds * 1000) * 1e6))];
}
