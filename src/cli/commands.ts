/** Declares the commands `run`, `models`, `convert`, `check`, `doctor` and `init`. */
import { REASONING_LEVELS } from "../protocol/reasoning-level.ts";
import { DIALECT_NAMES } from "../dialects/dialect.ts";
import { DETECTION_FRAMES } from "../dialects/detect.ts";
import { DEFAULT_MAX_LINE_BYTES } from "../framing/frame.ts";
import { STREAM_MODES } from "../protocol/stream-modes.ts";
import type { CliCommand } from "./command.ts";
import { AGENTS_NOTE } from "./load-agents.ts";
import { SERVICE_OPTIONS, STORE_OPTION } from "./sessions/server-settings.ts";
import { BUILT_IN_AGENTS, listStrategyItems, STRATEGY_ITEM_NAMES } from "./strategy-items.ts";

/** Options of every command that reads a stream. */
export const FRAMING = {
  value: "F",
  about: "framing of the input: ndjson, sse or auto (default: auto)",
  choices: ["ndjson", "sse", "auto"],
};
export const INPUT_DIALECT = {
  value: "D",
  about: "dialect of the input, or auto (default: auto)",
  choices: [...DIALECT_NAMES, "auto"],
};
const INPUT = {
  framing: FRAMING,
  "max-line": { value: "BYTES", about: `longest accepted line (default: ${DEFAULT_MAX_LINE_BYTES})` },
};
export const DIALECTS = `Dialects (D): ${DIALECT_NAMES.join(", ")}.`;
const INPUT_DIALECTS = `${DIALECTS} With auto, the dialect is detected from the first ${DETECTION_FRAMES} frames.`;

export const CONVERT: CliCommand = {
  name: "convert",
  summary: "Convert a stream from one dialect to another.",
  argument: "FILE",
  options: {
    from: INPUT_DIALECT,
    to: { value: "D", about: "dialect of the output (required)", choices: DIALECT_NAMES },
    strict: {
      about:
        "with --to loom or export: only the types and fields of the specification; other types become `custom`, and every run ends with a reply",
    },
    "no-envelope": { about: "with --to loom: omit session_id, node_id and event_id" },
    session: { value: "ID", short: "s", about: "session of frames that name none (default: session)" },
    sse: { about: "write server-sent events instead of NDJSON" },
    ...INPUT,
  },
  notes: [
    INPUT_DIALECTS,
    "Reads FILE, or standard input. Rejected frames are reported on standard error with their line, and conversion continues. Events that the target dialect cannot carry are counted there.",
    "Exit codes: 0 all frames converted, 1 some frames rejected, 2 input not readable.",
  ],
  examples: ["loom convert --to loom run.ndjson", "curl -sN URL | loom convert --from engine --to loom"],
};

export const CHECK: CliCommand = {
  name: "check",
  summary: "Check a stream against the specification, or print its JSON Schema.",
  argument: "FILE",
  options: {
    dialect: INPUT_DIALECT,
    frames: { about: "check each frame on its own, not the order of frames" },
    json: { about: "one JSON object per violation; the summary goes to standard error" },
    schema: {
      about: "print the JSON Schema of the dialect (default: loom), or of one of its types, given instead of FILE",
    },
    ...INPUT,
  },
  notes: [
    INPUT_DIALECTS,
    "Reads FILE, or standard input. An error violates a MUST of the specification, a warning a SHOULD.",
    "Exit codes: 0 no errors, or schema printed, 1 errors found, 2 input not readable, or unknown type.",
  ],
  examples: [
    "loom check run.ndjson",
    "curl -sN URL | loom check --dialect engine --json",
    "loom check --schema message_chunk",
  ],
};

const BASE_URL = { value: "URL", about: "base URL of an OpenAI-compatible provider" };

