/**
 * What a chat needs besides the screen: sessions, and agents that answer in them. Either agents of this process with a
 * local store, or the agents of a server.
 */
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { findNearest } from "../../protocol/find-nearest.ts";
import type { ReasoningLevel } from "../../protocol/reasoning-level.ts";
import type { Log } from "../../log/index.ts";
import { CliError, type ParsedCommand, quoteWord, textOption } from "../command.ts";
import { explainErrors } from "../explain-error.ts";
import { readVariable } from "../find-store.ts";
import { cutColumns } from "../fit-text.ts";
import { type LoadedAgents, loadAgents } from "../load-agents.ts";
import { openStore } from "../open-store.ts";
import { createReporter, MESSAGE_LIMITS } from "../run-agent.ts";
import { type AssembledAgent, assembleAgent } from "../run/assemble-agent.ts";
import { describeOtherAgent, findOtherAgent, type OtherAgentWork } from "../run/find-other-agent.ts";
import { nameAgent } from "../run/read-agent-options.ts";
import { type AssemblyOptions, readAssemblyOptions, readReasoning } from "../run/read-run-options.ts";
import { SessionHolder } from "../run/session-holder.ts";
import { LocalService } from "../sessions/local-service.ts";
import { describeNextCommand } from "../sessions/server-settings.ts";
import type { ServerAgent, SessionService } from "../sessions/session-service.ts";
import type { StoreParts } from "../store-parts.ts";
import { BUILT_IN_AGENTS } from "../strategy-items.ts";
import { CHAT_RESOURCES } from "./chat-command.ts";

/** Fields that this chat adds to every message. */
export interface ChatRunFields {
  readonly agent?: string;
  readonly reasoning?: ReasoningLevel;
  readonly instructions?: string;
}

export interface ChatBackend extends AsyncDisposable {
  readonly service: SessionService;
  readonly agentName: string;
  /** Undefined if the server does not name it. */
  readonly modelName: string | undefined;
  readonly runFields: ChatRunFields;
  listAgents(): Promise<readonly string[]>;
  /** Throws a CliError if there is no such agent. */
  selectAgent(name: string): Promise<void>;
  /** Throws a CliError if the model is not available. */
  selectModel(name: string): Promise<void>;
  /**
   * From now on, this process runs the messages of the session, and of no other, if no other process does. Throws a
   * CliError if it cannot continue the unfinished run of the session; then nothing changes.
   */
  hold(sessionId: string): Promise<void>;
  /** Stops running messages here. A live run is left for the next process. */
  release(): Promise<void>;
  /** Tools that the unfinished run of the session needs, and that this process lacks. The run waits for them. */
  readonly missingTools: readonly string[];
}

export type ReportNote = (text: string) => void;

export async function openLocalBackend(parsed: ParsedCommand, store: string, onNote: ReportNote): Promise<ChatBackend> {
  const file = textOption(parsed, "agents") ?? readVariable(process.env, "LOOM_AGENTS");
  const own = file === undefined ? {} : await loadAgents(file);
  const options = readAssemblyOptions(parsed, process.env, own);
  const parts = await openStore(store);
  try {
    const log = await parts.openLog({ limits: MESSAGE_LIMITS });
    const given = { parsed, own, parts, log, onNote, onError: createReporter({ warn: onNote }) };
    return new LocalBackend(given, { parsed, options, assembled: await assemble(options, given) });
  } catch (error) {
    await parts[Symbol.asyncDispose]();
    throw error;
  }
}

interface LocalBackendOptions {
  readonly parsed: ParsedCommand;
  readonly own: LoadedAgents;
  readonly parts: StoreParts;
  readonly log: Log;
  readonly onNote: ReportNote;
  readonly onError: (error: unknown, errorId: string) => void;
}

/** An agent that is ready to replace the current one, and the options it was created with. */
interface PreparedAgent {
  readonly parsed: ParsedCommand;
  readonly options: AssemblyOptions;
  readonly assembled: AssembledAgent;
}

