/**
 * Limits the model tokens a principal uses per UTC day. When the limit is exceeded, its live runs are cancelled with
 * the reason in their stream, and new runs are rejected until the next day.
 *
 * A run counts for the principal that sent its message. A model call is counted when it ends, so each live run can
 * exceed the limit by one call. The usage is stored with the credentials and survives a restart.
 */
import { randomUUID } from "node:crypto";
import type { Log } from "../../../log/index.ts";
import { INERT, type ObservedRun, type Observer, type RunObserver } from "../../../observe/observer.ts";
import { EVENT_TYPES, type EventOf, LoomError, type StampedRecord } from "../../../protocol/index.ts";
import { BoundedMap } from "../../../protocol/bounded-map.ts";
import type { Credentials } from "../credentials/credentials.ts";
import type { Principal } from "../principal.ts";

export interface SpendOptions {
  readonly credentials: Pick<Credentials, "addSpent" | "readSpent" | "listTokens">;
  readonly log: Pick<Log, "submit">;
  /** Maximum model tokens per day of a principal that sets no limit. Default: unlimited. Code `spend_exceeded`. */
  readonly tokensPerDay?: number | undefined;
  readonly now?: (() => number) | undefined;
  /** Receives errors of failed cancellations. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface Spend {
  /** Must observe all runs of the server. */
  readonly observer: Observer;
  /** Checks the limit before a run starts. Throws `spend_exceeded`. */
  admit(principal: Principal): void;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Tokens whose limits are cached; a token's limits never change. */
const MAX_KNOWN = 10_000;
const ignore = (): void => undefined;

const HANDLED_TYPES: ReadonlySet<string> = new Set(["run_start", "usage"]);

export function createSpend(options: SpendOptions): Spend {
  const { credentials, log, tokensPerDay, now = Date.now, onError = ignore } = options;
  const known = new BoundedMap<{ readonly limit: number | undefined }>(MAX_KNOWN);

  function findLimit(actor: string): number | undefined {
    return known.getOrCreate(actor, () => {
      // Only tokens can have their own limits.
      const tokens = actor.startsWith("token:") ? credentials.listTokens() : [];
      const token = tokens.find(({ tokenId }) => `token:${tokenId}` === actor);
      return { limit: token?.limits?.tokensPerDay ?? tokensPerDay };
    }).limit;
  }

  /** Uses a random command ID, so no client can have used it before. */
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
      // Some providers report no total.
      const tokens = Math.max(total_tokens, prompt_tokens + completion_tokens);
      if (!(tokens > 0)) return;
      const at = now();
      credentials.addSpent(actor, tokens, at);
      const limit = findLimit(actor);
      if (isCancelled || limit === undefined || credentials.readSpent(actor, at) <= limit) return;
      isCancelled = true;
      cancel(sessionId, runId, limit).catch((error: unknown) => {
        // Retry after the next model call: the inbox may have space again.
        isCancelled = false;
        onError(error);
      });
    };
    return { take, close: ignore };
  }

  return {
    // The other event types are frequent; skip them without cost.
    observer: { name: "spend", ignores: new Set(EVENT_TYPES.filter((type) => !HANDLED_TYPES.has(type))), openRun },

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
  return `Daily limit of ${limit} model tokens reached; it resets at 00:00 UTC`;
}
