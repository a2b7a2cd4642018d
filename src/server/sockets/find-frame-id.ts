/** The `id` of a control frame too long to be taken, so that whoever sent it can be told. It costs little, whatever comes. */
import { MAX_NAME_LENGTH } from "../../log/index.ts";
import { isJsonObject } from "../../protocol/index.ts";

/** Where it is looked for in what is too long to be parsed. */
const EDGE = 300;

const FIELD = String.raw`\s*"\w+"\s*:\s*"(?:[^"\\]|\\.)*"\s*`;
const ID = String.raw`\s*"id"\s*:\s*("(?:[^"\\]|\\.)*")\s*`;
// Only texts stand between it and the edge, so it is that of the frame, and none of something inside.
const AT_START = new RegExp(String.raw`^\s*\{(?:${FIELD},)*?${ID},`);
const AT_END = new RegExp(String.raw`,${ID}(?:,${FIELD})*\}\s*$`);

export function findFrameId(text: string, maxParsed: number): string | undefined {
  const id = text.length <= maxParsed ? parse(text) : cutOut(text);
  return typeof id === "string" && id.length <= MAX_NAME_LENGTH ? id : undefined;
}

function cutOut(text: string): unknown {
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
