/** Declares `loom show` and `loom ingest`. */
import { DIALECT_NAMES } from "../../dialects/dialect.ts";
import { STREAM_MODES } from "../../protocol/stream-modes.ts";
import type { CliCommand } from "../command.ts";
import { DIALECTS, FRAMING, INPUT_DIALECT } from "../commands.ts";
import { SERVICE_NOTE, SERVICE_OPTIONS, STREAM_NOTE } from "./server-settings.ts";

export const SHOW: CliCommand = {
  name: "show",
  summary: "Show a conversation or a recorded stream, and follow what happens.",
  argument: "SESSION|FILE",
  needsArgument: true,
  options: {
    follow: { about: "wait for what comes next, from any process, until Ctrl-C", short: "f" },
    speed: { value: "N", about: "with the pauses between events, N times as fast, from 0.01 (default: no pauses)" },
    events: { about: "print the events as NDJSON, in the dialect loom or that of --dialect (default: text)" },
    dialect: { value: "D", about: "print the frames of this dialect as NDJSON", choices: DIALECT_NAMES },
    modes: {
      value: "LIST",
      about: `with --events: stream modes to print, from ${STREAM_MODES.join(", ")}, or all (default: everything except graph states)`,
    },
    after: { value: "CURSOR", about: "start after this cursor or record ID (default: the start of the session)" },
    from: INPUT_DIALECT,
    framing: FRAMING,
    ...SERVICE_OPTIONS,
  },
  explainOption: (name) =>
    name === "--json" ? "use `--events`" : name === "--step" ? "use `--speed 0.1`, or `--events`" : undefined,
  notes: [
    DIALECTS,
    "An argument that names a file is read as a file, `-` is standard input, and everything else is a session: its ID, or the start of it. Pauses are at most 3 s long. Frames without times are shown without pauses.",
    // The answer of such a run may be incomplete, and a pipe does not show it.
    "As text, standard error says how a run ended that failed or was cancelled.",
    "With --follow, Ctrl-C ends the command, not the run, and prints the cursor to continue from.",
    STREAM_NOTE,
    "Exit codes: 0 shown, 1 some frames of FILE rejected, 2 could not be read, 3 the last run has not ended, 130 stopped, 141 standard output closed.",
  ],
  examples: [
    "loom show 3f2a9c81d4e0",
    "loom show 3f2a9c81d4e0 --follow",
    "loom show run.ndjson --speed 10",
    "loom show 3f2a9c81d4e0 --events | loom check",
    "loom show 3f2a9c81d4e0 --server https://agents.example.com --token-file token",
  ],
};

export const INGEST: CliCommand = {
  name: "ingest",
  summary: "Record the output of another agent as a session, while it arrives.",
  argument: "FILE",
  options: {
    dialect: INPUT_DIALECT,
    framing: FRAMING,
    session: { value: "ID", short: "s", about: "session to add the runs to (default: a new session)" },
    ...SERVICE_OPTIONS,
    json: { about: "print JSON" },
  },
  notes: [
    DIALECTS,
    "Reads FILE, or standard input. Every frame is checked and stored as it arrives, so that `loom show --follow` and pages show it. The first frame that breaks a rule ends the recording; what was stored before stays. An input that ends early ends its run as `stream_cut`.",
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
