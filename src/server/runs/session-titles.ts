/**
 * Lets the model write the title of a session after its first answer. It works beside the runs: a run does not wait for
 * it, and a failure keeps the title that was derived from the first message.
 *
 * Invariant: a title that a user chose is never replaced.
 */
import type { WriteTitle } from "../../agents/create-title-writer.ts";
import type { Run } from "../../engine/index.ts";
import type { RunEnd } from "../../engine/run-contract.ts";
import type { Log } from "../../log/index.ts";
import { findConversationText } from "../../log/conversation-text.ts";
import type { EventOf } from "../../protocol/index.ts";
import { deriveTitle } from "../../agents/derive-title.ts";

export interface SessionTitlesOptions {
  readonly log: Log;
  /** Returns how an agent writes titles; undefined if it does not. */
  readonly find: (agent: string | undefined) => WriteTitle | undefined;
  /** Counts the tokens of a title for the principal whose message it is about. */
  readonly onUsage?: ((actor: string, tokens: number) => void) | undefined;
  readonly onError: (error: unknown) => void;
}

/** Titles written at the same time. A session beyond that keeps its derived title. */
const MAX_ACTIVE = 16;
const TIMEOUT_MS = 30_000;
/** Runs without an answer before the first one. */
const MAX_RUNS = 10;
/** The reply is among the last records of a run. */
const LAST_RECORDS = 10;

export class SessionTitles {
  readonly #options: SessionTitlesOptions;
  readonly #closing = new AbortController();
  readonly #active = new Set<Promise<void>>();

  constructor(options: SessionTitlesOptions) {
    this.#options = options;
  }

  /** Writes a title when the run has ended, if it was the first answer of its session. */
  watch(run: Run): void {
    const write = this.#options.find(run.agent);
    if (write === undefined) return;
    run.ended.then(
      (end) => this.#start(run, end, write),
      // The run reports its own failure.
      () => undefined,
    );
  }

  /** Stops what is being written. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#active);
  }

  #start(run: Run, end: RunEnd, write: WriteTitle): void {
    if (end.status !== "completed" || this.#closing.signal.aborted || this.#active.size >= MAX_ACTIVE) return;
    const work = this.#write(run, end, write).catch((error: unknown) => {
      if (!this.#closing.signal.aborted) this.#options.onError(error);
    });
    this.#active.add(work);
    void work.then(() => this.#active.delete(work));
  }

  async #write(
    { sessionId, runId, request: { actor } }: Run,
    { lastEventId }: RunEnd,
    write: WriteTitle,
  ): Promise<void> {
    const { log, onUsage } = this.#options;
    const runs = await log.listRuns(sessionId, { limit: MAX_RUNS });
    const answered = runs.filter(({ status }) => status === "completed");
    const first = runs.at(-1);
    if (runs.length === MAX_RUNS || answered.length !== 1 || answered[0]?.runId !== runId || first === undefined)
      return;
    const question = await this.#readQuestion(sessionId, first.firstId);
    const info = await log.getSession(sessionId);
    // A user has chosen another title, or the session has none.
    if (question.title === undefined || info?.title !== question.title) return;
    const after = Math.max(0, info.firstId - 1, lastEventId - LAST_RECORDS);
    const { records } = await log.read(sessionId, { after, limit: LAST_RECORDS });
    const texts = records.map(({ event }) => findConversationText(event));
    const answer = texts.findLast((text) => text?.where === "answer")?.text ?? "";
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const count = (tokens: number): void => (actor === undefined ? undefined : onUsage?.(actor, tokens));
    const title = await write({ question: question.text, answer, signal, onUsage: count });
    if (title !== undefined) await log.updateSession(sessionId, { title }, { ifTitle: question.title });
  }

  async #readQuestion(sessionId: string, id: number): Promise<{ readonly text: string; readonly title?: string }> {
    const { records } = await this.#options.log.read(sessionId, { after: id - 1, limit: 1 });
    const event = records[0]?.event;
    if (event?.type !== "run_start") return { text: "" };
    const { message = "", attachments } = event as EventOf<"run_start">;
    const title = deriveTitle(message, attachments);
    return { text: message === "" ? (title ?? "") : message, ...(title === undefined ? {} : { title }) };
  }
}
