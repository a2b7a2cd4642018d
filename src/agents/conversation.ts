/**
 * The messages of a session's ended runs, read from the log: the newest that fit the limits. Runs are cached, so each
 * turn reads only the runs that ended since.
 */
import { followRecords } from "../log/follow-records.ts";
import type { Log, RunInfo } from "../log/index.ts";
import type { ModelMessage } from "../models/model.ts";
import { BoundedMap } from "../protocol/bounded-map.ts";
import { type EventRecord, isKnownEvent } from "../protocol/index.ts";
import type { CompressionAppliedEvent } from "../protocol/events.generated.ts";
import { ContentRecorder, type RecordPromptsOptions } from "./content-recorder.ts";
import { NestedNodes, RunMessages } from "./run-messages.ts";
import { acceptNumber, type OptionTable } from "../protocol/read-options.ts";

/** Limits on the history that a model receives. */
export interface HistoryOptions {
  /** Maximum runs the model receives; 0 for none. Default: 100, or 1,000 with `compression`. */
  readonly maxRuns?: number;
  /**
   * Maximum characters of their messages, as JSON. The newest run is always included. Default: 200,000, or 4,000,000
   * with `compression`.
   */
  readonly maxCharacters?: number;
}

export const HISTORY_OPTIONS: OptionTable<HistoryOptions> = {
  maxRuns: acceptNumber(0),
  maxCharacters: acceptNumber(0),
};

const HISTORY_DEFAULTS = { maxRuns: 100, maxCharacters: 200_000 };

/** Limits with compression, which can summarize a longer history. */
export const LONG_HISTORY: Required<HistoryOptions> = { maxRuns: 1000, maxCharacters: 4_000_000 };

const PAGE_OF_RUNS = 20;

interface RememberedRun {
  readonly runId: string;
  readonly messages: readonly ModelMessage[];
  readonly characters: number;
  /** Its compressions, oldest first. */
  readonly compressions: readonly CompressionAppliedEvent[];
  /** Records of what its last model call sent and received. */
  readonly contents: readonly number[];
}

/** The conversation of one session up to a run. */
export class Conversation {
  readonly log: Log;
  /** Incarnation of the session that was read. A recreated session has another one. */
  readonly incarnation: string | undefined;
  readonly #sessionId: string;
  readonly #maxRuns: number;
  readonly #maxCharacters: number;
  /** Newest first. */
  #runs: readonly RememberedRun[] = [];
  #isWhole = true;
  #recorder: ContentRecorder | undefined;

  constructor(
    log: Log,
    sessionId: string,
    options: HistoryOptions & { readonly incarnation?: string | undefined } = {},
  ) {
    this.log = log;
    this.incarnation = options.incarnation;
    this.#sessionId = sessionId;
    this.#maxRuns = options.maxRuns ?? HISTORY_DEFAULTS.maxRuns;
    this.#maxCharacters = options.maxCharacters ?? HISTORY_DEFAULTS.maxCharacters;
  }

  /** Characters held in the cache. */
  get characters(): number {
    return this.#runs.reduce((sum, { characters }) => sum + characters, 0);
  }

