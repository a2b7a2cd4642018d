/** Reads and validates the options of `loom run`, the environment and standard input before anything is opened. */
import { randomBytes } from "node:crypto";
import { isLoomError, type StreamModes } from "../../protocol/index.ts";
import { REASONING_LEVELS, type ReasoningLevel } from "../../protocol/reasoning-level.ts";
import { readStreamModes, STREAM_MODES } from "../../protocol/stream-modes.ts";
import { CliError, type ParsedCommand, textOption } from "../command.ts";
import type { LoadedAgents } from "../load-agents.ts";
import { readChunks } from "../read-chunks.ts";
import type { Terminal } from "../terminal.ts";
import { chooseKnowledgeBase, type KnowledgeChoice } from "../kb/default-knowledge-base.ts";
import { type Environment, findStore, readVariable } from "../find-store.ts";
import type { FrameFormat } from "./print-frames.ts";
import { AGENT_OPTIONS, type RunAgentOptions, readChoice, readAgentOptions } from "./read-agent-options.ts";

export type ApprovalChoice = "ask" | "always" | "never";

export interface RunOptions {
  /** Undefined to resume a run. */
  readonly message: string | undefined;
  readonly sessionId: string;
  /** The session ID was generated here. */
  readonly isNewSession: boolean;
  readonly agent: RunAgentOptions;
  readonly model: string;
  readonly baseURL: string | undefined;
  readonly reasoning: ReasoningLevel;
  readonly system: string | undefined;
  readonly workspace: string | undefined;
  readonly mcp: string | undefined;
  readonly allowFetch: boolean;
  /** Undefined: no knowledge base. */
  readonly knowledge: (KnowledgeChoice & { readonly isAutomatic: boolean }) | undefined;
  readonly approve: ApprovalChoice;
  readonly store: string;
  /** Undefined: text output instead of frames. */
  readonly frames: FrameFormat | undefined;
  /** Returns the command that resumes the run with the same options, plus the options that enable `missingTools`. */
  readonly describeResume: (missingTools?: readonly string[]) => string;
}

const APPROVALS: readonly string[] = ["ask", "always", "never"] satisfies readonly ApprovalChoice[];
/** A message is stored in one record, with some overhead. */
export const MAX_MESSAGE_BYTES = 1000 * 1000;

export async function readRunOptions(
  parsed: ParsedCommand,
  terminal: Terminal,
  env: Environment = process.env,
  own: LoadedAgents = {},
): Promise<RunOptions> {
  const text = (name: string): string | undefined => textOption(parsed, name);
  const resume = parsed.options["resume"] === true;
  const session = text("session");
  if (resume && session === undefined)
    throw new CliError("`--resume` needs `--session ID`", "the session id was printed when the run started");
  if (resume && parsed.argument !== undefined) throw new CliError("`--resume` does not take a message");
  const sessionId = session ?? randomBytes(6).toString("hex");
  const options = {
    sessionId,
    isNewSession: session === undefined,
    agent: readAgentOptions(parsed, own),
    model: text("model") ?? readVariable(env, "LOOM_MODEL") ?? "offline",
    baseURL: text("base-url"),
    reasoning: readChoice("reasoning", text("reasoning") ?? "auto", REASONING_LEVELS) as ReasoningLevel,
    system: text("system"),
    workspace: text("workspace"),
    mcp: text("mcp"),
    allowFetch: parsed.options["allow-fetch"] === true,
    knowledge: readKnowledge(parsed, env),
    approve: readChoice("approve", text("approve") ?? "ask", APPROVALS) as ApprovalChoice,
    store: text("store") ?? findStore(env),
    frames: readFrameFormat(parsed),
    describeResume: (missingTools: readonly string[] = []) => describeResume(parsed, sessionId, missingTools),
  };
  return { ...options, message: resume ? undefined : await readMessage(parsed.argument, terminal) };
}

