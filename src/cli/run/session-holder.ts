/**
 * Holds a session for an agent: runs its queued messages, and continues runs whose process crashed. While another
 * process holds the session, it retries until it can take over. Work of other agents is left to other processes, and so is
 * a run that needs tools which the agent lacks.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Agent } from "../../agents/index.ts";
import type { AgentBlobs } from "../../agents/attachments.ts";
import { openSession, type Session } from "../../engine/index.ts";
import type { Log } from "../../log/index.ts";
import { isLoomError } from "../../protocol/index.ts";
import { describeOtherAgent, findMissingTools, findOtherAgent } from "./find-other-agent.ts";

export interface SessionHolderOptions {
  readonly log: Log;
  readonly sessionId: string;
  readonly agent: Agent;
  /** Name of the agent in messages. */
  readonly agentName: string;
  /** The command that cancels the run of the session, for messages. */
  readonly cancelCommand: string;
  readonly onError: (error: unknown, errorId: string) => void;
  /** Images and files of the sessions. Default: none. */
  readonly blobs?: AgentBlobs | undefined;
  /** Called once if another process holds the session. */
  readonly onHeld: () => void;
  /** Called once for each other agent that a queued message is for. The message waits for another process. */
  readonly onOtherAgent: (name: string) => void;
}

/** Time between two attempts to open the session; a crashed holder gives no signal. */
const RETRY_MS = 300;

export class SessionHolder implements AsyncDisposable {
  readonly #options: SessionHolderOptions;
  readonly #stop = new AbortController();
  readonly #ready = Promise.withResolvers<void>();
  readonly #holding: Promise<void>;
  #onHolding: () => void = () => undefined;
  #session: Session | undefined;
  #missingTools: readonly string[] = [];
  /** The last record of the session when `#missingTools` was set. */
  #checkedAt: number | undefined;
  #isHeldReported = false;
  readonly #otherAgents = new Set<string>();

  constructor(options: SessionHolderOptions) {
    this.#options = options;
    this.#ready.promise.catch(() => undefined);
    this.#holding = this.#hold().catch((error: unknown) => {
      this.#ready.reject(error);
      throw error;
    });
    this.#holding.catch(() => undefined);
  }

  /** Resolves when this or another process holds the session and has recovered it. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /**
   * Resolves when the session is released. Rejects if it cannot be opened: the store failed, or its unfinished run is that
   * of another agent.
   */
  get finished(): Promise<void> {
    return this.#holding;
  }

  /** True while this process holds the session. */
  get isHolding(): boolean {
    return this.#session !== undefined;
  }

  /** Tools that the unfinished run needs and the agent lacks. While there are any, the session is not held here. */
  get missingTools(): readonly string[] {
    return this.#missingTools;
  }

  /** Calls the listener whenever this process begins to hold the session, or finds that it lacks tools for it. */
  onHolding(listener: () => void): void {
    this.#onHolding = listener;
  }

  /** Resolves when no queued message is left to run here. */
  async idle(): Promise<void> {
    await this.#session?.idle();
  }

  /** Releases the session. A live run is left for the next holder. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#holding.catch(() => undefined);
  }

  async #hold(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      this.#session = await this.#open();
      this.#ready.resolve();
      if (this.#session !== undefined || this.#missingTools.length > 0) this.#onHolding();
      await waitUntil(signal, this.#session?.closed ?? pause(RETRY_MS, undefined, { signal }));
    }
    await this.#session?.close({ run: "leave" });
  }

  async #open(): Promise<Session | undefined> {
    const { log, sessionId, agent, agentName, blobs, onError } = this.#options;
    const { lastId, holder } = (await log.getSession(sessionId)) ?? {};
    // If that process leaves now, the agent and the tools for what it leaves are not checked yet.
    if (holder !== undefined) return this.#reportHeld();
    const other = await findOtherAgent(log, sessionId, agentName);
    if (other?.kind === "run") throw describeOtherAgent(other, agentName, this.#options.cancelCommand);
    // The records of a long run are not read again before there are new ones.
    const isKnown = this.#missingTools.length > 0 && this.#checkedAt === lastId;
    if (!isKnown) this.#missingTools = await findMissingTools(log, sessionId, agent);
    this.#checkedAt = lastId;
    if (this.#missingTools.length > 0) return undefined;
    const options = { onError, acceptsAgent: (name: string) => this.#accepts(name) };
    try {
      if (blobs === undefined) return await agent.openSession(log, sessionId, options);
      return await openSession(log, sessionId, { ...agent.sessionOptions(log, { blobs, onError }), ...options });
    } catch (error) {
      if (!isLoomError(error, "lease_held", "fenced")) throw error;
      return this.#reportHeld();
    }
  }

  #reportHeld(): undefined {
    if (!this.#isHeldReported) this.#options.onHeld();
    this.#isHeldReported = true;
    this.#missingTools = [];
  }

  #accepts(name: string): boolean {
    const { agentName, onOtherAgent } = this.#options;
    if (name === agentName) return true;
    if (!this.#otherAgents.has(name)) onOtherAgent(name);
    this.#otherAgents.add(name);
    return false;
  }
}

/** Resolves when `happened` settles or the signal aborts. */
async function waitUntil(signal: AbortSignal, happened: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = (): void => resolve();
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) resolve();
  // Also if the signal is aborted: a rejection of `happened` must be handled.
  await Promise.race([promise, happened]).catch(() => undefined);
  signal.removeEventListener("abort", stop);
}
