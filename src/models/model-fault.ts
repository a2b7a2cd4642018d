/**
 * Classifies provider failures: which error code, whether to retry, and when. Reads the errors of AI SDK packages by
 * their fields, so that none of the packages has to be installed. Also remembers which features a provider refused.
 */
import { dropUndefined } from "../protocol/drop-undefined.ts";
import { type ErrorCode, isLoomError, LoomError } from "../protocol/index.ts";
import type { LanguageModel } from "./model.ts";
import { describeThrown, redactError, redactSecrets } from "./redact-secrets.ts";

export interface ModelFault {
  readonly error: LoomError;
  /** Whether to retry, provided the listener has received nothing. */
  readonly mayRetry: boolean;
  /** How long the provider asked to wait. */
  readonly retryAfterMs: number | undefined;
}

/** Where it failed: before the stream opened, while it was read, or in an error part of the stream. */
export type FaultPhase = "request" | "stream" | "part";

const RETRIED_STATUS: ReadonlySet<number> = new Set([408, 409, 429]);

/** Codes of a call that the provider refused or that failed there. Another model may answer it. */
export const PROVIDER_FAILURES = [
  "model_failed",
  "model_unauthorized",
  "model_not_found",
  "model_rate_limited",
  "model_unavailable",
  "model_timeout",
  "model_stream_cut",
] as const satisfies readonly ErrorCode[];

/** Returns the error code of a status that a provider responded with, and what the status means. */
export function describeStatus(status: number): { readonly code: ErrorCode; readonly meaning: string } {
  if (status === 401) return { code: "model_unauthorized", meaning: "rejected the API key of the model provider" };
  if (status === 404)
    return { code: "model_not_found", meaning: "was not found; check the model name and the base URL" };
  if (status === 429) return { code: "model_rate_limited", meaning: "has reached its rate limit or quota" };
  if (status >= 500) return { code: "model_unavailable", meaning: "is not available at the moment" };
  return { code: "model_failed", meaning: "refused the request" };
}

/** Some packages report an error of the stream with nothing but its message. */
const TRANSIENT = /overloaded|server error|rate limit|try again|temporar|unavailable|timed? ?out/i;

const isRetried = (status: number): boolean => RETRIED_STATUS.has(status) || status >= 500;

/** Error codes of Node sockets and fetch for a refused or lost connection. */
const NETWORK_CODES: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EAI_AGAIN",
  "ENETUNREACH",
  "EHOSTUNREACH",
  "UND_ERR_SOCKET",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
]);

/** AI SDK errors for responses that cannot be parsed. Those in `UNREADABLE` contain the whole response. */
const UNREADABLE: ReadonlySet<string> = new Set(["AI_JSONParseError", "AI_TypeValidationError"]);
const MALFORMED: ReadonlySet<string> = new Set([...UNREADABLE, "AI_InvalidResponseDataError"]);

export function classifyFault(thrown: unknown, place: FaultPhase, model: LanguageModel): ModelFault {
  if (isLoomError(thrown)) return { error: thrown, mayRetry: false, retryAfterMs: undefined };
  try {
    return readFault(thrown, place, model);
  } catch {
    // Reading the fields threw.
    return readFault(undefined, place, model);
  }
}

function readFault(thrown: unknown, place: FaultPhase, model: LanguageModel): ModelFault {
  const fields = readFields(thrown);
  const status = typeof fields.statusCode === "number" ? fields.statusCode : undefined;
  const retryAfterMs = readRetryAfter(fields.responseHeaders);
  const lost = isNetworkError(thrown);
  // The packages report a response that breaks after its headers as a failure with the status 200.
  const isAccepted = status !== undefined && status < 300;
  const broken = isAccepted || (place !== "request" && (lost || isBrokenStream(thrown, place)));
  const name = thrown instanceof Error ? thrown.name : "";
  const said = UNREADABLE.has(name)
    ? "malformed response"
    : broken && lost
      ? "the connection was closed before the answer was complete"
      : redactSecrets(describeThrown((isAccepted && fields.cause) || thrown), model);
  const refused = status === undefined ? "model_failed" : describeStatus(status).code;
  const code = broken ? "model_stream_cut" : name === "AI_LoadAPIKeyError" ? "missing_key" : refused;
  const error = new LoomError(
    code,
    describeFault(broken, status, said, model),
    dropUndefined({ ...describeModel(model), status, retry_after_ms: retryAfterMs }),
    { cause: redactError(thrown, model) },
  );
  const mayRetry =
    !broken && typeof fields.isRetryable === "boolean"
      ? fields.isRetryable
      : lost || broken || (status === undefined ? place === "part" && TRANSIENT.test(said) : isRetried(status));
  return { error, mayRetry, retryAfterMs };
}

