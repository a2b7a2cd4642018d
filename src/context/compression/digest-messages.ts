/**
 * Tells by a short text which messages a summary stands for. The same message has the same digest whether it comes from a
 * run that is going on or is read back from the log: reasoning, and what providers want back unread, are no part of it.
 */
import { createHash } from "node:crypto";
import type { ModelMessage } from "../../models/model.ts";
import { readOutput } from "./prompt-tokens.ts";

/** Messages before the cut that a digest is made of. The oldest may no longer be there: a history has its limits, too. */
export const LOOK_BACK = 8;

const digests = new WeakMap<ModelMessage, string>();

/** Of the messages before a cut. */
export function digestMessages(messages: readonly ModelMessage[]): string {
  const parts = messages.slice(-LOOK_BACK).map(digestMessage);
  return hash(`${messages.length < LOOK_BACK ? "all" : "last"} ${parts.join(" ")}`);
}

/** False for what the log does not give back: reasoning alone. */
export function isSolid(message: ModelMessage): boolean {
  if (message.role !== "assistant") return true;
  return message.content.some((part) => part.type === "tool-call" || (part.type === "text" && part.text.trim() !== ""));
}

function digestMessage(message: ModelMessage): string {
  let digest = digests.get(message);
  if (digest === undefined) digests.set(message, (digest = hash(JSON.stringify(normalise(message)))));
  return digest;
}

function normalise(message: ModelMessage): unknown {
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