class LocalBackend implements ChatBackend {
  readonly service: LocalService;
  readonly #options: LocalBackendOptions;
  #current: PreparedAgent;
  #holder: SessionHolder | undefined;
  #heldId: string | undefined;

  constructor(options: LocalBackendOptions, first: PreparedAgent) {
    this.#options = options;
    this.#current = first;
    this.service = new LocalService(options.log, options.parts);
  }

  get agentName(): string {
    return nameAgent(this.#current.options.agent);
  }

  get modelName(): string {
    return this.#isOwn ? "its own model" : this.#current.options.model;
  }

  get runFields(): ChatRunFields {
    return { agent: this.agentName };
  }

  get #isOwn(): boolean {
    return this.#current.options.agent.kind === "own";
  }

  async listAgents(): Promise<readonly string[]> {
    return [...new Set([...Object.keys(this.#options.own), ...BUILT_IN_AGENTS])];
  }

  async selectAgent(name: string): Promise<void> {
    assertAgent(name, await this.listAgents());
    await this.#use(await this.#prepare({ agent: name }));
  }

  async selectModel(name: string): Promise<void> {
    if (this.#isOwn)
      throw new CliError(`the agent ${this.agentName} has its own model`, "choose another agent with /agent");
    await this.#use(await this.#prepare({ model: name }));
  }

  async hold(sessionId: string): Promise<void> {
    if (this.#heldId === sessionId) return;
    const { log, onNote, onError } = this.#options;
    const cancelCommand = describeNextCommand(this.#options.parsed, `cancel ${quoteWord(sessionId)}`);
    const other = await findOtherAgent(log, sessionId, this.agentName);
    const prepared = other?.kind === "run" ? await this.#prepareFor(other, cancelCommand) : undefined;
    const blobs = await this.service.openAgentBlobs();
    await this.release();
    if (prepared !== undefined) {
      await this.#use(prepared);
      onNote(`agent ${cutColumns(this.agentName, 40)}, as in the unfinished run of this session`);
    }
    this.#heldId = sessionId;
    const holder = new SessionHolder({
      log,
      sessionId,
      agent: this.#current.assembled.agent,
      agentName: this.agentName,
      cancelCommand,
      blobs,
      onError,
      onHeld: () => onNote("another process holds this session and runs the messages of its agent"),
      onOtherAgent: (name) =>
        onNote(
          `a queued message is for the agent ${cutColumns(name, 40)}, and later ones wait for it; choose the agent with /agent, or cancel the message with: ${cancelCommand}`,
        ),
    });
    this.#holder = holder;
    holder.finished.catch((error: unknown) => {
      // The next message tries again.
      if (this.#holder === holder) [this.#holder, this.#heldId] = [undefined, undefined];
      const hint = error instanceof CliError && error.hint !== undefined ? `; ${error.hint}` : "";
      const why = error instanceof Error ? cutColumns(error.message, 300) : "unknown error";
      onNote(`messages are not run here: ${why}${hint}`);
    });
    // Then it is known whether tools are missing.
    await holder.ready.catch(() => undefined);
  }

  /** Creates the agent of an unfinished run. Throws a CliError if it is not loaded. */
  async #prepareFor(other: OtherAgentWork, cancelCommand: string): Promise<PreparedAgent> {
    if (!(await this.listAgents()).includes(other.agent))
      throw describeOtherAgent(other, this.agentName, cancelCommand);
    return this.#prepare({ agent: other.agent });
  }

  async release(): Promise<void> {
    const holder = this.#holder;
    this.#holder = undefined;
    this.#heldId = undefined;
    await holder?.[Symbol.asyncDispose]();
  }

  get missingTools(): readonly string[] {
    return this.#holder?.missingTools ?? [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
    await this.#current.assembled[Symbol.asyncDispose]();
    for (const { agent } of Object.values(this.#options.own)) await agent.close();
    await this.service[Symbol.asyncDispose]();
  }

  /** Creates another agent, for `#use`. The current one stays. */
  async #prepare(change: { readonly agent?: string; readonly model?: string }): Promise<PreparedAgent> {
    const { parsed: current } = this.#current;
    const { options: given } = current;
    // Options of one kind of agent do not apply to another.
    const kept = Object.entries(given).filter(([name]) => change.agent === undefined || CHAT_RESOURCES.has(name));
    const isOwn = change.agent !== undefined && Object.hasOwn(this.#options.own, change.agent);
    const parsed: ParsedCommand = {
      ...current,
      options: { ...(isOwn ? {} : Object.fromEntries(kept)), agent: this.agentName, ...change },
    };
    const options = readAssemblyOptions(parsed, process.env, this.#options.own);
    const assembled = await assemble(options, this.#options);
    return { parsed: isOwn ? { ...current, options: { ...given, ...change } } : parsed, options, assembled };
  }

  /** Replaces the agent. The session stays held. */
  async #use(next: PreparedAgent): Promise<void> {
    const heldId = this.#heldId;
    await this.release();
    // An agent of the user may be chosen again.
    if (!this.#isOwn) await this.#current.assembled[Symbol.asyncDispose]();
    this.#current = next;
    if (heldId !== undefined) await this.hold(heldId);
  }
}

async function assemble(
  options: AssemblyOptions,
  { parts, onNote, onError }: Pick<LocalBackendOptions, "parts" | "onNote" | "onError">,
): Promise<AssembledAgent> {
  const onWarning = (warning: string): void => onNote(cutColumns(warning, 500));
  const assembled = await explainErrors(() => assembleAgent(options, onError, { onWarning, store: parts }));
  for (const warning of assembled.warnings) onWarning(warning);
  return assembled;
}

export async function openServerBackend(parsed: ParsedCommand, service: SessionService): Promise<ChatBackend> {
  const agents = await service.listAgents();
  const name = textOption(parsed, "agent");
  const [first] = agents;
  const chosen = agents.find((each) => (name === undefined ? each.is_default : each.name === name)) ?? first;
  const fields = { reasoning: readReasoning(parsed), instructions: textOption(parsed, "system") };
  const backend = new ServerBackend(service, agents, chosen, dropUndefined(fields));
  if (name !== undefined) await backend.selectAgent(name);
  return backend;
}

class ServerBackend implements ChatBackend {
  readonly service: SessionService;
  readonly missingTools = [];
  readonly #agents: readonly ServerAgent[];
  readonly #fields: ChatRunFields;
  #chosen: ServerAgent | undefined;

  constructor(
    service: SessionService,
    agents: readonly ServerAgent[],
    chosen: ServerAgent | undefined,
    fields: ChatRunFields,
  ) {
    this.service = service;
    this.#agents = agents;
    this.#chosen = chosen;
    this.#fields = fields;
  }

  get agentName(): string {
    return this.#chosen?.name ?? "default agent";
  }

  get modelName(): string | undefined {
    return this.#chosen?.model;
  }

  get runFields(): ChatRunFields {
    return { ...this.#fields, ...dropUndefined({ agent: this.#chosen?.name }) };
  }

  async listAgents(): Promise<readonly string[]> {
    return this.#agents.map(({ name }) => name);
  }

  async selectAgent(name: string): Promise<void> {
    assertAgent(name, await this.listAgents());
    this.#chosen = this.#agents.find((agent) => agent.name === name);
  }

  async selectModel(name: string): Promise<void> {
    const found = this.#agents.filter(({ model }) => model === name);
    const same = found.find(({ kind }) => kind === this.#chosen?.kind) ?? found[0];
    if (same === undefined)
      throw new CliError(`no agent of the server uses the model \`${name}\``, "/agent lists the agents");
    this.#chosen = same;
  }

  async hold(): Promise<void> {
    // The server runs the messages.
  }

  async release(): Promise<void> {
    // The server continues the runs.
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.service[Symbol.asyncDispose]();
  }
}

function assertAgent(name: string, known: readonly string[]): void {
  if (known.includes(name)) return;
  const nearest = findNearest(name, known);
  throw new CliError(
    `there is no agent \`${name}\``,
    nearest === undefined ? `choose one of ${known.join(", ")}` : `did you mean ${nearest}?`,
  );
}
