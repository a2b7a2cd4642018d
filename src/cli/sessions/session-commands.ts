/** Declares the commands on sessions: `loom sessions`, `show`, `ingest`, `cancel` and `approve`. */
import { DIALECT_NAMES } from "../../dialects/dialect.ts";
import { STREAM_MODES } from "../../protocol/stream-modes.ts";
import { AUDIT_LOG_OPTION } from "../audit-command.ts";
import type { CliCommand, CliOption } from "../command.ts";
import { DIALECTS, FRAMING, INPUT_DIALECT } from "../commands.ts";
import { SERVICE_NOTE, SERVICE_OPTIONS, STREAM_NOTE } from "./server-settings.ts";

const JSON_LINES: CliOption = { about: "print NDJSON" };
const LIMIT: CliOption = { value: "N", about: "maximum number of sessions (default: 20)" };
const FOUND = "Exit codes: 0 found, 1 nothing found, 2 could not be read.";

export const SESSIONS_LIST: CliCommand = {
  name: "sessions list",
  summary: "List sessions by creation, newest first.",
  options: {
    limit: LIMIT,
    archived: { about: "only archived sessions (default: only others)" },
    all: { about: "no limit" },
    ...SERVICE_OPTIONS,
    json: JSON_LINES,
  },
  notes: [SERVICE_NOTE, "Exit codes: 0 listed, 2 could not be read."],
  examples: [
    "loom sessions list",
    "loom sessions list --all --json",
    "loom sessions list --server https://agents.example.com --token-file token",
  ],
};

const SESSIONS_SHOW: CliCommand = {
  name: "sessions show",
  summary: "Show a session, its latest runs, and what waits in it.",
  argument: "SESSION",
  needsArgument: true,
  options: { ...SERVICE_OPTIONS, json: { about: "print JSON" } },
  notes: [
    "To read the conversation, use `loom show SESSION`.",
    SERVICE_NOTE,
    "Exit codes: 0 shown, 2 no such session.",
  ],
  examples: ["loom sessions show 3f2a9c81d4e0", "loom sessions show 3f2a9c81d4e0 --json"],
};

export const SESSIONS_RUNS: CliCommand = {
  name: "sessions runs",
  summary: "List the runs that are live or queued, or the runs of a session.",
  argument: "SESSION",
  options: {
    limit: { value: "N", about: "with SESSION: maximum number of runs (default: 20)" },
    ...SERVICE_OPTIONS,
    json: JSON_LINES,
  },
  notes: [
    "Without SESSION, lists the live and queued runs of all sessions. `waits`: for approval. `interrupted`: the process of the run ended, and no other has continued it.",
    SERVICE_NOTE,
    "Exit codes: 0 listed, 2 could not be read.",
  ],
  examples: ["loom sessions runs", "loom sessions runs 3f2a9c81d4e0", "loom sessions runs --json"],
};

export const SESSIONS_SEARCH: CliCommand = {
  name: "sessions search",
  summary: "Search titles, messages and answers.",
  argument: "WORDS",
  takesMany: true,
  options: { limit: LIMIT, ...SERVICE_OPTIONS, json: JSON_LINES },
  notes: ["All words must occur in one text.", SERVICE_NOTE, FOUND],
  examples: ["loom sessions search deploy", 'loom sessions search "rate limit" --json'],
};

export const SESSIONS_EXPORT: CliCommand = {
  name: "sessions export",
  summary: "Write all records of a session as NDJSON.",
  argument: "SESSION",
  needsArgument: true,
  options: {
    output: { value: "FILE", about: "file to write; it must not exist (default: standard output)" },
    ...SERVICE_OPTIONS,
  },
  notes: [
    "The records are in the `loom` dialect, as stored. `loom convert` writes other dialects. Uploaded images and files are not part of it; `loom store backup` and `loom store copy` copy them.",
    STREAM_NOTE,
    "Exit codes: 0 complete, 2 not complete.",
  ],
  examples: [
    "loom sessions export 3f2a9c81d4e0 --output session.ndjson",
    "loom sessions export 3f2a9c81d4e0 | loom convert --to ai-sdk",
  ],
};

export const SESSIONS_IMPORT: CliCommand = {
  name: "sessions import",
  summary: "Read a session that `loom sessions export` wrote.",
  argument: "FILE",
  options: {
    session: { value: "ID", short: "s", about: "ID of the session (default: the one in the file)" },
    title: { value: "TEXT", about: "title of a new session (default: its first message)" },
    ...SERVICE_OPTIONS,
    json: { about: "print JSON" },
  },
  notes: [
    "Reads FILE, or standard input. In a store, an interrupted import continues when it is repeated, and nothing is overwritten. A server records the file as runs of another program, with new record IDs, as `loom ingest` does; that needs a token with the scope `ingest`.",
    SERVICE_NOTE,
    "Exit codes: 0 imported, 2 not imported.",
  ],
  examples: ["loom sessions import session.ndjson", "loom sessions import --session copy session.ndjson"],
};

