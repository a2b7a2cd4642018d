/** Reads the session ID and the title from the first record of an exported session. */
import { deriveTitle } from "../../agents/derive-title.ts";
import { parseObject } from "../../protocol/json.ts";

/** Longest first line that is searched, in bytes. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;

interface ImportHead {
  /** Undefined if the first line is not a record. */
  readonly sessionId: string | undefined;
  /** Undefined if the first record is not a message. */
  readonly title: string | undefined;
  /** The complete input. */
  readonly body: AsyncIterable<Uint8Array>;
}

export async function readImportHead(input: AsyncIterable<Uint8Array>): Promise<ImportHead> {
  const chunks = input[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  let isOver = false;
  while (!isOver && !head.includes(0x0a) && head.length < MAX_LINE_BYTES) {
    const next = await chunks.next();
    if (next.done === true) isOver = true;
    else head = Buffer.concat([head, next.value]);
  }
  const [line = ""] = head.toString("utf8").split("\n", 1);
  const { session_id: sessionId, type, message } = parseObject(line) ?? {};
  return {
    sessionId: typeof sessionId === "string" && sessionId !== "" ? sessionId : undefined,
    title: type === "run_start" && typeof message === "string" ? deriveTitle(message) : undefined,
    body: (async function* () {
      yield head;
      for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value;
    })(),
  };
}