export const MODELS: CliCommand = {
  name: "models",
  summary: "List the models that providers report.",
  argument: "PROVIDER",
  options: { "base-url": BASE_URL, json: { about: "print NDJSON" } },
  notes: [
    "Without PROVIDER, lists the models of each provider with a key, of the provider of LOOM_MODEL and of Ollama, if it runs. A name can be passed to --model.",
    "Exit codes: 0 listed, 1 one of the providers failed, 2 PROVIDER is unknown or failed.",
  ],
  examples: ["loom models", "loom models openai --json"],
};

/** The list of the settings for `--set`. */
export const SET_TABLE = { title: "Settings of --set (agot also has those of got):", rows: listStrategyItems() };

const REPLACED_OPTIONS: { readonly [name: string]: string } = {
  "--adaptive": "use `--agent agot`",
  "--branches": "use `--set got.candidates=…`",
  "--list-models": "use `loom models`",
  "--no-kb": "use `--kb none`",
};

/** Explains an option of an earlier version, and a setting that is used as an option, such as `--beam`. */
export function explainRunOption(name: string): string | undefined {
  const setting = name.replace(/^--(?:max-)?/, ".");
  const item = STRATEGY_ITEM_NAMES.find((each) => each.endsWith(setting));
  return item === undefined ? REPLACED_OPTIONS[name] : `it is a strategy setting: use \`--set ${item}=…\``;
}

export const RUN: CliCommand = {
  name: "run",
  summary: "Run an agent on a message and show its progress.",
  argument: "MESSAGE",
  options: {
    agent: {
      value: "NAME",
      about: "agent: react, tot, got, agot or one of --agents (default: the first of --agents, or react)",
      choices: BUILT_IN_AGENTS,
    },
    agents: {
      value: "FILE",
      about: "JavaScript or TypeScript module with your own agents (default: $LOOM_AGENTS, or none)",
    },
    model: {
      value: "P/M",
      short: "m",
      about: "provider and model, such as openai/gpt-5 (default: $LOOM_MODEL, or offline)",
    },
    "base-url": BASE_URL,
    reasoning: {
      value: "LEVEL",
      about: `how much the model reasons: ${REASONING_LEVELS.join(", ")} (default: auto)`,
      choices: REASONING_LEVELS,
    },
    system: { value: "TEXT", about: "system prompt" },
    set: {
      value: "LIST",
      about: "strategy settings of the built-in agents, such as tot.beam=5,tot.depth=4 (default: none)",
    },
    workspace: { value: "DIR", about: "folder whose files the agent may read, and write after approval" },
    mcp: { value: "FILE", about: "JSON file with the MCP servers to use, under `mcpServers`" },
    "allow-fetch": { about: "allow the agent to fetch public web pages" },
    kb: {
      value: "FILE",
      about:
        "knowledge base to search, or none (default: $LOOM_KB; or the store if it is a database; or knowledge.db next to the default store)",
    },
    retrieve: { about: "search the knowledge base for every message, instead of offering it as a tool" },
    approve: {
      value: "HOW",
      about: "decision on tools that need approval: ask, always or never (default: ask)",
      choices: ["ask", "always", "never"],
    },
    session: { value: "ID", short: "s", about: "session to continue, or ID of a new one (default: a new session)" },
    continue: { about: "continue the session that changed last, of the 200 newest" },
    resume: { about: "continue the unfinished run of the session; takes no MESSAGE" },
    "no-stdin": { about: "do not add standard input to MESSAGE" },
    ...SERVICE_OPTIONS,
    json: { about: "print the frames and the reply as NDJSON" },
    modes: {
      value: "LIST",
      about: `with --json: stream modes to print, from ${STREAM_MODES.join(", ")}, or all (default: everything except graph states)`,
    },
    strict: {
      about:
        "with --json: only the types and fields of the specification, with graph states; other types become `custom`, and every run ends with a reply",
    },
  },
  explainOption: explainRunOption,
  table: SET_TABLE,
  notes: [
    "Agents: react reasons and calls tools until it can answer. tot searches a tree of thoughts: it scores them, keeps the best and backtracks from dead ends. got plans a graph of tasks and runs independent tasks in parallel. agot also splits complex tasks into their own graphs.",
    AGENTS_NOTE,
    "MESSAGE is read from standard input if it is `-`, or if it is absent and standard input is not a terminal. If standard input is a pipe or a file, its text is added to MESSAGE; use --no-stdin in a loop such as `while read`, whose lines would be read. A message has at most 1,000,000 bytes. The answer goes to standard output. Progress goes to standard error if that is a terminal.",
    "Every event is stored before it is shown. To continue a run that was killed or waits for approval, use --resume with the same options: model, tools and limits are not stored. Without a terminal, decide with `loom approve` first. If another process holds the session, that process runs the message if it has the agent, and this one shows it; otherwise this one runs it when the session is free.",
    "With --server or LOOM_SERVER, an agent of that server answers, with its own model and tools; only --agent, --reasoning, --system (added to its system prompt), --approve, --session, --resume and the output options apply. The token is read from --token-file, LOOM_TOKEN_FILE or LOOM_TOKEN. If the connection is cut, the run continues, and the command resumes where it was cut.",
    "Approval is requested on the terminal. Without a terminal, the run is left waiting. --approve always and --approve never apply to this run only: if an earlier run of the session waits for approval, the message waits too.",
    "Ctrl-C cancels the run and keeps its output; a second Ctrl-C exits immediately. SIGTERM does the same, but leaves a run that waits for approval waiting. The run is also cancelled when standard output is closed.",
    "Exit codes: 0 completed, 1 failed, 2 could not start, 3 waiting for approval, 130 cancelled, 141 standard output closed.",
  ],
  examples: [
    'loom run "What is 6*7?"',
    'loom run --model anthropic/claude-sonnet-4-5 --workspace . "Write a poem to poem.txt"',
    'loom run --agent tot "Game of 24: 4 9 10 13"',
    'loom run --agent agot "Write a report on solar power"',
    'loom run --agents agents.mts --agent helper "Hello"',
    'loom run "How do I deploy Loom?"',
    'cat notes.txt | loom run "Summarize these notes"',
    'loom run --json "What is 6*7?" | loom check',
    "loom run --session ID --resume",
    'loom run --server https://agents.example.com --token-file token "What is 6*7?"',
  ],
};

