/** The `stream-event` dialect (002): the events of a request for those who consume its answer. */
import type { Dialect } from "../dialect.ts";
import { createStreamEventDecoder } from "./decode.ts";
import { createStreamEventEncoder, STREAM_EVENT_TABLE } from "./encode.ts";
import { findStreamEventFrameFault } from "./frames.generated.ts";
import { STREAM_EVENT_FRAMES } from "./frames.ts";
import { STREAM_EVENT_RULES } from "./rules.ts";

export const streamEvent: Dialect = {
  name: "stream-event",
  title: "Callbacks and StreamEvents (002)",
  createDecoder: createStreamEventDecoder,
  createEncoder: createStreamEventEncoder,
  folds: true,
  ledger: STREAM_EVENT_TABLE,
  rules: STREAM_EVENT_RULES,
  unended: { name: "agent-finish-missing", rule: STREAM_EVENT_RULES["agent-finish-missing"] },
  frames: STREAM_EVENT_FRAMES,
  unsaid: ["envelope-missing", "run-unended"],
  claim(frame) {
    const { type, ts, source } = frame;
    if (typeof type !== "string" || !Object.hasOwn(STREAM_EVENT_FRAMES, type)) return 0;
    if (typeof ts !== "number" && typeof source !== "string") return 1;
    return findStreamEventFrameFault(frame) === undefined ? 2 : 1;
  },
};
