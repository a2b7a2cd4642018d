/**
 * Holds a session for an agent: runs its queued messages, and continues runs whose process crashed. While another
 * process holds the session, it retries until it can take over.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Agent } from "../../agents/index.ts";
import type { AgentBlobs } from "../../agents/attachments.ts";
import { openSession, type Session } from "../../engine/index.ts";
import type { Log } from "../../log/index.ts";
import { isLoomError } from "../../protocol/index.ts";

export interface SessionHolderOptions {
  readonly log: Log;
  readonly sessionId: string;
  readonly agent: Agent;
  readonly onError: (error: unknown, errorId: string) => void;
  /** Images and files of the sessions. Default: none. */
  readonly blobs?: AgentBlobs | undefined;
  /** Called once if another process holds the session. */
  readonly onHeld: () => void;
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
  #isHeldReported = false;

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

  /** Resolves when the session is released. Rejects if it cannot be opened, for example because the store failed. */
  get finished(): Promise<void> {
    return this.#holding;
  }

  /** True while this process holds the session. */
  get isHolding(): boolean {
    return this.#session !== undefined;
  }

  /** Calls the listener whenever this process begins to hold the session. */
  onHolding(listener: () => void): void {
    this.#onHolding = listener;
  }

  /** Returns the tools that the agent does not have. An agent of another framework need not name its tools. */
  findMissing(tools: readonly string[]): readonly string[] {
    const { kind, toolNames } = this.#options.agent;
    if (kind === "foreign") return [];
    return tools.filter((name) => !toolNames.includes(name));
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
      if (this.#session !== undefined) this.#onHolding();
      await waitUntil(signal, this.#session?.closed ?? pause(RETRY_MS, undefined, { signal }));
    }
    await this.#session?.close({ run: "leave" });
  }

  async #open(): Promise<Session | undefined> {
    const { log, sessionId, agent, blobs, onError, onHeld } = this.#options;
    try {
      if (blobs === undefined) return await agent.openSession(log, sessionId, { onError });
      return await openSession(log, sessionId, { ...agent.sessionOptions(log, { blobs, onError }), onError });
    } catch (error) {
      if (!isLoomError(error, "lease_held", "fenced")) throw error;
      if (!this.#isHeldReported) onHeld();
      this.#isHeldReported = true;
      return undefined;
    }
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
