/**
 * Takes keys out of texts that people and models may see. Providers repeat a key they refuse; a proxy may repeat a whole
 * header. Keys that `resolveModel` was given are known by heart, others by how they look.
 */
import type { LanguageModel } from "./model.ts";

/** What the models were given to authenticate with; forgotten together with the model. */
const secretsOf = new WeakMap<LanguageModel, readonly string[]>();

/** Shorter ones are no secrets, and taking them out would garble every text. */
const SHORTEST_SECRET = 6;
const LONGEST_MESSAGE = 500;
/** What follows is not looked at, and not shown. */
const LONGEST_READ = 16_000;

const LOOKS_SECRET: readonly RegExp[] = [
  /\b(?:sk|pk|rk|gsk|xai)[-_][A-Za-z0-9_*.-]{6,}/g,
  /\b(?:AIza|eyJ)[A-Za-z0-9_.-]{16,}/g,
  // In addresses: who asks, and what is asked with.
  /(?<=:\/\/)[^\s/@"']+(?=@)/g,
  /(?<=[?&][\w.-]{1,64}=)[^\s&#"']{4,}/g,
  /(?<=\b(?:bearer|basic)\s{1,8})[^\s"',;]{4,}/gi,
  /(?<=\b(?:api[-_ ]?key(?: provided)?|authorization|token|secret|password)["']?\s{0,8}[:=]\s{0,8}["']?)(?!bearer\b|basic\b)[^\s"',;&]{4,}/gi,
];

export function rememberSecrets(model: LanguageModel, secrets: readonly (string | undefined)[]): void {
  const kept = secrets.filter((secret) => secret !== undefined && secret.length >= SHORTEST_SECRET);
  if (kept.length > 0) secretsOf.set(model, kept as string[]);
}

/** The text in one line, without keys and without a stack, and not too long. */
export function redactSecrets(text: string, model?: LanguageModel): string {
  const [message = ""] = removeSecrets(text, model).split(/\n[ \t]*at /, 1);
  const line = message.replaceAll(/\s+/g, " ").trim();
  return line.length <= LONGEST_MESSAGE ? line : `${line.slice(0, LONGEST_MESSAGE)}…`;
}

/**
 * An error for whoever looks for the cause: name, message and stack of the original without keys, and without the
 * request and the headers that errors of providers carry along.
 */
export function redactError(error: unknown, model?: LanguageModel): Error {
  try {
    return copyError(error, model);
  } catch {
    // Its fields throw when they are read.
    return new Error("unknown error");
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

/** What somebody threw that was no error. */
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
  if (safe.length > LONGEST_READ) {
    const start = safe.slice(0, LONGEST_READ);
    // The word that the cut goes through may be half a key.
    safe = `${start.slice(0, Math.max(start.lastIndexOf(" "), start.lastIndexOf("\n")) + 1)}…`;
  }
  for (const pattern of LOOKS_SECRET) safe = safe.replaceAll(pattern, "[key]");
  return safe;
}
