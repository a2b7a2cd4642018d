/**
 * What a failure of a provider means: which error of ours it is, whether it may be tried again, and when. Reads the
 * errors of the AI SDK's packages by their fields, so that none of them has to be installed. It calls nothing.
 */
import { isLoomError, LoomError } from "../protocol/index.ts";
import type { LanguageModel } from "./model.ts";
import { describeThrown, redactError, redactSecrets } from "./redact-secrets.ts";

export interface ModelFault {
  readonly error: LoomError;
  /** As long as nothing was told. */
  readonly mayRetry: boolean;
  /** How long the provider asked to wait. */
  readonly retryAfterMs: number | undefined;
}

/** Where it happened: before there was a stream, while it was read, or as a part of it. */
export type FaultPlace = "request" | "stream" | "part";

const RETRIED_STATUS: ReadonlySet<number> = new Set([408, 409, 429]);

/** Of Node's sockets and fetch; a connection that was refused or lost. */
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

/** Names the AI SDK gives to what it could not read; the first two put all of it into their message. */
const UNREADABLE: ReadonlySet<string> = new Set(["AI_JSONParseError", "AI_TypeValidationError"]);
const MALFORMED: ReadonlySet<string> = new Set([...UNREADABLE, "AI_InvalidResponseDataError"]);

export function judgeFault(thrown: unknown, place: FaultPlace, model: LanguageModel): ModelFault {
  if (isLoomError(thrown)) return { error: thrown, mayRetry: false, retryAfterMs: undefined };
  try {
    return readFault(thrown, place, model);
  } catch {
    // Its fields throw when they are read.
    return readFault(undefined, place, model);
  }
}

function readFault(thrown: unknown, place: FaultPlace, model: LanguageModel): ModelFault {
  const fields = readFields(thrown);
  const status = typeof fields.statusCode === "number" ? fields.statusCode : undefined;
  const retryAfterMs = readRetryAfter(fields.responseHeaders);
  const lost = findNetworkCode(thrown) !== undefined;
  const broken = place !== "request" && (lost || isBrokenStream(thrown, place));
  const name = thrown instanceof Error ? thrown.name : "";
  const said = UNREADABLE.has(name) ? "a part of it could not be read" : redactSecrets(describeThrown(thrown), model);
  const code = broken ? "model_stream_cut" : name === "AI_LoadAPIKeyError" ? "missing_key" : "model_failed";
  const error = new LoomError(
    code,
    sayWhat(broken, status, said, model),
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
      : lost || broken || (status !== undefined && (RETRIED_STATUS.has(status) || status >= 500));
  return { error, mayRetry, retryAfterMs };
}

/** An answer that broke off without anybody having thrown. */
export function createCut(model: LanguageModel, how: string, cause?: unknown): ModelFault {
  const details = { provider: model.provider, model: model.modelId };
  const error = new LoomError("model_stream_cut", `The answer of ${nameOf(model)} broke off: ${how}.`, details, {
    cause: cause === undefined ? undefined : redactError(cause, model),
  });
  return { error, mayRetry: true, retryAfterMs: undefined };
}

export function nameOf(model: LanguageModel): string {
  return `${model.provider}/${model.modelId}`;
}

function sayWhat(broken: boolean, status: number | undefined, said: string, model: LanguageModel): string {
  const what = broken
    ? `The answer of ${nameOf(model)} broke off`
    : `${nameOf(model)} ${status === undefined ? "failed" : `answered with status ${status}`}`;
  return said === "" ? `${what}.` : `${what}: ${said}`;
}

/** A stream that ends in an exception was cut; one with an error in it only when that error is about reading it. */
function isBrokenStream(thrown: unknown, place: FaultPlace): boolean {
  const name = thrown instanceof Error ? thrown.name : "";
  return place === "stream" ? name !== "AI_APICallError" : MALFORMED.has(name);
}

function findNetworkCode(thrown: unknown): string | undefined {
  // Errors of fetch hide the one that matters two causes deep; a ring of causes ends the search as well.
  for (let error = thrown, depth = 0; error instanceof Error && depth < 5; error = error.cause, depth++) {
    const { code } = error as { readonly code?: unknown };
    if (typeof code === "string" && NETWORK_CODES.has(code)) return code;
  }
  return undefined;
}

interface ErrorFields {
  readonly statusCode?: unknown;
  readonly isRetryable?: unknown;
  readonly responseHeaders?: unknown;
}

function readFields(thrown: unknown): ErrorFields {
  return typeof thrown === "object" && thrown !== null ? thrown : {};
}

/** `retry-after-ms`, or `retry-after` as seconds or as a date. */
export function readRetryAfter(headers: unknown, now: number = Date.now()): number | undefined {
  if (typeof headers !== "object" || headers === null) return undefined;
  const byName = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value).trim()]));
  const exact = readNumber(byName.get("retry-after-ms"));
  if (exact !== undefined) return exact;
  const text = byName.get("retry-after");
  const seconds = readNumber(text);
  if (seconds !== undefined) return seconds * 1000;
  // "-4" is a date to JavaScript, too.
  const date = text !== undefined && /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function readNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}