/** Describes a stream that broke off without an exception. */
export function createStreamCut(model: LanguageModel, how: string, cause?: unknown): ModelFault {
  const message = `The provider cut the stream of ${formatModel(model)}: ${how}`;
  const options = { cause: cause === undefined ? undefined : redactError(cause, model) };
  const error = new LoomError("model_stream_cut", message, describeModel(model), options);
  return { error, mayRetry: true, retryAfterMs: undefined };
}

/** The model in the details of an error. */
export function describeModel({ provider, modelId }: LanguageModel): {
  readonly provider: string;
  readonly model: string;
} {
  return { provider, model: modelId };
}

export function formatModel(model: LanguageModel): string {
  return `${model.provider}/${model.modelId}`;
}

function describeFault(broken: boolean, status: number | undefined, said: string, model: LanguageModel): string {
  const what = broken
    ? `The provider cut the stream of ${formatModel(model)}`
    : `${formatModel(model)} ${status === undefined ? "failed" : `${describeStatus(status).meaning} (status ${status})`}`;
  return said === "" ? `${what}.` : `${what}: ${said}`;
}

/** An exception while reading means that the stream broke; an error part does only if it is about parsing. */
function isBrokenStream(thrown: unknown, place: FaultPhase): boolean {
  const name = thrown instanceof Error ? thrown.name : "";
  return place === "stream" ? name !== "AI_APICallError" : MALFORMED.has(name);
}

/** True for the error of a connection that was refused or lost. */
export function isNetworkError(thrown: unknown): boolean {
  // Errors of fetch have the network error two causes deep. The depth limit also ends cyclic causes.
  for (let error = thrown, depth = 0; error instanceof Error && depth < 5; error = error.cause, depth++) {
    const { code } = error as { readonly code?: unknown };
    if (typeof code === "string" && NETWORK_CODES.has(code)) return true;
  }
  return false;
}

interface ErrorFields {
  readonly statusCode?: unknown;
  readonly cause?: unknown;
  readonly isRetryable?: unknown;
  readonly responseHeaders?: unknown;
}

function readFields(thrown: unknown): ErrorFields {
  return typeof thrown === "object" && thrown !== null ? thrown : {};
}

/** Reads `retry-after-ms`, or `retry-after` in seconds or as a date. Returns milliseconds. */
export function readRetryAfter(headers: unknown, now: number = Date.now()): number | undefined {
  if (typeof headers !== "object" || headers === null) return undefined;
  const byName = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value).trim()]));
  const exact = readNumber(byName.get("retry-after-ms"));
  if (exact !== undefined) return exact;
  const text = byName.get("retry-after");
  const seconds = readNumber(text);
  if (seconds !== undefined) return seconds * 1000;
  // JavaScript parses "-4" as a date, too.
  const date = text !== undefined && /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function readNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}

/** When refusals expire, by feature; garbage-collected with the model. */
const expiries = new WeakMap<LanguageModel, Map<string, number>>();

export const STRUCTURED_OUTPUT = "structured output";

/** True while requests leave a feature out because the provider refused it, such as a reasoning level. */
export function isRefused(model: LanguageModel, feature: string): boolean {
  return (expiries.get(model)?.get(feature) ?? 0) > performance.now();
}

/** Remembers a refusal until it expires; then the provider is asked again. */
export function recordRefusal(model: LanguageModel, feature: string, refusalMs: number): void {
  const ofModel = expiries.get(model) ?? new Map<string, number>();
  expiries.set(model, ofModel.set(feature, performance.now() + refusalMs));
}

/** False if the provider of the model has recently rejected a format. */
export function hasStructuredOutput(model: LanguageModel): boolean {
  return !isRefused(model, STRUCTURED_OUTPUT);
}
