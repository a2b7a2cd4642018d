/**
 * Classifies provider failures: which error code, whether to retry, and when. Reads the errors of AI SDK packages by
 * their fields, so that none of the packages has to be installed.
 */
import { isLoomError, LoomError } from "../protocol/index.ts";
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
  const broken = place !== "request" && (lost || isBrokenStream(thrown, place));
  const name = thrown instanceof Error ? thrown.name : "";
  const said = UNREADABLE.has(name) ? "malformed response" : redactSecrets(describeThrown(thrown), model);
  const code = broken ? "model_stream_cut" : name === "AI_LoadAPIKeyError" ? "missing_key" : "model_failed";
  const error = new LoomError(
    code,
    describeFault(broken, status, said, model),
    {
      provider: model.provider,
      model: model.modelId,
      ...(status === undefined ? {} : { status }),
      ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
    },
    { cause: redactError(thrown, model) },
  );
  const mayRetry =
    typeof fields.isRetryable === "boolean"
      ? fields.isRetryable
      : lost || broken || (status === undefined ? place === "part" && TRANSIENT.test(said) : isRetried(status));
  return { error, mayRetry, retryAfterMs };
}

/** Describes a stream that broke off without an exception. */
export function createStreamCut(model: LanguageModel, how: string, cause?: unknown): ModelFault {
  const details = { provider: model.provider, model: model.modelId };
  const error = new LoomError("model_stream_cut", `The stream of ${formatModel(model)} broke off: ${how}`, details, {
    cause: cause === undefined ? undefined : redactError(cause, model),
  });
  return { error, mayRetry: true, retryAfterMs: undefined };
}

export function formatModel(model: LanguageModel): string {
  return `${model.provider}/${model.modelId}`;
}

function describeFault(broken: boolean, status: number | undefined, said: string, model: LanguageModel): string {
  const what = broken
    ? `The stream of ${formatModel(model)} broke off`
    : `${formatModel(model)} ${status === undefined ? "failed" : `responded with status ${status}`}`;
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
