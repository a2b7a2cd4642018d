/**
 * Converts the response of an MCP server to a tool result: text for the model, data for programs, images for users.
 * Every part of the response can be missing, invalid or too large.
 */
import type { Json, JsonObject } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import type { ImageEvent } from "../../protocol/events.generated.ts";
import { dropStack } from "../describe-failure.ts";
import type { ToolCallResult } from "../tool.ts";
import { toolResult } from "../tool-result.ts";
import { shorten } from "../../protocol/cut-text.ts";

export interface McpCallResult {
  readonly result: ToolCallResult;
  readonly images: readonly ImageEvent[];
}

export interface McpResultLimits {
  /** Maximum length of an image in base64, in characters. */
  readonly maxImageCharacters: number;
}

const MAX_PARTS = 1000;
/** With the size limit of an image, this stays within what one call can show. */
const MAX_IMAGES = 8;
/** Maximum characters of an error, as text and as data. */
const MAX_ERROR_CHARACTERS = 200_000;
const IMAGE_TYPE = /^image\/[\w.+-]{1,64}$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** `redact` removes the secrets of the server from error texts. */
export function readMcpResult(
  answer: JsonObject,
  { maxImageCharacters }: McpResultLimits,
  redact: (text: string) => string,
): McpCallResult {
  const parts = Array.isArray(answer["content"]) ? (answer["content"] as readonly unknown[]) : [];
  const images: ImageEvent[] = [];
  const texts = parts.slice(0, MAX_PARTS).map((part) => {
    if (!isJsonObject(part)) return "";
    if (part["type"] !== "image") return readPart(part);
    const image = images.length < MAX_IMAGES ? readImage(part, maxImageCharacters) : undefined;
    if (image !== undefined) images.push(image);
    const kind = shorten(textOf(part, "mimeType") || "image", 64);
    return image === undefined ? `[${kind}, cannot be shown]` : `[${kind}, shown to the user]`;
  });
  if (parts.length > MAX_PARTS) texts.push(`[and ${parts.length - MAX_PARTS} more parts]`);
  const isError = answer["isError"] === true;
  const joined = texts.filter((each) => each !== "").join("\n");
  const text = isError ? redact(dropStack(shorten(joined, MAX_ERROR_CHARACTERS))) : joined;
  const structured = answer["structuredContent"] ?? undefined;
  const output = isError && structured !== undefined ? redactTexts(structured, redact) : structured;
  return {
    result: toolResult({ ...(text === "" ? {} : { text }), ...(output === undefined ? {} : { output }), isError }),
    images,
  };
}

/** Returns undefined if the value is too large to be redacted quickly. */
function redactTexts(value: Json, redact: (text: string) => string): unknown {
  const text = JSON.stringify(value);
  if (text.length > MAX_ERROR_CHARACTERS) return undefined;
  return JSON.parse(text, (_, each: unknown) => (typeof each === "string" ? redact(each) : each));
}

function readImage(part: JsonObject, maxCharacters: number): ImageEvent | undefined {
  const [data, mediaType] = [textOf(part, "data"), textOf(part, "mimeType")];
  if (data.length > maxCharacters || !IMAGE_TYPE.test(mediaType) || !BASE64.test(data)) return undefined;
  return { type: "image", url: `data:${mediaType};base64,${data}`, media_type: mediaType };
}

function readPart(part: JsonObject): string {
  const type = textOf(part, "type");
  switch (type) {
    case "text":
      return textOf(part, "text");
    case "resource_link":
      return `[${shorten(textOf(part, "name"), 200)}: ${shorten(textOf(part, "uri"), 2000)}]`;
    case "resource": {
      const resource = isJsonObject(part["resource"]) ? part["resource"] : {};
      const text = textOf(resource, "text");
      return text === "" ? `[${shorten(textOf(resource, "uri"), 2000)}, not a text]` : text;
    }
    default:
      return `[${shorten(type, 64) || "unknown content"}, cannot be shown]`;
  }
}

function textOf(value: JsonObject, field: string): string {
  const text = value[field];
  return typeof text === "string" ? text.toWellFormed() : "";
}
