/** Reads and validates the options of `loom run`, the environment and standard input before anything is opened. */
import { isUtf8 } from "node:buffer";
import { randomBytes } from "node:crypto";
import { fstatSync } from "node:fs";
import { isLoomError } from "../../protocol/index.ts";
import { REASONING_LEVELS, type ReasoningLevel } from "../../protocol/reasoning-level.ts";
import { readStreamModes, type StreamModes } from "../../protocol/stream-modes.ts";
import type { AgentResourcesOptions } from "../agent-resources.ts";
import { CliError, type ParsedCommand, quoteGiven, quoteOption, quoteWord, textOption } from "../command.ts";
import type { LoadedAgents } from "../load-agents.ts";
import { readChunks } from "../read-chunks.ts";
import type { Terminal } from "../terminal.ts";
import { chooseKnowledgeBase } from "../kb/default-knowledge-base.ts";
import { type Environment, findStore, readVariable } from "../find-store.ts";
import { NONE } from "../serve/setting.ts";
import { describeNextCommand, SERVICE_OPTIONS } from "../sessions/server-settings.ts";
import type { FrameFormat } from "./print-frames.ts";
import {
  assertSettingsApply,
  RESOURCE_OPTIONS,
  type RunAgentOptions,
  readAgentOptions,
  readChoice,
} from "./read-agent-options.ts";

export type ApprovalChoice = "ask" | "always" | "never";

/** Which agent to create, with which model and tools. */
export interface AssemblyOptions extends AgentResourcesOptions {
  readonly agent: RunAgentOptions;
  readonly reasoning: ReasoningLevel;
  readonly system: string | undefined;
}

export interface RunOptions extends AssemblyOptions {
  /** Undefined to resume a run. */
  readonly message: string | undefined;
  readonly sessionId: string;
  /** The session ID was generated here. */
  readonly isNewSession: boolean;
  readonly approve: ApprovalChoice;
  readonly store: string;
  /** Undefined: text output instead of frames. */
  readonly frames: FrameFormat | undefined;
  /** Returns the command that resumes the run with the same options, plus the options that enable `missingTools`. */
  readonly describeResume: (missingTools?: readonly string[]) => string;
  /** Returns a command on the session with the same store or server, such as `loom approve`. */
  readonly describeCommand: (command: string) => string;
}

/** The options that matter once the message is sent. */
export type WatchOptions = Pick<RunOptions, "sessionId" | "approve" | "frames" | "describeResume" | "describeCommand">;

/** Options of a run on a server, whose agents have their own models and tools. */
export interface ServerRunOptions extends WatchOptions, Pick<RunOptions, "message" | "isNewSession"> {
  /** Default: the default agent of the server. */
  readonly agent: string | undefined;
  readonly reasoning: ReasoningLevel | undefined;
  /** Added to the system prompt of the agent. */
  readonly instructions: string | undefined;
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
  const options = {
    ...readSession(parsed),
    ...readAssemblyOptions(parsed, env, own),
    approve: readApproval(parsed),
    store: textOption(parsed, "store") ?? findStore(env),
    frames: readFrameFormat(parsed),
  };
  assertSettingsApply(parsed, options.agent);
  return {
    ...options,
    describeResume: (missingTools = []) => describeResume(parsed, options.sessionId, missingTools),
    describeCommand: (command) => describeNextCommand(parsed, `${command} ${quoteWord(options.sessionId)}`),
    message: await readMessage(parsed, terminal),
  };
}

/** Reads the options of the agent, its model and its tools. */
export function readAssemblyOptions(parsed: ParsedCommand, env: Environment, own: LoadedAgents): AssemblyOptions {
  const text = (name: string): string | undefined => textOption(parsed, name);
  return {
    agent: readAgentOptions(parsed, own),
    model: text("model") ?? readVariable(env, "LOOM_MODEL") ?? "offline",
    baseURL: text("base-url"),
    reasoning: readReasoning(parsed) ?? "auto",
    system: text("system"),
    workspace: text("workspace"),
    mcp: text("mcp"),
    allowFetch: parsed.options["allow-fetch"] === true,
    knowledge: readKnowledge(parsed, env),
  };
}