export const DOCTOR: CliCommand = {
  name: "doctor",
  summary: "Check versions, settings, store, port, models and clock, and say what to do.",
  options: {
    config: { value: "FILE", about: "configuration file of the server (default: $LOOM_CONFIG, or none)" },
    store: STORE_OPTION,
    host: { value: "HOST", about: "address that the server listens on (default: $LOOM_HOST, or 127.0.0.1)" },
    port: { value: "PORT", about: "port that the server listens on (default: $LOOM_PORT, or 10338)" },
    agents: { value: "FILE", about: "module with your own agents (default: $LOOM_AGENTS, or none)" },
    json: { about: "one JSON object per check" },
  },
  notes: [
    "Reads the same settings as `loom serve` and changes nothing. It asks each model provider that has a key for its models, which is free, and prints no key.",
    "Exit codes: 0 nothing failed, 1 a check failed, 2 the command could not run.",
  ],
  examples: ["loom doctor", "loom doctor --store postgres://loom@db.example.com/loom --json"],
};

export const INIT: CliCommand = {
  name: "init",
  summary: "Create a project with an agent, a tool, a server, a page, types and its own store.",
  argument: "FOLDER",
  options: {
    package: { value: "SPEC", about: "version, file or URL of loom-agent to install (default: what is installed)" },
  },
  notes: [
    "Creates the files in FOLDER, or in the current folder. A package.json that is already there is extended: if it has a script `start`, the server starts with `npm run loom`. A README.md and a tsconfig.json are kept, and no other file is overwritten.",
    "Sessions and documents are stored in the folder data of the project.",
    "Exit codes: 0 created, 2 not created.",
  ],
  examples: ["loom init my-agent", "cd my-agent && npm install && npm start"],
};
