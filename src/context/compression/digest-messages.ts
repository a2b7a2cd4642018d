/**
 * Computes a digest that identifies the messages a summary covers. A message has the same digest during its run and
 * when read back from the log: reasoning and opaque provider data are not part of it.
 */
import { createHash } from "node:crypto";
import type { ModelMessage } from "../../models/model.ts";
import { readOutput } from "./prompt-tokens.ts";

/**
 * Number of messages before a cut that form the digest. Older ones may be missing, because the history is limited too.
 */
export const LOOK_BACK = 8;

const digests = new WeakMap<ModelMessage, string>();

/** Digest of the messages before a cut. */
export function digestMessages(messages: readonly ModelMessage[]): string {
  const parts = messages.slice(-LOOK_BACK).map(digestMessage);
  return hash(`${messages.length < LOOK_BACK ? "all" : "last"} ${parts.join(" ")}`);
}

/** False for messages that the log does not restore: those with reasoning only. */
export function isRestorable(message: ModelMessage): boolean {
  if (message.role !== "assistant") return true;
  return message.content.some((part) => part.type === "tool-call" || (part.type === "text" && part.text.trim() !== ""));
}

function digestMessage(message: ModelMessage): string {
  let digest = digests.get(message);
  if (digest === undefined) digests.set(message, (digest = hash(JSON.stringify(normalize(message)))));
  return digest;
}

function normalize(message: ModelMessage): unknown {
  const { role } = message;
  if (role === "system") return [role, message.content];
  const texts: string[] = [];
  const rest: unknown[] = [];
  for (const part of message.content) {
    if (part.type === "text") texts.push(part.text);
    else if (part.type === "attachment") rest.push([part.blobId]);
    else if (part.type === "tool-call") rest.push([part.toolCallId, part.toolName, part.input]);
    else if (part.type === "tool-result") rest.push([part.toolCallId, readOutput(part)]);
  }
  return [role, texts.join("").trim(), rest];
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 24);
}