/** Options of built-in agents that also apply to those of a server. */
const SERVER_OPTIONS: readonly string[] = ["reasoning", "system"];

/** Throws a CliError for an option of local agents. `what` is "a run on" or "a chat with". */
export function assertNoLocalOptions({ options }: ParsedCommand, what: string): void {
  const local = ["agents", ...RESOURCE_OPTIONS].filter((name) => !SERVER_OPTIONS.includes(name));
  const given = local.find((name) => options[name] !== undefined);
  if (given === undefined) return;
  throw new CliError(
    `\`--${given}\` does not apply to ${what} a server`,
    "the agents of the server have their own models and tools; use `--store` to run an agent here",
  );
}

export async function readServerRunOptions(parsed: ParsedCommand, terminal: Terminal): Promise<ServerRunOptions> {
  assertNoLocalOptions(parsed, "a run on");
  const session = readSession(parsed);
  return {
    ...session,
    agent: textOption(parsed, "agent"),
    reasoning: readReasoning(parsed),
    instructions: textOption(parsed, "system"),
    approve: readApproval(parsed),
    frames: readFrameFormat(parsed),
    describeResume: () => describeResume(parsed, session.sessionId, []),
    describeCommand: (command) => describeNextCommand(parsed, `${command} ${quoteWord(session.sessionId)}`),
    message: await readMessage(parsed, terminal),
  };
}

function readSession(parsed: ParsedCommand): Pick<RunOptions, "sessionId" | "isNewSession"> {
  const resume = parsed.options["resume"] === true;
  const session = textOption(parsed, "session");
  if (resume && session === undefined)
    throw new CliError(
      "`--resume` needs `--session ID` or `--continue`",
      "the session id was printed when the run started",
    );
  if (resume && parsed.argument !== undefined) throw new CliError("`--resume` does not take a message");
  return { sessionId: session ?? randomBytes(6).toString("hex"), isNewSession: session === undefined };
}

export function readReasoning(parsed: ParsedCommand): ReasoningLevel | undefined {
  const given = textOption(parsed, "reasoning");
  return given === undefined ? undefined : (readChoice("reasoning", given, REASONING_LEVELS) as ReasoningLevel);
}

function readApproval(parsed: ParsedCommand): ApprovalChoice {
  return readChoice("approve", textOption(parsed, "approve") ?? "ask", APPROVALS) as ApprovalChoice;
}

/** Options to repeat when the run is resumed, since they are not stored. */
const RESUME_OPTIONS = [...Object.keys(SERVICE_OPTIONS), "agents", "agent", ...RESOURCE_OPTIONS];

function describeResume(parsed: ParsedCommand, sessionId: string, missingTools: readonly string[]): string {
  const kept = quoteGiven(parsed, RESUME_OPTIONS);
  const added = describeToolOptions(missingTools, parsed.options);
  return ["loom run", quoteOption("session", sessionId), ...kept, ...added, "--resume"].join(" ");
}

/** Returns the options that enable the tools. An option that was given did not provide its tool, and is left out. */
export function describeToolOptions(tools: readonly string[], given: ParsedCommand["options"] = {}): readonly string[] {
  const names = new Set(tools.map(findOptionForTool).filter((name) => given[name] === undefined));
  return [...names].map((name) => `--${name}${PLACEHOLDERS[name]}`);
}

const PLACEHOLDERS = { kb: " FILE", workspace: " DIR", mcp: " FILE", "allow-fetch": "" };