export const SESSIONS_FORK: CliCommand = {
  name: "sessions fork",
  summary: "Create a session that starts as a copy of another.",
  argument: "SESSION",
  needsArgument: true,
  options: {
    before: { value: "RUN", about: "copy only what is before this run (default: everything that has ended)" },
    checkpoint: { value: "ID", about: "copy up to this checkpoint, and continue its run" },
    session: { value: "ID", short: "s", about: "ID of the new session (default: generated)" },
    title: {
      value: "TEXT",
      about:
        "title of the new session (default: that of the original, unless the original has it from a message that is not copied)",
    },
    ...SERVICE_OPTIONS,
    json: { about: "print JSON" },
  },
  notes: [
    "The original does not change. Prints the ID of the new session. With --checkpoint, a server continues the run; in a store, `loom run --session ID --resume` does.",
    SERVICE_NOTE,
    "Exit codes: 0 created, 2 not created.",
  ],
  examples: ["loom sessions fork 3f2a9c81d4e0", "loom sessions fork 3f2a9c81d4e0 --before RUN --title Again"],
};

export const SESSIONS_RENAME: CliCommand = {
  name: "sessions rename",
  summary: "Give a session another title.",
  argument: "SESSION TITLE",
  takesMany: true,
  options: { ...SERVICE_OPTIONS },
  notes: [SERVICE_NOTE, "Exit codes: 0 renamed, 2 not renamed."],
  examples: ["loom sessions rename 3f2a9c81d4e0 Report on tea"],
};

export const SESSIONS_DELETE: CliCommand = {
  name: "sessions delete",
  summary: "Cancel the runs of sessions, and delete them with their files, or erase an owner.",
  argument: "SESSION",
  takesMany: true,
  needsArgument: false,
  options: {
    owner: { value: "NAME", about: "erase everything of this owner; takes no SESSION" },
    yes: { about: "delete without asking; required if there is no terminal" },
    ...AUDIT_LOG_OPTION,
    ...SERVICE_OPTIONS,
    json: JSON_LINES,
  },
  notes: [
    "This cannot be undone. Other versions of the conversation stay.",
    "With --owner, deletes the sessions of the owner, images and files, tokens, share links, sign-ins and recorded usage. Documents of the knowledge base have no owner and are kept. It can run while a server uses the store. Running it again is harmless and finishes an interrupted one. Only the erasure of an owner in a store is written to --audit-log.",
    SERVICE_NOTE,
    "Exit codes: 0 all deleted, 1 some not found, 2 none deleted.",
  ],
  examples: [
    "loom sessions delete 3f2a9c81d4e0",
    "loom sessions delete 3f2a9c81d4e0 9d1e22ab07c3 --yes",
    "loom sessions delete --owner alice --yes",
  ],
};

export const SESSIONS: CliCommand = {
  name: "sessions",
  summary: "List, read, copy, rename and delete sessions, and list runs.",
  options: {},
  subcommands: [
    SESSIONS_LIST,
    SESSIONS_SHOW,
    SESSIONS_RUNS,
    SESSIONS_SEARCH,
    SESSIONS_EXPORT,
    SESSIONS_IMPORT,
    SESSIONS_FORK,
    SESSIONS_RENAME,
    SESSIONS_DELETE,
  ],
  notes: ["SESSION is an ID, or the start of one that no other session has. `delete --yes` needs whole IDs."],
};

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

export const CANCEL: CliCommand = {
  name: "cancel",
  summary: "Cancel the live run of a session, or a queued message.",
  argument: "SESSION",
  needsArgument: true,
  options: {
    run: { value: "ID", about: "run to cancel (default: the live run, or the next queued one)" },
    reason: { value: "TEXT", about: "reason, stored in the session" },
    ...SERVICE_OPTIONS,
    json: { about: "print JSON" },
  },
  notes: [
    SERVICE_NOTE,
    "Exit codes: 0 cancelled, 1 nothing to cancel, or the run has already ended, 2 could not be cancelled, for example because there is no such run.",
  ],
  examples: ["loom cancel 3f2a9c81d4e0", 'loom cancel 3f2a9c81d4e0 --reason "wrong folder"'],
};

export const APPROVE: CliCommand = {
  name: "approve",
  summary: "List tool calls that wait for approval, and allow or deny them.",
  argument: "SESSION",
  options: {
    allow: { about: "allow the call" },
    deny: { about: "deny the call" },
    call: { value: "ID", about: "call to decide on (default: the only one that waits)" },
    all: { about: "decide on all calls of the session that wait" },
    reason: { value: "TEXT", about: "with --deny: reason, which the model receives" },
    ...SERVICE_OPTIONS,
    json: { about: "print NDJSON" },
  },
  notes: [
    "Without SESSION, lists what waits in all sessions. With SESSION on a terminal, asks for a decision on each call, where arguments can also be edited; without a terminal, lists them.",
    "A server continues the run. In a store, the process that runs it does, or `loom run --session ID --resume`.",
    SERVICE_NOTE,
    "Exit codes: 0 listed, or decided, 1 nothing waits, or not this call, or a decision was refused, 2 could not be read, 130 the prompt was closed.",
  ],
  examples: [
    "loom approve",
    "loom approve 3f2a9c81d4e0",
    "loom approve 3f2a9c81d4e0 --allow",
    'loom approve 3f2a9c81d4e0 --call CALL --deny --reason "use another folder"',
  ],
};