  /** False if the last read left out the oldest runs. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /**
   * Returns the messages of the runs that ended before this one, and of this one as far as it is stored, oldest first.
   * Without a run, those of all runs that have ended.
   */
  async readThrough(runId: string | undefined): Promise<readonly ModelMessage[]> {
    const before = await this.readBefore(runId);
    const info = runId === undefined ? undefined : await this.log.getRun(this.#sessionId, runId);
    if (info === undefined) return before;
    const { lastId = 0 } = (await this.log.getSession(this.#sessionId)) ?? {};
    const { messages } = await this.#read({ ...info, lastId: info.lastId ?? lastId });
    return [...before, ...messages];
  }

  /** Returns the messages of the runs that ended before this one, oldest first. Without a run, those of all runs. */
  async readBefore(runId?: string): Promise<readonly ModelMessage[]> {
    const known = new Map(this.#runs.map((run) => [run.runId, run]));
    const found: RememberedRun[] = [];
    let characters = 0;
    let isWhole = true;
    for await (const info of this.#listBefore(runId)) {
      // With `maxRuns: 0` nothing counts as left out.
      isWhole = found.length < this.#maxRuns || this.#maxRuns === 0;
      if (found.length >= this.#maxRuns) break;
      const run = known.get(info.runId) ?? (await this.#read(info));
      characters += run.characters;
      isWhole = found.length === 0 || characters <= this.#maxCharacters;
      if (!isWhole) break;
      found.push(run);
    }
    this.#runs = found;
    this.#isWhole = isWhole;
    return found.toReversed().flatMap(({ messages }) => messages);
  }

  /** Returns the compressions of this run and of the runs read before it, newest first. */
  async readCompressions(runId: string): Promise<readonly CompressionAppliedEvent[]> {
    const before = this.#runs;
    const info = await this.log.getRun(this.#sessionId, runId);
    const own: CompressionAppliedEvent[] = [];
    const nested = new NestedNodes();
    if (info !== undefined)
      for await (const record of this.#readRecords(info, info.lastId ?? Infinity))
        if (!nested.add(record)) own.push(...findCompression(record));
    return [...own, ...before.toReversed().flatMap(({ compressions }) => compressions)].toReversed();
  }

  /**
   * Returns the recorder of the session's model calls, which knows what the newest run that was read has stored. Call it
   * after `readBefore`.
   */
  async openRecorder(options: RecordPromptsOptions): Promise<ContentRecorder> {
    const recorder = (this.#recorder ??= new ContentRecorder(options));
    try {
      const info = await this.log.getSession(this.#sessionId);
      if (info !== undefined) await recorder.catchUp(this.log, info, this.#runs[0]?.contents ?? []);
    } catch {
      // Values are then stored again. The run itself reports a store that cannot be read.
    }
    return recorder;
  }

  /** Newest first. */
  async *#listBefore(runId: string | undefined): AsyncGenerator<RunInfo, void, undefined> {
    for (let after = runId; ;) {
      const page = await this.log.listRuns(this.#sessionId, {
        limit: PAGE_OF_RUNS,
        ...(after === undefined ? {} : { after }),
      });
      for (const info of page) if (info.status !== "live") yield info;
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE_OF_RUNS) return;
      after = last.runId;
    }
  }

  async #read(info: RunInfo): Promise<RememberedRun> {
    const fold = new RunMessages();
    const compressions: CompressionAppliedEvent[] = [];
    const nested = new NestedNodes();
    const contents = new Map<string, number>();
    for await (const record of this.#readRecords(info, info.lastId ?? info.firstId)) {
      fold.add(record);
      if (nested.add(record)) continue;
      compressions.push(...findCompression(record));
      const { event, envelope } = record;
      if (isKnownEvent(event) && event.type === "llm_content") contents.set(event.role, envelope.event_id ?? 0);
    }
    const messages = fold.finish();
    const characters = JSON.stringify(messages).length + JSON.stringify(compressions).length;
    return { runId: info.runId, messages, characters, compressions, contents: [...contents.values()] };
  }

  async *#readRecords({ runId, firstId }: RunInfo, lastId: number): AsyncGenerator<EventRecord, void, undefined> {
    for await (const page of followRecords(this.log, this.#sessionId, { after: firstId - 1 })) {
      for (const record of page.records) if (record.envelope.run_id === runId) yield record;
      if (page.lastId >= lastId) return;
    }
  }
}

function findCompression({ event }: EventRecord): readonly CompressionAppliedEvent[] {
  return isKnownEvent(event) && event.type === "compression_applied" ? [event] : [];
}

/** Maximum cached sessions, and characters of all of them. */
const MAX_CONVERSATIONS = 1000;
const MAX_REMEMBERED_CHARACTERS = 16 * 1024 * 1024;

/** Cache of conversations of the most recently used sessions. Evicted ones are read from the log again. */
export class Conversations {
  readonly #options: HistoryOptions | undefined;
  readonly #conversations = new BoundedMap<Conversation>(MAX_CONVERSATIONS);

  constructor(options: HistoryOptions | undefined) {
    this.#options = options;
  }

  async recall(log: Log, sessionId: string): Promise<Conversation> {
    const incarnation = (await log.getSession(sessionId))?.incarnation;
    let conversation = this.#conversations.get(sessionId);
    // Two logs may have sessions with the same name, and a deleted session may have been recreated.
    if (conversation?.log !== log || conversation.incarnation !== incarnation)
      conversation = new Conversation(log, sessionId, { ...this.#options, incarnation });
    // Most recently used last.
    this.#conversations.delete(sessionId);
    this.#conversations.set(sessionId, conversation);
    return conversation;
  }

  forget(sessionId: string): void {
    this.#conversations.delete(sessionId);
  }

  /** Evicts the least recently used conversations until the rest is within the limit. */
  trim(): void {
    let characters = 0;
    for (const conversation of this.#conversations.values()) characters += conversation.characters;
    for (const sessionId of this.#conversations.keys()) {
      if (characters <= MAX_REMEMBERED_CHARACTERS) return;
      characters -= this.#conversations.get(sessionId)?.characters ?? 0;
      this.#conversations.delete(sessionId);
    }
  }
}
