/** What each command takes. */
import { DIALECT_NAMES } from "../dialects/index.ts";
import type { Command } from "./command.ts";

const dialects = DIALECT_NAMES.join(", ");
const INPUT = {
  framing: { value: "F", about: "how frames are cut from bytes: ndjson, sse, or auto (default)" },
  "max-line": { value: "BYTES", about: "longest line that is read (default 8388608)" },
};

export const CONVERT: Command = {
  name: "convert",
  summary: "Turn a stream of one dialect into another",
  argument: "FILE",
  options: {
    from: { value: "D", about: `dialect of the input: ${dialects}, or auto (default)` },
    to: { value: "D", about: "dialect of the output" },
    strict: { about: "to loom: only the 23 types of the specification; ours travel as `custom`" },
    "no-envelope": { about: "to loom: leave out session_id, node_id, event_id" },
    session: { value: "ID", about: "session of frames that name none (default `session`)" },
    sse: { about: "write server-sent events instead of one JSON per line" },
    ...INPUT,
  },
  notes:
    "Reads FILE, or standard input. Frames that cannot be read are named on standard error, with their line;\nthe rest goes on. What the target dialect cannot carry is counted there. Exit code 1 when a frame was refused.",
};

export const CHECK: Command = {
  name: "check",
  summary: "Tell what is wrong with a stream",
  argument: "FILE",
  options: {
    dialect: { value: "D", about: `dialect of the input: ${dialects}, or auto (default)` },
    frames: { about: "check each frame by itself, without a life cycle" },
    json: { about: "one JSON object per violation" },
    ...INPUT,
  },
  notes:
    "Reads FILE, or standard input. Exit code 0 when clean or with warnings only, 1 with errors, 2 when unreadable.",
};

export const SCHEMA: Command = {
  name: "schema",
  summary: "Print the JSON Schema of a dialect, or of one of its types",
  argument: "TYPE",
  options: { dialect: { value: "D", about: `one of ${dialects} (default loom)` } },
};

export const DEMO: Command = {
  name: "demo",
  summary: "Show conversion and checking on a small run",
  options: {},
};
