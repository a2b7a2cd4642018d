/** What each command takes. */
import { DETECTION_FRAMES, DIALECT_NAMES } from "../dialects/index.ts";
import { DEFAULT_MAX_LINE_BYTES } from "../framing/index.ts";
import { STREAM_MODES } from "../protocol/index.ts";
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

export const RUN: Command = {
  name: "run",
  summary: "Have an agent answer a message, and show it at work.",
  argument: "MESSAGE",
  options: {
    agent: { value: "KIND", about: "kind of agent: react (default), tot, got" },
    model: { value: "P/M", about: "provider and model, as openai/gpt-5 (default $LOOM_MODEL, or offline)" },
    "base-url": { value: "URL", about: "where the provider is, for servers that speak like OpenAI" },
    system: { value: "TEXT", about: "what the model is told before everything else" },
    "max-iterations": {
      value: "N",
      about: "react: rounds of thinking and acting at most (default 25); got: of each task (10)",
    },
    search: { value: "HOW", about: "tot: breadth (default), level by level, or depth, the best thought first" },
    beam: { value: "N", about: "tot: thoughts of a level that go on (default 5)" },
    candidates: {
      value: "N",
      about: "tot: thoughts that may follow one thought (default 16); times --beam at most 2000",
    },
    "max-thoughts": { value: "N", about: "tot: thoughts in all (default 1000)" },
    adaptive: { about: "got: a task that proves complex becomes a graph of its own" },
    workspace: { value: "DIR", about: "folder whose files may be read, and with consent written" },
    mcp: { value: "FILE", about: "MCP servers to use, as `mcpServers` in a JSON file" },
    "allow-fetch": { about: "let it fetch public web pages" },
    kb: {
      value: "FILE",
      about: "knowledge base it may search (default $LOOM_KB, or knowledge.db beside the default store)",
    },
    retrieve: { about: "search it for the message before the model is asked, instead of when the model likes" },
    "no-kb": { about: "let it search no knowledge base" },
    approve: { value: "HOW", about: "tools that need consent: ask (default), always, never" },
    session: { value: "ID", about: "the conversation to go on with (default: a new one)" },
    resume: { about: "go on with the session's run that was left or killed; takes no MESSAGE" },
    store: { value: "FILE", about: "where sessions are kept (default $LOOM_STORE, or ~/.local/share/loom/loom.db)" },
    json: { about: "print the frames of the run and its reply, one JSON object per line" },
    modes: { value: "LIST", about: `with --json, only these: ${STREAM_MODES.join(", ")}` },
  },
  notes: [
    "Agents: react thinks and uses tools until it can answer. tot searches a tree of thoughts: it rates them, keeps the best and goes back from dead ends. got plans a graph of tasks and works on those side by side that do not need each other.",
    "MESSAGE is read from standard input when it is `-`, or absent and that is no terminal. The answer goes to standard output as it comes, and what happens meanwhile to standard error, where that is a terminal.",
    "Everything is on disk before it is shown. A run that was killed, or left waiting for consent, goes on with --resume; give it the same options, since model, tools and limits are not in the store. Where another process holds the session, the message waits for its turn there, and is watched from here.",
    "Consent is asked for on the terminal; a run that waits for it where nobody can be asked is left waiting. --approve always and never answer for this run alone: while another run of the session waits for consent, the message waits behind it.",
    "Ctrl-C cancels the run and keeps what it has said; twice, it ends at once. SIGTERM does the same, but leaves a run waiting that waits for consent. A run whose output nobody reads any more is cancelled too.",
    "Exit code: 0 completed, 1 the run failed, 2 it could not be started, 3 it waits for consent, 130 cancelled, 141 nobody reads the output.",
  ],
  examples: [
    'loom run "What is 6*7?"',
    'loom run --model anthropic/claude-sonnet-4-5 --workspace . "Write a poem to poem.txt"',
    'loom run --agent tot "Game of 24: 4 9 10 13"',
    'loom run --agent got --adaptive "Write a report on solar power"',
    'loom run "How do I deploy Loom?"',
    'loom run --json "What is 6*7?" | loom check',
    "loom run --session ID --resume",
  ],
};

export const DEMO: Command = {
  name: "demo",
  summary: "Show conversion and checking on a small run.",
  options: {},
};
