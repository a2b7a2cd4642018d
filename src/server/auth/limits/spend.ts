/**
 * What models use up for a credential in a day, and what happens when that is too much: runs that go on are cancelled,
 * with the reason in their stream, and no more are begun until the next day of UTC.
 *
 * Whoever sent the message of a run pays for it. A call of a model is counted when it is over, so each run that is live may
 * go past the limit by one call. What was counted is kept with the credentials: a restart changes nothing.
 */
import { randomUUID } from "node:crypto";
import type { Log } from "../../../log/index.ts";
import { INERT, type ObservedRun, type Observer, type RunObserver } from "../../../observe/observer.ts";
import { BoundedMap, EVENT_TYPES, type EventOf, LoomError, type StampedRecord } from "../../../protocol/index.ts";
import type { Credentials } from "../credentials/credentials.ts";
import type { Principal } from "../principal.ts";

export interface SpendOptions {
  readonly credentials: Pick<Credentials, "addSpent" | "readSpent" | "listTokens">;
  readonly log: Pick<Log, "submit">;
  /** Of a credential that names no limit; none when absent. Code `spend_exceeded`. */
  readonly tokensPerDay?: number | undefined;
  readonly now?: (() => number) | undefined;
  /** Told of what could not be cancelled. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface Spend {
  /** To be told of all runs of the server. */
  readonly observer: Observer;
  /** Before a run is begun. Throws `spend_exceeded`. */
  admit(principal: Principal): void;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Tokens whose limits are remembered: they never change. */
const MAX_KNOWN = 10_000;
const ignore = (): void => undefined;

const TOLD: ReadonlySet<string> = new Set(["run_start", "usage"]);

export function createSpend(options: SpendOptions): Spend {
  const { credentials, log, tokensPerDay, now = Date.now, onError = ignore } = options;
  const known = new BoundedMap<{ readonly limit: number | undefined }>(MAX_KNOWN);

  function findLimit(actor: string): number | undefined {
    return known.getOrCreate(actor, () => {
      // Only tokens have limits of their own.
      const tokens = actor.startsWith("token:") ? credentials.listTokens() : [];
      const token = tokens.find(({ tokenId }) => `token:${tokenId}` === actor);
      return { limit: token?.limits?.tokensPerDay ?? tokensPerDay };
    }).limit;
  }

  /** Under an id that nobody can have taken before. */
  async function cancel(sessionId: string, runId: string, limit: number): Promise<void> {
    const body = { run_id: runId, reason: `spend_exceeded: ${describeLimit(limit)}` };
    await log.submit({ commandId: `spend:${randomUUID()}`, sessionId, kind: "cancel", body });
  }

  function openRun({ sessionId, runId }: ObservedRun): RunObserver {
    if (runId === undefined) return INERT;
    let actor: string | undefined;
    let isCancelled = false;
    const take = ({ event }: StampedRecord, isPast: boolean): void => {
      if (event.type === "run_start") ({ actor } = event as EventOf<"run_start">);
      if (event.type !== "usage" || isPast || actor === undefined) return;
      const { total_tokens, prompt_tokens, completion_tokens } = event as EventOf<"usage">;
      // Some providers tell no sum.
      const tokens = Math.max(total_tokens, prompt_tokens + completion_tokens);
      if (!(tokens > 0)) return;
      const at = now();
      credentials.addSpent(actor, tokens, at);
      const limit = findLimit(actor);
      if (isCancelled || limit === undefined || credentials.readSpent(actor, at) <= limit) return;
      isCancelled = true;
      cancel(sessionId, runId, limit).catch((error: unknown) => {
        // Tried again with the next call of a model: there may be room among what waits by then.
        isCancelled = false;
        onError(error);
      });
    };
    return { take, close: ignore };
  }

  return {
    // All others come by the thousand, and cost nothing here.
    observer: { name: "spend", ignores: new Set(EVENT_TYPES.filter((type) => !TOLD.has(type))), openRun },

    admit({ kind, id, limits }) {
      const limit = limits.tokensPerDay ?? tokensPerDay;
      if (kind === "local" || limit === undefined) return;
      const at = now();
      if (credentials.readSpent(id, at) < limit) return;
      throw new LoomError("spend_exceeded", describeLimit(limit), { limit, retry_after_ms: DAY_MS - (at % DAY_MS) });
    },
  };
}

function describeLimit(limit: number): string {
  return `at most ${limit} tokens of models may be used in one day of UTC, and they are used up`;
}
