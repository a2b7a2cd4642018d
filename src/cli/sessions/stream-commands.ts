/** Declares `loom tail`, `loom replay` and `loom ingest`. */
import { DIALECT_NAMES } from "../../dialects/dialect.ts";
import { STREAM_MODES } from "../../protocol/stream-modes.ts";
import type { CliCommand, CliOption } from "../command.ts";
import { SERVICE_NOTE, SERVICE_OPTIONS, STREAM_NOTE } from "./server-settings.ts";

const OUTPUT: { readonly [name: string]: CliOption } = {
  dialect: {
    value: "D",
    about: "print the frames of this dialect as NDJSON (default: text)",
    choices: DIALECT_NAMES,
  },
  json: { about: "the same as --dialect loom" },
};
const DIALECTS = `Dialects (D): ${DIALECT_NAMES.join(", ")}.`;
/** The answer of such a run may be incomplete, and a pipe does not show it. */
const FAILED_NOTE = "As text, standard error says how a run ended that failed or was cancelled.";

export const TAIL: CliCommand = {
  name: "tail",
  summary: "Follow a session: show what happens in it, from any process.",
  argument: "SESSION",
  needsArgument: true,
  options: {
    after: {
      value: "CURSOR",
      about: "start after this cursor or record ID; 0 is the start of the session (default: the live run, or the end)",
    },
    ...OUTPUT,
    modes: {
      value: "LIST",
      about: `with --json or --dialect: stream modes to print, from ${STREAM_MODES.join(", ")}, or all (default: everything except graph states)`,
    },
    ...SERVICE_OPTIONS,
  },
  notes: [
    DIALECTS,
    FAILED_NOTE,
    "Ctrl-C ends the command, not the run, and prints the cursor to continue from.",
    STREAM_NOTE,
    "Exit codes: 2 could not be read, 130 stopped, 141 standard output closed.",
  ],
  examples: [
    "loom tail 3f2a9c81d4e0",
    "loom tail 3f2a9c81d4e0 --after 0 --json",
    "loom tail 3f2a9c81d4e0 --server https://agents.example.com --token-file token",
  ],
};

export const REPLAY: CliCommand = {
  name: "replay",
  summary: "Show a session or a recorded stream again, at its own speed.",
  argument: "SESSION|FILE",
  needsArgument: true,
  options: {
    speed: { value: "N", about: "times as fast as it happened, from 0.01, or max for no pauses (default: 1)" },
    step: { about: "show one event for each key: any key continues, q ends" },
    ...OUTPUT,
    from: {
      value: "D",
      about: "dialect of FILE, or auto (default: auto)",
      choices: [...DIALECT_NAMES, "auto"],
    },
    framing: {
      value: "F",
      about: "framing of FILE: ndjson, sse or auto (default: auto)",
      choices: ["ndjson", "sse", "auto"],
    },
    ...SERVICE_OPTIONS,
  },
  notes: [
    DIALECTS,
    "An argument that names a file is read as a file, `-` is standard input, and everything else is a session. Pauses are at most 3 s long. Frames without times are shown without pauses.",
    FAILED_NOTE,
    STREAM_NOTE,
    "Exit codes: 0 shown, 1 some frames of FILE rejected, 2 could not be read, 3 the last run has not ended, 130 stopped, 141 standard output closed.",
  ],
  examples: [
    "loom replay 3f2a9c81d4e0",
    "loom replay run.ndjson --speed 10",
    "loom replay run.ndjson --step",
    "loom replay 3f2a9c81d4e0 --speed max --dialect ag-ui",
  ],
};

export const INGEST: CliCommand = {
  name: "ingest",
  summary: "Record the output of another agent as a session, while it arrives.",
  argument: "FILE",
  options: {
    dialect: {
      value: "D",
      about: "dialect of the input, or auto (default: auto)",
      choices: [...DIALECT_NAMES, "auto"],
    },
    framing: {
      value: "F",
      about: "framing of the input: ndjson, sse or auto (default: auto)",
      choices: ["ndjson", "sse", "auto"],
    },
    session: { value: "ID", about: "session to add the runs to (default: a new session)" },
    ...SERVICE_OPTIONS,
    json: { about: "print JSON" },
  },
  notes: [
    DIALECTS,
    "Reads FILE, or standard input. Every frame is checked and stored as it arrives, so that `loom tail` and pages show it. The first frame that breaks a rule ends the recording; what was stored before stays. An input that ends early ends its run as `stream_cut`.",
    SERVICE_NOTE,
    "A server needs a token with the scope `ingest`. An input that was cut on the way to it cannot be continued: record it again, in another session.",
    "Exit codes: 0 recorded, 1 a frame was rejected, 2 nothing could be recorded, 130 stopped.",
  ],
  examples: [
    "loom ingest --dialect engine run.ndjson",
    "my-agent | loom ingest --dialect ai-sdk --session demo",
    "curl -sN URL | loom ingest --server http://127.0.0.1:10338",
  ],
};
