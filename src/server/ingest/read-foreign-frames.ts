/**
 * Splits a foreign stream into frames and detects its framing and dialect.
 *
 * Unless they are given, the first bytes and frames are held back until framing and dialect are known. Frames received
 * before the source fails are yielded before the error is thrown.
 */
import { detectDialect, type Dialect, DIALECT_NAMES } from "../../dialects/index.ts";
import { DETECTION_FRAMES } from "../../dialects/detect.ts";
import { createNdjsonDecoder, createSseDecoder, type FrameDecoder, type FrameOutcome } from "../../framing/index.ts";
import { detectFraming, type Framing } from "../../framing/detect-framing.ts";
import { createLoopYield } from "../../log/follow-records.ts";
import { LoomError } from "../../protocol/index.ts";

export interface ForeignFrameBatch {
  readonly dialect: Dialect;
  readonly frames: readonly FrameOutcome[];
}

export interface ForeignStreamOptions {
  readonly dialect?: Dialect | undefined;
  readonly framing?: Framing | undefined;
  readonly maxFrameBytes: number;
}

/** Bytes to examine before a stream without a recognizable beginning is treated as NDJSON. */
const FRAMING_DETECTION_BYTES = 4096;

export async function* readForeignFrames(
  source: AsyncIterable<Uint8Array>,
  { dialect: named, framing, maxFrameBytes }: ForeignStreamOptions,
): AsyncGenerator<ForeignFrameBatch, void, undefined> {
  let dialect = named;
  let held: readonly FrameOutcome[] = [];
  let failure: { readonly error: unknown } | undefined;
  try {
    for await (const frames of decodeFrames(source, framing, maxFrameBytes)) {
      held = held.length === 0 ? frames : [...held, ...frames];
      if (dialect === undefined && held.length < DETECTION_FRAMES) continue;
      dialect ??= detect(held);
      const batch = held;
      held = [];
      yield { dialect, frames: batch };
    }
  } catch (error) {
    failure = { error };
  }
  if (held.length > 0 && dialect === undefined) yield { dialect: detect(held), frames: held };
  if (failure !== undefined) throw failure.error;
}

async function* decodeFrames(
  source: AsyncIterable<Uint8Array>,
  named: Framing | undefined,
  maxLineBytes: number,
): AsyncGenerator<readonly FrameOutcome[], void, undefined> {
  let decoder: FrameDecoder | undefined;
  let head: Uint8Array = new Uint8Array(0);
  const open = (framing: Framing): FrameDecoder =>
    framing === "sse" ? createSseDecoder({ maxLineBytes }) : createNdjsonDecoder({ maxLineBytes });
  const yieldToLoop = createLoopYield();
  for await (const chunk of source) {
    await yieldToLoop();
    let bytes: Uint8Array = chunk;
    if (decoder === undefined) {
      bytes = head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
      const framing = named ?? detectFraming(head) ?? (head.length < FRAMING_DETECTION_BYTES ? undefined : "ndjson");
      if (framing === undefined) continue;
      decoder = open(framing);
    }
    const frames = decoder.push(bytes);
    if (frames.length > 0) yield frames;
  }
  const last = decoder ?? open("ndjson");
  const rest = [...(decoder === undefined ? last.push(head) : []), ...last.end().map(markTruncated)];
  if (rest.length > 0) yield rest;
}

/**
 * Marks a last frame that is an incomplete JSON object as unfinished, as the SSE decoder does. A complete one may end
 * without a newline.
 */
function markTruncated(frame: FrameOutcome): FrameOutcome {
  const isCut = frame.ok ? /^\s*\{/.test(frame.text) && !isJson(frame.text) : frame.reason === "invalid_utf8";
  if (!isCut) return frame;
  return { ok: false, reason: "unfinished_event", line: frame.line, detail: "the stream ended inside a frame" };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function detect(frames: readonly FrameOutcome[]): Dialect {
  const found = detectDialect(frames.slice(0, DETECTION_FRAMES).flatMap((frame) => (frame.ok ? [frame.text] : [])));
  if (found !== undefined) return found;
  const line = frames[0]?.line ?? 1;
  throw new LoomError(
    "ingest_invalid",
    `Cannot detect the dialect from line ${line}; set \`dialect\` to one of ${DIALECT_NAMES.join(", ")}`,
    { line, rule: "dialect-unknown", accepted: 0 },
  );
}
