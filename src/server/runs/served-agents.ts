/**
 * The agents of a server, by name, and what a session needs so that each of its runs is carried out by the one it names.
 * It knows no session.
 */
import type { AgentBlobs } from "../../agents/attachments.ts";
import type { Agent } from "../../agents/index.ts";
import type { DeadRun, Run, RunOrigin, SessionOptions } from "../../engine/index.ts";
import type { Log } from "../../log/index.ts";
import { LoomError } from "../../protocol/index.ts";
import type { AgentInfo, ServedAgent } from "./run-desk.ts";

export type ServedAgents = { readonly [name: string]: Agent | ServedAgent };

type Carried = Required<Pick<SessionOptions, "agent" | "onRun" | "resume" | "beginAgain" | "mayWait" | "isIdempotent">>;

export interface RosterOptions {
  /** Answers messages that name none; the first when absent. */
  readonly chosen?: string | undefined;
  /** Where the files of messages are, and those that tools make. */
  readonly blobs?: AgentBlobs | undefined;
  /** Asked before anything is done for a new run. Throws why it may not begin: it has begun then, and fails. */
  readonly admit?: ((run: Run) => void) | undefined;
}

interface Served {
  readonly info: AgentInfo;
  readonly own: ReturnType<Agent["serve"]>;
}

export class AgentRoster {
  readonly #default: string;
  readonly #served = new Map<string, Served>();
  readonly #admit: (run: Run) => void;

  constructor(log: Log, agents: ServedAgents, { chosen, blobs, admit = () => undefined }: RosterOptions = {}) {
    this.#admit = admit;
    const [first] = Object.keys(agents);
    if (first === undefined) throw new LoomError("invalid_arguments", "a server needs an agent", { option: "agents" });
    this.#default = chosen ?? first;
    for (const [name, given] of Object.entries(agents)) {
      const served: ServedAgent = "agent" in given ? given : { agent: given };
      const { agent, description, model } = served;
      const info: AgentInfo = {
        name,
        kind: agent.kind,
        isAdaptive: agent.isAdaptive,
        ...(description === undefined ? {} : { description }),
        ...(model === undefined ? {} : { model }),
        tools: agent.toolNames,
        isDefault: name === this.#default,
      };
      this.#served.set(name, { info, own: agent.serve(log, { blobs }) });
    }
    this.resolve(this.#default);
  }

  get infos(): readonly AgentInfo[] {
    return [...this.#served.values()].map(({ info }) => info);
  }

  /** Throws `unknown_agent`. */
  resolve(name = this.#default): string {
    this.#get(name);
    return name;
  }

  /** For a session whose runs are those of all agents. */
  serve(): Carried {
    const onRun = async (run: Run, origin: RunOrigin): Promise<void> => {
      this.#admit(run);
      await this.#get(run.agent ?? this.#default).own.onRun(run, origin);
    };
    return {
      agent: this.#default,
      // A run that begins and fails is seen by whoever follows it; a message that is only refused is not.
      onRun,
      // Its message was taken, and is carried out: a process that is killed at once should not cost the user's words.
      beginAgain: (run: Run) => onRun(run, run),
      resume: (dead: DeadRun) => this.#findFor(dead.run)?.own.resume(dead),
      // It would be live, and its session held, until somebody answers a question that nobody acts upon.
      mayWait: false,
      isIdempotent: (name: string, run: Run) => this.#findFor(run)?.own.isIdempotent(name, run) ?? false,
    };
  }

  #get(name: string): Served {
    const served = this.#served.get(name);
    if (served !== undefined) return served;
    const known = [...this.#served.keys()];
    throw new LoomError("unknown_agent", `there is no agent "${name}"`, { agent: name, agents: known });
  }

  /** Who can go on with a dead run: one that was begun elsewhere has the kind of its agent for a name. */
  #findFor({ agent = this.#default }: Run): Served | undefined {
    return this.#served.get(agent) ?? [...this.#served.values()].find(({ info }) => info.kind === agent);
  }
}
