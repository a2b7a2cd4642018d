/** What each command takes. */
import { DETECTION_FRAMES, DIALECT_NAMES } from "../dialects/index.ts";
import { DEFAULT_MAX_LINE_BYTES } from "../framing/index.ts";
import type { Command } from "./command.ts";

const INPUT = {
  framing: { value: "F", about: "how frames are cut from bytes: ndjson, sse or auto (default)" },
  "max-line": { value: "BYTES", about: `longest line that is read (default ${DEFAULT_MAX_LINE_BYTES})` },
};
const DIALECTS = `D is a dialect: ${DIALECT_NAMES.join(", ")}.`;
const INPUT_DIALECTS = `${DIALECTS} With auto the first ${DETECTION_FRAMES} frames tell which it is.`;

export const CONVERT: Command = {
  name: "convert",
  summary: "Turn a stream of one dialect into another.",
  argument: "FILE",
  options: {
    from: { value: "D", about: "dialect of the input, or auto (default)" },
    to: { value: "D", about: "dialect of the output; it must be given" },
    strict: { about: "to loom: only the 23 types of the specification; ours travel as `custom`" },
    "no-envelope": { about: "to loom: leave out session_id, node_id and event_id" },
    session: { value: "ID", about: "session of frames that name none (default `session`)" },
    sse: { about: "write server-sent events instead of one JSON object per line" },
    ...INPUT,
  },
  notes: [
    INPUT_DIALECTS,
    "Reads FILE, or standard input. A frame that cannot be read is named on standard error with its line, and the rest goes on. What the target dialect cannot carry is counted there.",
    "Exit code: 0 all frames were read, 1 some were refused, 2 the input could not be read at all.",
  ],
  examples: ["loom convert --to loom run.ndjson", "curl -sN URL | loom convert --from engine --to loom"],
};

export const CHECK: Command = {
  name: "check",
  summary: "Tell what is wrong with a stream.",
  argument: "FILE",
  options: {
    dialect: { value: "D", about: "dialect of the input, or auto (default)" },
    frames: { about: "check each frame by itself, without a life cycle" },
    json: { about: "one JSON object per violation; the summary goes to standard error" },
    ...INPUT,
  },
  notes: [
    INPUT_DIALECTS,
    "Reads FILE, or standard input. Errors break a must of the specification, warnings a should.",
    "Exit code: 0 clean or warnings only, 1 errors, 2 the input could not be read at all.",
  ],
  examples: ["loom check run.ndjson", "curl -sN URL | loom check --dialect engine --json"],
};

export const SCHEMA: Command = {
  name: "schema",
  summary: "Print the JSON Schema of a dialect, or of one of its types.",
  argument: "TYPE",
  options: { dialect: { value: "D", about: "dialect (default loom)" } },
  notes: [DIALECTS],
  examples: ["loom schema --dialect engine", "loom schema message_chunk"],
};

export const DEMO: Command = {
  name: "demo",
  summary: "Show conversion and checking on a small run.",
  options: {},
};
