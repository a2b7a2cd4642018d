/**
 * Limits the model tokens a principal uses per UTC day. When the limit is exceeded, its live runs are cancelled with
 * the reason in their stream, and new runs are rejected until the next day.
 *
 * A run counts for the principal that sent its message. A model call is counted when it ends, so each live run can
 * exceed the limit by one call. The usage is stored with the credentials and survives a restart.
 *
 * Usage that cannot be stored is kept in memory and counts. It is tried again every second. Until it is stored, new runs
 * of its principal are rejected with `spend_unrecorded`, and runs that were accepted before wait.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
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
  /** See `AuthOptions`. */
  readonly maxUnrecordedMs?: number | undefined;
  readonly now?: (() => number) | undefined;
  /** Receives errors of failed cancellations, and of usage that could not be stored. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface Spend {
  /** Must observe all runs of the server. */
  readonly observer: Observer;
  /** Checks the limit before a run is accepted. Throws `spend_exceeded` and `spend_unrecorded`. */
  admit(principal: Principal): Promise<void>;
  /** Counts tokens that the principal with this ID used outside of a run. */
  count(principalId: string, tokens: number): void;
  /**
   * Waits until the usage of the principal with this ID is stored. Throws `spend_unrecorded` after
   * {@link SpendOptions.maxUnrecordedMs}, and the reason of the signal.
   */
  waitUntilRecorded(principalId: string, signal: AbortSignal): Promise<void>;
  /** Tries to store all usage that is not stored yet, for the last time. */
  close(): Promise<void>;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Tokens whose limits are cached; a token's limits never change. */
const MAX_KNOWN = 10_000;
const RETRY_MS = 1000;
const DEFAULT_MAX_UNRECORDED_MS = 30_000;
/** Time after which a client should try again when usage cannot be stored. */
const UNRECORDED_RETRY_MS = 5000;
const UNRECORDED = "The usage of earlier runs could not be recorded; try again later";
const ignore = (): void => undefined;
const NOTHING: Totals = new Map();

/** Model tokens of a principal by the start of the day, as of the write that stored the latest of them. */
type Totals = ReadonlyMap<number, number>;

/** A write under way, and the one after it: it stores what is used meanwhile. */
interface Recording {
  readonly current: Promise<Totals | undefined>;
  next?: Promise<Totals | undefined>;
}

const HANDLED_TYPES: ReadonlySet<string> = new Set(["run_start", "usage"]);

