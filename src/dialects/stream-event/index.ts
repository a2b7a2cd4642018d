/** The `stream-event` dialect (002): the events of a request, for clients that show its answer. */
import type { Dialect } from "../dialect.ts";
import { STREAM_EVENT_DECODING } from "./decode.ts";
import { STREAM_EVENT_FRAMES } from "./frames.ts";
import { createStreamEventEncoder, STREAM_EVENT_TABLE } from "./project.ts";
import { STREAM_EVENT_RULES } from "./rules.ts";

export const streamEvent: Dialect = {
  ...STREAM_EVENT_DECODING,
  name: "stream-event",
  title: "Callbacks and stream events (002)",
  createEncoder: createStreamEventEncoder,
  options: [],
  isStateful: true,
  carriesUnknown: false,
  carriesDeltas: false,
  ledger: STREAM_EVENT_TABLE,
  rules: STREAM_EVENT_RULES,
  unendedRule: { name: "agent-finish-missing", rule: STREAM_EVENT_RULES["agent-finish-missing"] },
  frames: STREAM_EVENT_FRAMES,
  ignoredRules: ["envelope-missing", "run-unended"],
};

export type { StreamEventFrame } from "./frames.generated.ts";
export { createStreamEventProjection } from "./project.ts";
