/**
 * Checks messages that a user wrote into the state of an agent. A list that passes can be sent to a model.
 */
import type { Json } from "../protocol/index.ts";
import { isJsonObject } from "../protocol/json.ts";

/** Where a value is wrong, such as `[0].content`, and what it must be. */
interface MessageFault {
  readonly path: string;
  readonly expected: string;
}

/** Part types by role, with the fields that must be texts. */
const PARTS: { readonly [role: string]: { readonly [type: string]: readonly string[] } | undefined } = {
  user: { text: ["text"], attachment: ["blobId", "mediaType"] },
  assistant: { text: ["text"], reasoning: ["text"], "tool-call": ["toolCallId", "toolName"] },
  tool: { "tool-result": ["toolCallId", "toolName"] },
};

/** Returns the first fault of a list of messages of an agent's state, which has no system messages. */
export function findMessageFault(messages: Json): MessageFault | undefined {
  if (!Array.isArray(messages)) return { path: "", expected: "a list of messages" };
  for (const [index, message] of (messages as readonly Json[]).entries()) {
    const fault = findFault(message);
    if (fault !== undefined) return { ...fault, path: `[${index}]${fault.path}` };
  }
  return undefined;
}

function findFault(message: Json): MessageFault | undefined {
  if (!isJsonObject(message)) return { path: "", expected: "a message" };
  const { role, content } = message;
  const types = typeof role === "string" && Object.hasOwn(PARTS, role) ? PARTS[role] : undefined;
  if (types === undefined) return { path: ".role", expected: "`user`, `assistant` or `tool`" };
  if (!Array.isArray(content) || content.length === 0) return { path: ".content", expected: "a list of parts" };
  for (const [index, part] of (content as readonly Json[]).entries()) {
    const fault = findPartFault(part, types);
    if (fault !== undefined) return { ...fault, path: `.content[${index}]${fault.path}` };
  }
  return undefined;
}

function findPartFault(part: Json, types: { readonly [type: string]: readonly string[] }): MessageFault | undefined {
  if (!isJsonObject(part)) return { path: "", expected: "an object with a `type`" };
  const { type } = part;
  const texts = typeof type === "string" && Object.hasOwn(types, type) ? types[type] : undefined;
  if (texts === undefined)
    return {
      path: ".type",
      expected: Object.keys(types)
        .map((name) => `\`${name}\``)
        .join(" or "),
    };
  for (const field of texts) if (typeof part[field] !== "string") return { path: `.${field}`, expected: "a text" };
  if (type === "attachment" && typeof part["bytes"] !== "number") return { path: ".bytes", expected: "a number" };
  if (type === "tool-call" && !isJsonObject(part["input"])) return { path: ".input", expected: "an object" };
  return type === "tool-result" ? findOutputFault(part["output"]) : undefined;
}

function findOutputFault(output: Json | undefined): MessageFault | undefined {
  const { type, value } = isJsonObject(output) ? output : {};
  const isText = (type === "text" || type === "error-text") && typeof value === "string";
  return isText || (type === "json" && value !== undefined)
    ? undefined
    : { path: ".output", expected: "a tool output" };
}