export function createSpend(options: SpendOptions): Spend {
  const { credentials, log, tokensPerDay, now = Date.now, onError = ignore } = options;
  const { maxUnrecordedMs = DEFAULT_MAX_UNRECORDED_MS } = options;
  const known = new BoundedMap<{ readonly limit: number | undefined }>(MAX_KNOWN);
  /** Tokens that could not be stored, by principal and by the start of their day. Never dropped: the limit would fail. */
  const unrecorded = new Map<string, Map<number, number>>();

  const recordings = new Map<string, Recording>();
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  function add(principalId: string, tokens: number, at: number): void {
    const days = unrecorded.get(principalId) ?? new Map<number, number>();
    unrecorded.set(principalId, days.set(startOfDay(at), (days.get(startOfDay(at)) ?? 0) + tokens));
  }

  /** Stores all usage of the principal. Resolves to undefined if that failed. */
  function record(principalId: string, onFailure = onError): Promise<Totals | undefined> {
    const recording = recordings.get(principalId);
    if (recording !== undefined)
      return (recording.next ??= recording.current.then(() => startRecording(principalId, onFailure)));
    return unrecorded.has(principalId) ? startRecording(principalId, onFailure) : Promise.resolve(NOTHING);
  }

  function startRecording(principalId: string, onFailure: (error: unknown) => void): Promise<Totals | undefined> {
    const current = store(principalId, onFailure);
    const recording: Recording = { current };
    recordings.set(principalId, recording);
    void current.then(() => recording.next === undefined && recordings.delete(principalId));
    return current;
  }

  async function store(principalId: string, onFailure: (error: unknown) => void): Promise<Totals | undefined> {
    const days = unrecorded.get(principalId) ?? new Map<number, number>();
    const totals = new Map<number, number>();
    try {
      for (const [day, tokens] of Array.from(days)) {
        totals.set(day, await credentials.addSpent(principalId, tokens, day));
        const left = (days.get(day) ?? 0) - tokens;
        if (left > 0) days.set(day, left);
        else days.delete(day);
      }
    } catch (error) {
      onFailure(error);
      retryLater();
      return undefined;
    }
    if (days.size === 0) unrecorded.delete(principalId);
    return totals;
  }

  /** The first failure was reported; those of the repetitions are not. */
  function retryLater(): void {
    if (isClosed || timer !== undefined) return;
    timer = setTimeout(() => void retry(), RETRY_MS).unref();
  }

  async function retry(): Promise<void> {
    timer = undefined;
    // If one write fails, so would the others.
    for (const principalId of unrecorded.keys()) if ((await record(principalId, ignore)) === undefined) return;
  }

  function failUnrecorded(): never {
    throw new LoomError("spend_unrecorded", UNRECORDED, { retry_after_ms: UNRECORDED_RETRY_MS });
  }

  async function waitUntilRecorded(principalId: string, signal: AbortSignal): Promise<void> {
    const startedAt = performance.now();
    while ((await record(principalId, ignore)) === undefined) {
      if (performance.now() - startedAt >= maxUnrecordedMs) failUnrecorded();
      await sleep(Math.min(RETRY_MS / 4, maxUnrecordedMs), undefined, { signal });
    }
  }

  /** Returns why a live run of the principal must stop, or undefined if it may continue. */
  async function findStopReason(
    principalId: string,
    at: number,
    totals: Totals = NOTHING,
  ): Promise<string | undefined> {
    try {
      const limit = await findLimit(principalId);
      if (limit === undefined) return undefined;
      const spent = totals.get(startOfDay(at)) ?? (await credentials.readSpent(principalId, at));
      const pending = unrecorded.get(principalId)?.get(startOfDay(at)) ?? 0;
      return spent + pending > limit ? `spend_exceeded: ${describeLimit(limit)}` : undefined;
    } catch (error) {
      onError(error);
      return `spend_unrecorded: ${UNRECORDED}`;
    }
  }

  async function findLimit(actor: string): Promise<number | undefined> {
    const found = known.get(actor);
    if (found !== undefined) return found.limit;
    // Only tokens can have their own limits.
    const tokens = actor.startsWith("token:") ? await credentials.listTokens() : [];
    const token = tokens.find(({ tokenId }) => `token:${tokenId}` === actor);
    const limit = token?.limits?.tokensPerDay ?? tokensPerDay;
    known.set(actor, { limit });
    return limit;
  }

  /** Uses a random command ID, so no client can have used it before. */
  async function cancel(sessionId: string, runId: string, reason: string): Promise<void> {
    const body = { run_id: runId, reason };
    await log.submit({ commandId: `spend:${randomUUID()}`, sessionId, kind: "cancel", body });
  }

  function openRun({ sessionId, runId }: ObservedRun): RunObserver {
    if (runId === undefined) return INERT;
    let actor: string | undefined;
    let isCancelled = false;
    /** Cancels the run if its principal has used more than the limit. */
    const check = async (principalId: string, at: number, recorded: Promise<Totals | undefined>): Promise<void> => {
      const totals = await recorded;
      if (isCancelled) return;
      const reason = await findStopReason(principalId, at, totals);
      if (reason === undefined || isCancelled) return;
      isCancelled = true;
      try {
        await cancel(sessionId, runId, reason);
      } catch (error) {
        // Retry after the next model call: the inbox may have space again.
        isCancelled = false;
        onError(error);
      }
    };
    const take = ({ event }: StampedRecord, isPast: boolean): void => {
      if (event.type === "run_start") ({ actor } = event as EventOf<"run_start">);
      if (event.type !== "usage" || isPast || actor === undefined) return;
      const { total_tokens, prompt_tokens, completion_tokens } = event as EventOf<"usage">;
      // Some providers report no total.
      const tokens = Math.max(total_tokens, prompt_tokens + completion_tokens);
      if (!(tokens > 0)) return;
      const at = now();
      add(actor, tokens, at);
      void check(actor, at, record(actor));
    };
    return { take, close: ignore };
  }

  return {
    // The other event types are frequent; skip them without cost.
    observer: { name: "spend", ignores: new Set(EVENT_TYPES.filter((type) => !HANDLED_TYPES.has(type))), openRun },

    async admit({ kind, id, limits }) {
      if (kind === "local") return;
      if ((await record(id)) === undefined) failUnrecorded();
      const limit = limits.tokensPerDay ?? tokensPerDay;
      if (limit === undefined) return;
      const at = now();
      if ((await credentials.readSpent(id, at)) < limit) return;
      throw new LoomError("spend_exceeded", describeLimit(limit), { limit, retry_after_ms: DAY_MS - (at % DAY_MS) });
    },
    count(principalId, tokens) {
      if (!(tokens > 0)) return;
      add(principalId, tokens, now());
      void record(principalId);
    },
    waitUntilRecorded,
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await Promise.all(Array.from(unrecorded.keys(), (principalId) => record(principalId)));
    },
  };
}

function startOfDay(at: number): number {
  return at - (at % DAY_MS);
}

function describeLimit(limit: number): string {
  return `Daily limit of ${limit} model tokens reached; it resets at 00:00 UTC`;
}
