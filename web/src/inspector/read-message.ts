/** Reads stored messages of prompts. They may come from another version, so nothing about them is assumed. */

export interface ShownMessage {
  /** Undefined if the message is no longer stored. */
  readonly role: string | undefined;
  /** The start of the text, on one line. */
  readonly preview: string;
  readonly parts: readonly ShownPart[];
}

export interface ShownPart {
  /** Readable text, or JSON of anything else. */
  readonly kind: "text" | "json";
  /** What the part is, such as `reasoning` or `tool-call`; empty for plain text. */
  readonly label: string;
  readonly text: string;
}

const PREVIEW_LENGTH = 120;

export function readMessage(message: unknown): ShownMessage {
  if (!isObject(message)) return { role: undefined, preview: "", parts: [] };
  const { role, content } = message;
  const parts = Array.isArray(content) ? content.map(readPart) : [readPart(content ?? message)];
  return {
    role: typeof role === "string" ? role : "",
    preview: parts
      .map(({ kind, label, text }) => (kind === "json" && label !== "" ? `${label} ${text}` : text))
      .join(" ")
      .slice(0, 4 * PREVIEW_LENGTH)
      .replaceAll(/\s+/g, " ")
      .slice(0, PREVIEW_LENGTH),
    parts,
  };
}

function readPart(part: unknown): ShownPart {
  if (typeof part === "string") return { kind: "text", label: "", text: part };
  if (!isObject(part)) return { kind: "json", label: "", text: JSON.stringify(part ?? null) };
  const { type, text, toolName, output } = part;
  const label = typeof type === "string" && type !== "text" ? type : "";
  if (typeof text === "string") return { kind: "text", label, text };
  const named = typeof toolName === "string" ? `${label} · ${toolName}` : label;
  if (isObject(output) && typeof output["value"] === "string")
    return { kind: "text", label: named, text: output["value"] };
  const { type: _, ...rest } = part;
  const { toolCallId: _id, toolName: _name, input, ...more } = rest;
  // The label has the name. What a provider added is shown too.
  if (typeof toolName === "string" && input !== undefined && Object.keys(more).length === 0)
    return { kind: "json", label: named, text: JSON.stringify(input) };
  return { kind: "json", label: named, text: JSON.stringify(rest) };
}

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
