/**
 * The agents of a server by name, and the session handlers that dispatch each run to its agent. It knows no sessions.
 */
import type { AgentBlobs } from "../../agents/attachments.ts";
import { NO_OUTPUT } from "../../agents/output-format.ts";
import type { WriteTitle } from "../../agents/create-title-writer.ts";
import type { Agent } from "../../agents/index.ts";
import type { DeadRun, Run, SessionOptions } from "../../engine/index.ts";
import type { Log } from "../../log/index.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { describeValue } from "../../protocol/fault.ts";
import { LoomError } from "../../protocol/index.ts";
import {
  checkCaps,
  checkStrategySettings,
  describeSettings,
  type StrategyAgent,
  type StrategyLimits,
  type StrategySettings,
} from "../../protocol/strategy-settings.ts";
import { assertNoSameName } from "../../tools/add-client-tools.ts";
import type { AgentDemands, ServedAgentInfo, ServedAgent } from "./run-dispatcher.ts";

/** The agents of a server by name. Clients choose one with this name. */
export type ServedAgents = { readonly [name: string]: Agent | ServedAgent };

type SessionHandlers = Required<
  Pick<
    SessionOptions,
    "agent" | "onRun" | "canResume" | "resume" | "restart" | "canRestart" | "mayWait" | "isIdempotent"
  >
>;

export interface AgentRegistryOptions {
  /** The agent for messages that name none. Default: the first one. */
  readonly defaultAgent?: string | undefined;
  /** The files of messages and tools. */
  readonly blobs?: AgentBlobs | undefined;
  /** Receives the errors of agents that have no `onError`. */
  readonly onError?: ((error: unknown, errorId: string) => void) | undefined;
  /** Called before a new run is executed. If it rejects, the run fails with that error. */
  readonly admit?: ((run: Run) => Promise<void>) | undefined;
  /** Called when this process begins to execute or resume a run. */
  readonly onRun?: ((run: Run) => void) | undefined;
}

interface RegisteredAgent {
  readonly info: ServedAgentInfo;
  readonly hasOutput: boolean;
  readonly strategy: (StrategyLimits & { readonly agent: StrategyAgent }) | undefined;
  readonly writeTitle: WriteTitle | undefined;
  readonly handlers: ReturnType<Agent["sessionOptions"]>;
}

function assertAgent(name: string, value: unknown): void {
  if (typeof (Object(value) as Partial<Agent>).sessionOptions === "function") return;
  const what = `"${name}" in \`agents\` is not an agent, but ${describeValue(value)}`;
  throw new LoomError("invalid_arguments", `${what}; create one with \`agent\` or \`foreignAgent\``, {
    option: "agents",
  });
}

function assertAccepts(name: string, limits: RegisteredAgent["strategy"], strategy: StrategySettings): void {
  if (limits === undefined)
    throw new LoomError("invalid_command", `The agent "${name}" has no strategy settings; send no \`strategy\``, {
      agent: name,
      option: "strategy",
    });
  checkStrategySettings(limits.agent, strategy);
  checkCaps(limits.agent, strategy, limits);
}

export class AgentRegistry {
  readonly #default: string;
  readonly #agents = new Map<string, RegisteredAgent>();
  readonly #admit: (run: Run) => Promise<void>;
  readonly #onRun: (run: Run) => void;