/** The option that enables a tool. */
function findOptionForTool(tool: string): keyof typeof PLACEHOLDERS {
  if (tool === "http_fetch") return "allow-fetch";
  if (tool === "search_knowledge_base") return "kb";
  return /^(?:read|write|delete|list|search)_files?$/.test(tool) ? "workspace" : "mcp";
}

function readKnowledge(parsed: ParsedCommand, env: Environment): RunOptions["knowledge"] {
  const isAutomatic = parsed.options["retrieve"] === true;
  const choice = chooseKnowledgeBase(textOption(parsed, "kb"), env, textOption(parsed, "store"));
  if (choice.file !== NONE) return { ...choice, isAutomatic };
  if (isAutomatic) throw new CliError("`--retrieve` and `--kb none` cannot be used together");
  return undefined;
}

function readFrameFormat(parsed: ParsedCommand): FrameFormat | undefined {
  const { json, modes, strict } = parsed.options;
  if (json === true) return { modes: readModes(parsed), strict: strict === true };
  if (modes !== undefined) throw new CliError("`--modes` needs `--json`");
  if (strict === true) throw new CliError("`--strict` needs `--json`");
  return undefined;
}

/** Reads `--modes`. Throws a CliError. */
export function readModes(parsed: ParsedCommand): StreamModes | undefined {
  const list = textOption(parsed, "modes");
  if (list === undefined) return undefined;
  try {
    return readStreamModes(list.split(",").map((name) => name.trim()));
  } catch (error) {
    if (!isLoomError(error)) throw error;
    throw new CliError(error.message);
  }
}

/** Returns undefined if a run is resumed. Piped input is added to a message that is given as an argument. */
async function readMessage({ argument, options }: ParsedCommand, terminal: Terminal): Promise<string | undefined> {
  if (options["resume"] === true) return undefined;
  const hint = 'pass one, for example: `loom run "What is 6*7?"`';
  const isRead = argument === undefined || argument === "-";
  if (isRead && options["no-stdin"] === true) throw new CliError("`--no-stdin` needs a message", hint);
  if (argument === undefined && terminal.stdin.isTTY) throw new CliError("no message", hint);
  const isAdded = !isRead && options["no-stdin"] !== true && isPiped(terminal);
  const added = isAdded ? await readInput(terminal, ADDED) : "";
  const given = isRead ? await readInput(terminal, "waiting for the message on standard input") : argument;
  const message = [given, added].filter((text) => text !== "").join("\n\n");
  if (message.trim() === "") throw new CliError("the message is empty", hint);
  if (Buffer.byteLength(message) > MAX_MESSAGE_BYTES) throw tooLong();
  return message;
}

const ADDED = "waiting for standard input, which is added to the message; --no-stdin sends the message without it";
/** Time without input until the command reports that it waits, in milliseconds. */
const SILENT_MS = 1000;

/**
 * Whether standard input is a pipe or a file. Programs that start this command often leave a socket or a device there
 * that never ends.
 */
function isPiped({ stdin }: Terminal): boolean {
  if (stdin.fd === undefined) return false;
  try {
    const kind = fstatSync(stdin.fd);
    return kind.isFIFO() || kind.isFile();
  } catch {
    return false;
  }
}

async function readInput(terminal: Terminal, waiting: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const timer = terminal.stdin.isTTY ? undefined : setTimeout(() => terminal.warn(waiting), SILENT_MS);
  try {
    for await (const chunk of readChunks("-", terminal)) {
      clearTimeout(timer);
      bytes += chunk.length;
      if (bytes > MAX_MESSAGE_BYTES) throw tooLong();
      chunks.push(chunk);
    }
  } finally {
    clearTimeout(timer);
  }
  const text = Buffer.concat(chunks);
  if (!isUtf8(text)) throw new CliError("standard input is not UTF-8 text");
  return text.toString("utf8").trimEnd();
}

function tooLong(): CliError {
  return new CliError(`the message is longer than ${MAX_MESSAGE_BYTES} bytes`);
}
