/** Reads the session ID in the first record of an exported session. */
import { LoomError } from "../../protocol/index.ts";
import { parseObject } from "../../protocol/json.ts";

/** Longest first line that is searched, in bytes. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;

/** Returns the ID, and the complete input. Throws `import_invalid` if the first line is not a record. */
export async function readSessionName(
  input: AsyncIterable<Uint8Array>,
): Promise<{ readonly sessionId: string; readonly body: AsyncIterable<Uint8Array> }> {
  const chunks = input[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  let isOver = false;
  while (!isOver && !head.includes(0x0a) && head.length < MAX_LINE_BYTES) {
    const next = await chunks.next();
    if (next.done === true) isOver = true;
    else head = Buffer.concat([head, next.value]);
  }
  const [line = ""] = head.toString("utf8").split("\n", 1);
  const sessionId = parseObject(line)?.["session_id"];
  if (typeof sessionId !== "string" || sessionId === "")
    throw new LoomError("import_invalid", "Line 1: the record has no session_id", { line: 1 });
  return {
    sessionId,
    body: (async function* () {
      yield head;
      for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value;
    })(),
  };
}
