/**
 * Lists the models that a provider reports. OpenAI, Anthropic, Ollama and most OpenAI-compatible servers have the
 * endpoint `GET /models`. Keys are never part of an error.
 */
import { type ErrorCode, LoomError } from "../protocol/index.ts";
import { isJsonObject } from "../protocol/json.ts";
import { describeStatus } from "./model-fault.ts";
import { formatModelName, type ResolveOptions, resolveProvider } from "./resolve-model.ts";
import type { ModelName } from "./model.ts";
import { describeThrown } from "./redact-secrets.ts";

/** Options of `listModels`. */
export interface ListModelsOptions extends ResolveOptions {
  /** Milliseconds until the provider must have answered. Default: 5,000. */
  readonly timeoutMs?: number;
  /** Cancels the request. */
  readonly signal?: AbortSignal;
}

const TIMEOUT_MS = 5000;
const MAX_MODELS = 1000;

/** OpenAI lists models for images, speech, search and embeddings with the others. */
const OTHER_PURPOSE =
  /embed|whisper|tts|dall-e|image|audio|realtime|moderation|transcribe|sora|davinci|babbage|instruct|search|computer-use|rerank/i;

/**
 * Returns the models of a provider by their full names, such as `openai/gpt-5`, as the provider orders them. The list
 * is empty for a provider without such an endpoint.
 *
 * ```ts
 * console.log(await listModels("ollama"));
 * ```
 *
 * Throws `unknown_model` for an unknown provider, `missing_key` if the provider needs a key and none is set, and
 * `model_failed` if it cannot be reached, and `model_unauthorized` if it refuses the key.
 */
export async function listModels(
  provider: string | ModelName,
  { env, timeoutMs = TIMEOUT_MS, signal }: ListModelsOptions = {},
): Promise<readonly string[]> {
  const choice = typeof provider === "string" ? { provider } : provider;
  const { name, entry, apiKey, baseURL, headers } = resolveProvider(choice, env === undefined ? {} : { env });
  if (entry.isOffline === true) return [formatModelName({ provider: name })];
  const timeout = AbortSignal.timeout(timeoutMs);
  const authorization =
    apiKey === undefined ? {} : name === "anthropic" ? { "x-api-key": apiKey } : { authorization: `Bearer ${apiKey}` };
  const version = name === "anthropic" ? { "anthropic-version": "2023-06-01" } : {};
  const path = name === "anthropic" && URL.parse(baseURL ?? "")?.pathname === "/" ? "/v1/models" : "/models";
  const fail = (why: string, code: ErrorCode = "model_failed"): LoomError =>
    new LoomError(code, `The models of ${name} could not be listed: ${why}`, { provider: name });
  let response: Response;
  let body: unknown;
  try {
    response = await fetch(`${baseURL?.replace(/\/$/, "")}${path}?limit=${MAX_MODELS}`, {
      headers: { ...headers, ...authorization, ...version },
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    body = response.ok ? await response.json() : await response.body?.cancel();
  } catch (error) {
    signal?.throwIfAborted();
    throw fail(timeout.aborted ? `no answer within ${timeoutMs} ms` : describeReason(error));
  }
  if (response.status === 404 || response.status === 405) return [];
  if (!response.ok) throw fail(`status ${response.status}`, describeStatus(response.status).code);
  const data = isJsonObject(body) ? body["data"] : undefined;
  const ids = (Array.isArray(data) ? data : []).flatMap((model) =>
    isJsonObject(model) && typeof model["id"] === "string" && model["id"] !== "" ? [model["id"]] : [],
  );
  const kept = name === "openai" ? ids.filter((id) => !OTHER_PURPOSE.test(id)) : ids;
  return [...new Set(kept)].slice(0, MAX_MODELS).map((model) => formatModelName({ provider: name, model }));
}

/** Errors of fetch only say "fetch failed"; the cause has the reason. */
function describeReason(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return describeThrown(cause) || "the server cannot be reached";
}
