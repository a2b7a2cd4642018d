/**
 * The decoding half of every dialect, for receivers: a page loads this and nothing of the other half. It imports no
 * encoder, no declaration and no text of the documentation, so that it stays small; a test reads the imports.
 */
import type { JsonObject } from "../protocol/json.ts";
import { detectAmong } from "./detect.ts";
import type { Decoding, DialectName } from "./dialect.ts";
import { ENGINE_DECODING } from "./engine/decode.ts";
import { EXPORT_DECODING } from "./export/decode.ts";
import { LOOM_DECODING } from "./loom/decode.ts";
import { LUMINE_DECODING } from "./lumine/decode.ts";
import { STREAM_EVENT_DECODING } from "./stream-event/decode.ts";

export const DECODERS: { readonly [N in DialectName]: Decoding } = {
  loom: LOOM_DECODING,
  engine: ENGINE_DECODING,
  lumine: LUMINE_DECODING,
  "stream-event": STREAM_EVENT_DECODING,
  export: EXPORT_DECODING,
};

/**
 * The dialect of a stream, from its first frames, as texts or parsed; undefined when no dialect knows any of them. At a
 * tie `loom` stands back: it allows any further field, so what another wire claims as surely is more likely of that wire.
 */
export function detectDecoder(frames: readonly (string | JsonObject)[]): DialectName | undefined {
  const { loom, ...others } = DECODERS;
  const list = Object.entries(others) as [DialectName, Decoding][];
  return detectAmong(frames, [...list, ["loom", loom]]);
}
