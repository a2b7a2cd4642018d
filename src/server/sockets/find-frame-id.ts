/**
 * Finds the `id` of a control frame that is too long to accept, so that the refusal can name it. The cost is bounded.
 */
import { MAX_NAME_LENGTH } from "../../log/log.ts";
import { isJsonObject } from "../../protocol/json.ts";

/** How many characters at each end of the text are searched when it is too long to parse. */
const EDGE = 300;

const FIELD = String.raw`\s*"\w+"\s*:\s*"(?:[^"\\]|\\.)*"\s*`;
const ID = String.raw`\s*"id"\s*:\s*("(?:[^"\\]|\\.)*")\s*`;
// Only string fields may be between the ID and the edge, so that the ID of a nested object is not matched.
const AT_START = new RegExp(String.raw`^\s*\{(?:${FIELD},)*?${ID},`);
const AT_END = new RegExp(String.raw`,${ID}(?:,${FIELD})*\}\s*$`);

export function findFrameId(text: string, maxParsed: number): string | undefined {
  const id = text.length <= maxParsed ? parse(text) : findNearEdges(text);
  return typeof id === "string" && id.length <= MAX_NAME_LENGTH ? id : undefined;
}

function findNearEdges(text: string): unknown {
  const [, quoted] = AT_START.exec(text.slice(0, EDGE)) ?? AT_END.exec(text.slice(-EDGE)) ?? [];
  return quoted === undefined ? undefined : parse(`{"id":${quoted}}`);
}

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value["id"] : undefined;
  } catch {
    return undefined;
  }
}
