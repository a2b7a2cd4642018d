/**
 * Holds a session for an agent, for as long as it may: messages that wait in it are carried out here, and runs whose
 * process died go on here. Where another process holds it, that one does the work, and this one is ready to take over.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Agent } from "../../agents/index.ts";
import type { Session } from "../../engine/index.ts";
import type { Log } from "../../log/index.ts";
import { isLoomError } from "../../protocol/index.ts";

export interface SessionKeeperOptions {
  readonly log: Log;
  readonly sessionId: string;
  readonly agent: Agent;
  readonly onError: (error: unknown, errorId: string) => void;
  /** Told once, when another process turns out to hold it. */
  readonly onHeld: () => void;
}

/** Between two tries to take it: a holder that dies gives no sign. */
const RETRY_MS = 300;

export class SessionKeeper implements AsyncDisposable {
  readonly #options: SessionKeeperOptions;
  readonly #stop = new AbortController();
  readonly #ready = Promise.withResolvers<void>();
  readonly #going: Promise<void>;
  #session: Session | undefined;
  #wasTold = false;

  constructor(options: SessionKeeperOptions) {
    this.#options = options;
    this.#ready.promise.catch(() => undefined);
    this.#going = this.#keep().catch((error: unknown) => {
      this.#ready.reject(error);
      throw error;
    });
    this.#going.catch(() => undefined);
  }

  /** Resolves when the session is held, here or elsewhere, and what its last holder left was put right. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Rejects when it cannot be held at all, as with a store that fails. Resolves when it was let go. */
  get going(): Promise<void> {
    return this.#going;
  }

  /** True while it is held here. */
  get isHolding(): boolean {
    return this.#session !== undefined;
  }

  /** Those of the tools that the agent does not have. */
  findMissing(tools: readonly string[]): readonly string[] {
    const { toolNames } = this.#options.agent;
    return tools.filter((name) => !toolNames.includes(name));
  }

  /** Resolves when no message waits that could be carried out here. */
  async idle(): Promise<void> {
    await this.#session?.idle();
  }

  /** Lets go. A run that is still live is left for whoever holds the session next. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#going.catch(() => undefined);
  }

  async #keep(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      this.#session = await this.#open();
      this.#ready.resolve();
      await until(signal, this.#session?.closed ?? pause(RETRY_MS, undefined, { signal }));
    }
    await this.#session?.close({ run: "leave" });
  }

  async #open(): Promise<Session | undefined> {
    const { log, sessionId, agent, onError, onHeld } = this.#options;
    try {
      return await agent.openSession(log, sessionId, { onError });
    } catch (error) {
      if (!isLoomError(error, "lease_held", "fenced")) throw error;
      if (!this.#wasTold) onHeld();
      this.#wasTold = true;
      return undefined;
    }
  }
}

/** Until it has happened, or must not be waited for. */
async function until(signal: AbortSignal, happened: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = (): void => resolve();
  signal.addEventListener("abort", stop, { once: true });
  if (!signal.aborted) await Promise.race([promise, happened]).catch(() => undefined);
  signal.removeEventListener("abort", stop);
}
