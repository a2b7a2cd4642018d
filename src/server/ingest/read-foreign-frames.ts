/**
 * The frames of a foreign stream, and the dialect they are in. Where framing or dialect were not named, the first bytes
 * and frames are held back until they tell. What came before a source failed is given before the failure.
 */
import { DETECTION_FRAMES, detectDialect, type Dialect, DIALECT_NAMES } from "../../dialects/index.ts";
import {
  createNdjsonDecoder,
  createSseDecoder,
  detectFraming,
  type FrameDecoder,
  type FrameOutcome,
  type Framing,
} from "../../framing/index.ts";
import { LoomError } from "../../protocol/index.ts";

export interface ForeignBatch {
  readonly dialect: Dialect;
  readonly frames: readonly FrameOutcome[];
}

export interface ForeignStreamOptions {
  readonly dialect?: Dialect | undefined;
  readonly framing?: Framing | undefined;
  readonly maxFrameBytes: number;
}

/** As much as is looked at before a stream whose beginning tells nothing is taken for lines of JSON. */
const HEAD_BYTES = 4096;

export async function* readForeignFrames(
  source: AsyncIterable<Uint8Array>,
  { dialect: named, framing, maxFrameBytes }: ForeignStreamOptions,
): AsyncGenerator<ForeignBatch, void, undefined> {
  let dialect = named;
  let held: readonly FrameOutcome[] = [];
  let failure: { readonly error: unknown } | undefined;
  try {
    for await (const frames of cutFrames(source, framing, maxFrameBytes)) {
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

async function* cutFrames(
  source: AsyncIterable<Uint8Array>,
  named: Framing | undefined,
  maxLineBytes: number,
): AsyncGenerator<readonly FrameOutcome[], void, undefined> {
  let decoder: FrameDecoder | undefined;
  let head: Uint8Array = new Uint8Array(0);
  const open = (framing: Framing): FrameDecoder =>
    framing === "sse" ? createSseDecoder({ maxLineBytes }) : createNdjsonDecoder({ maxLineBytes });
  for await (const chunk of source) {
    let bytes: Uint8Array = chunk;
    if (decoder === undefined) {
      bytes = head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
      const framing = named ?? detectFraming(head) ?? (head.length < HEAD_BYTES ? undefined : "ndjson");
      if (framing === undefined) continue;
      decoder = open(framing);
    }
    const frames = decoder.push(bytes);
    if (frames.length > 0) yield frames;
  }
  const last = decoder ?? open("ndjson");
  const rest = [...(decoder === undefined ? last.push(head) : []), ...last.end().map(markCut)];
  if (rest.length > 0) yield rest;
}

/** A body may end without a line end; where it does so inside of an object, that was cut, as an event of the other framing. */
function markCut(frame: FrameOutcome): FrameOutcome {
  const isCut = frame.ok ? /^\s*\{/.test(frame.text) && !isJson(frame.text) : frame.reason === "invalid_utf8";
  if (!isCut) return frame;
  return { ok: false, reason: "unfinished_event", line: frame.line, detail: "the stream ended inside of a frame" };
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
    `the dialect cannot be told from line ${line}: name it with \`dialect\` (${DIALECT_NAMES.join(", ")})`,
    { line, rule: "dialect-unknown", accepted: 0 },
  );
}
