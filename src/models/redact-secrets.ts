/**
 * Removes secrets from texts that users and models may see. Providers repeat a key they reject, and a proxy may repeat
 * whole headers. Secrets passed to `resolveModel` are known; others are recognized by their format.
 */
import type { LanguageModel } from "./model.ts";
import { shorten } from "../protocol/cut-text.ts";

/** Secrets by model; garbage-collected with the model. */
const secretsOf = new WeakMap<LanguageModel, readonly string[]>();

/** Shorter values are not secrets, and replacing them would garble texts. */
const MIN_SECRET = 6;
const MAX_MESSAGE = 500;
/** Longer texts are cut here: what was not scanned must not be shown. */
const MAX_SCANNED = 16_000;

const SECRET_PATTERNS: readonly RegExp[] = [
  /\b(?:sk|pk|rk|gsk|xai)[-_][A-Za-z0-9_*.-]{6,}/g,
  /\b(?:AIza|eyJ)[A-Za-z0-9_.-]{16,}/g,
  // User info and query values in URLs.
  /(?<=:\/\/)[^\s/@"']+(?=@)/g,
  /(?<=[?&][\w.-]{1,64}=)[^\s&#"']{4,}/g,
  /(?<=\b(?:bearer|basic)\s{1,8})[^\s"',;]{4,}/gi,
  /(?<=\b(?:api[-_ ]?key(?: provided)?|authorization|token|secret|password)["']?\s{0,8}[:=]\s{0,8}["']?)(?!bearer\b|basic\b)[^\s"',;&]{4,}/gi,
];

export function registerSecrets(model: LanguageModel, secrets: readonly (string | undefined)[]): void {
  const kept = secrets.filter((secret) => secret !== undefined && secret.length >= MIN_SECRET);
  if (kept.length > 0) secretsOf.set(model, kept as string[]);
}

/** Returns the text on one line, without secrets and stack trace, cut to 500 characters. */
export function redactSecrets(text: string, model?: LanguageModel): string {
  const [message = ""] = removeSecrets(text, model).split(/\n[ \t]*at /, 1);
  const line = message.replaceAll(/\s+/g, " ").trim();
  return shorten(line, MAX_MESSAGE);
}

/**
 * Returns an error with the name, message and stack of the original but without secrets, and without the request and
 * headers that provider errors contain. For error causes.
 */
export function redactError(error: unknown, model?: LanguageModel): Error {
  try {
    return copyError(error, model);
  } catch {
    // Reading the fields threw.
    return new Error("Unknown error");
  }
}

function copyError(error: unknown, model: LanguageModel | undefined): Error {
  const { name, stack } = error instanceof Error ? error : { name: "Error", stack: undefined };
  const plain = new Error(redactSecrets(describeThrown(error), model));
  plain.name = name;
  if (typeof stack !== "string") delete plain.stack;
  else plain.stack = removeSecrets(stack, model);
  return plain;
}

/** Returns the message of a thrown value, which may not be an Error. */
export function describeThrown(thrown: unknown): string {
  if (typeof thrown === "string") return thrown;
  if (typeof thrown === "object" && thrown !== null) {
    const { message } = thrown as { readonly message?: unknown };
    if (typeof message === "string") return message;
  }
  return "unknown error";
}

function removeSecrets(text: string, model: LanguageModel | undefined): string {
  let safe = text;
  for (const secret of (model && secretsOf.get(model)) ?? []) safe = safe.replaceAll(secret, "[key]");
  if (safe.length > MAX_SCANNED) {
    const start = safe.slice(0, MAX_SCANNED);
    // The last word may be a part of a secret.
    safe = `${start.slice(0, Math.max(start.lastIndexOf(" "), start.lastIndexOf("\n")) + 1)}…`;
  }
  for (const pattern of SECRET_PATTERNS) safe = safe.replaceAll(pattern, "[key]");
  return safe;
}