  constructor(
    log: Log,
    agents: ServedAgents,
    { defaultAgent, blobs, onError, admit = async () => undefined, onRun }: AgentRegistryOptions = {},
  ) {
    this.#admit = admit;
    this.#onRun = onRun ?? (() => undefined);
    const [first] = Object.keys(agents);
    if (first === undefined)
      throw new LoomError("invalid_arguments", "A server needs at least one agent", { option: "agents" });
    this.#default = defaultAgent ?? first;
    for (const [name, value] of Object.entries(agents)) {
      const registered: ServedAgent = "agent" in Object(value) ? (value as ServedAgent) : { agent: value as Agent };
      const { agent, description, model, writeTitle, strategyCaps: caps } = registered;
      assertAgent(name, agent);
      // An agent of an older copy of the package has no such settings.
      const strategy = agent.strategy === undefined ? undefined : { ...agent.strategy, caps };
      if (strategy !== undefined) checkStrategySettings(strategy.agent, caps ?? {}, name);
      const info: ServedAgentInfo = dropUndefined({
        name,
        kind: agent.kind,
        isAdaptive: agent.isAdaptive,
        description,
        model,
        tools: agent.toolNames,
        ...(strategy === undefined ? {} : { settings: describeSettings(strategy.agent, strategy) }),
        isDefault: name === this.#default,
      });
      const { hasOutput } = agent;
      const handlers = agent.sessionOptions(log, { blobs, onError });
      this.#agents.set(name, { info, hasOutput, strategy, writeTitle, handlers });
    }
    this.resolve(this.#default);
  }

  get infos(): readonly ServedAgentInfo[] {
    return [...this.#agents.values()].map(({ info }) => info);
  }

  /**
   * Returns the name of a registered agent. Throws `unknown_agent`, or `invalid_command` if the agent cannot do what the
   * request asks for.
   */
  resolve(name = this.#default, { clientTools = [], outputSchema, strategy }: AgentDemands = {}): string {
    const { info, hasOutput, strategy: limits } = this.#get(name);
    if (strategy !== undefined) assertAccepts(name, limits, strategy);
    if (outputSchema !== undefined && !hasOutput) throw new LoomError("invalid_command", NO_OUTPUT, { agent: name });
    assertNoSameName(
      clientTools.map((tool) => tool.name),
      (tool) => info.tools.includes(tool),
    );
    return name;
  }

  /** Returns how an agent writes titles; undefined if it does not. */
  findTitleWriter(name = this.#default): WriteTitle | undefined {
    return this.#agents.get(name)?.writeTitle;
  }

  /** Creates the options for a session whose runs may use any agent. */
  createSessionHandlers(): SessionHandlers {
    const onRun = async (run: Run): Promise<void> => {
      await this.#admit(run);
      this.#onRun(run);
      await this.#get(run.agent ?? this.#default).handlers.onRun(run);
    };
    return {
      agent: this.#default,
      // An unknown agent fails the run instead of refusing the message, so that clients that follow the run see it.
      onRun,
      // The message was accepted, so it is executed even when the first process was killed right after the start.
      restart: onRun,
      canRestart: (run: Run) => this.#findForRun(run)?.handlers.canRestart(run) === true,
      canResume: (dead: Pick<DeadRun, "run" | "calls">) =>
        dead.run.work.checkpoint === undefined || this.#findForRun(dead.run)?.handlers.canResume(dead) === true,
      resume: (dead: DeadRun) => {
        this.#onRun(dead.run);
        return this.#findForRun(dead.run)?.handlers.resume(dead);
      },
      // End a run that no agent here can resume: waiting for the user would only keep its session held.
      mayWait: false,
      isIdempotent: (name: string, run: Run) => this.#findForRun(run)?.handlers.isIdempotent(name, run) ?? false,
    };
  }

  #get(name: string): RegisteredAgent {
    const registered = this.#agents.get(name);
    if (registered !== undefined) return registered;
    const known = [...this.#agents.keys()];
    throw new LoomError("unknown_agent", `Unknown agent "${name}"; choose one of: ${known.join(", ")}`, {
      agent: name,
      agents: known,
    });
  }

  /** Finds the agent for a dead run. A run started outside a server names the kind of its agent. */
  #findForRun({ agent = this.#default }: Run): RegisteredAgent | undefined {
    return (
      this.#agents.get(agent) ??
      [...this.#agents.values()].find(({ info }) => (info.isAdaptive ? "agot" : info.kind) === agent)
    );
  }
}