/** Options to repeat when the run is resumed, since they are not stored. */
const RESUME_OPTIONS = [
  "store",
  ...AGENT_OPTIONS,
  "model",
  "base-url",
  "reasoning",
  "system",
  "workspace",
  "mcp",
  "allow-fetch",
  "kb",
  "no-kb",
  "retrieve",
];

function describeResume({ options }: ParsedCommand, sessionId: string, missingTools: readonly string[]): string {
  const kept = RESUME_OPTIONS.flatMap((name) => {
    const value = options[name];
    if (value === undefined || value === false) return [];
    return value === true ? [`--${name}`] : [quoteOption(name, value)];
  });
  // An option that was given did not provide the tool.
  const lacking = new Set(missingTools.map(findOptionForTool).filter((name) => options[name] === undefined));
  const added = [...lacking].map((name) => `--${name}${PLACEHOLDERS[name]}`);
  return ["loom run", quoteOption("session", sessionId), ...kept, ...added, "--resume"].join(" ");
}

const PLACEHOLDERS = { kb: " FILE", workspace: " DIR", mcp: " FILE", "allow-fetch": "" };

/** The option that enables a tool. */
function findOptionForTool(tool: string): keyof typeof PLACEHOLDERS {
  if (tool === "http_fetch") return "allow-fetch";
  if (tool === "search_knowledge_base") return "kb";
  return /^(?:read|write|delete|list|search)_files?$/.test(tool) ? "workspace" : "mcp";
}

/** Quotes a value for a shell. A value that starts with `-` needs `=`. */
function quoteOption(name: string, value: string): string {
  const word = /^[\w@%+:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
  return `--${name}${value.startsWith("-") ? "=" : " "}${word}`;
}

function readKnowledge(parsed: ParsedCommand, env: Environment): RunOptions["knowledge"] {
  const given = textOption(parsed, "kb");
  const isAutomatic = parsed.options["retrieve"] === true;
  if (parsed.options["no-kb"] !== true)
    return { ...chooseKnowledgeBase(given, env, textOption(parsed, "store")), isAutomatic };
  if (given === undefined && !isAutomatic) return undefined;
  throw new CliError(`\`--no-kb\` and \`--${isAutomatic ? "retrieve" : "kb"}\` cannot be used together`);
}

function readFrameFormat(parsed: ParsedCommand): FrameFormat | undefined {
  const { json, modes, strict } = parsed.options;
  if (json === true) return { modes: readModes(textOption(parsed, "modes")), strict: strict === true };
  if (modes !== undefined) throw new CliError("`--modes` needs `--json`");
  if (strict === true) throw new CliError("`--strict` needs `--json`");
  return undefined;
}

function readModes(list: string | undefined): StreamModes | undefined {
  if (list === undefined) return undefined;
  try {
    return readStreamModes(list.split(",").map((name) => name.trim()));
  } catch (error) {
    if (!isLoomError(error)) throw error;
    throw new CliError(error.message, `choose from ${[...STREAM_MODES, "all"].join(", ")}`);
  }
}

async function readMessage(argument: string | undefined, terminal: Terminal): Promise<string> {
  if (argument === undefined && terminal.stdin.isTTY)
    throw new CliError("no message", 'pass one, for example: `loom run "What is 6*7?"`');
  const message = argument === undefined || argument === "-" ? await readInput(terminal) : argument;
  if (message.trim() === "") throw new CliError("the message is empty");
  if (Buffer.byteLength(message) > MAX_MESSAGE_BYTES) throw tooLong();
  return message;
}

async function readInput(terminal: Terminal): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of readChunks("-", terminal)) {
    bytes += chunk.length;
    if (bytes > MAX_MESSAGE_BYTES) throw tooLong();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8").trimEnd();
}

function tooLong(): CliError {
  return new CliError(`the message is longer than ${MAX_MESSAGE_BYTES} bytes`);
}
