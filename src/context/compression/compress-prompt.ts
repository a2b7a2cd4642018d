/**
 * Compresses one prompt that exceeds its token limit. Steps, in order: use a known summary; write a new one that
 * continues it, or drop the turns if no summary can be written; cut tool results; shorten or drop the summary itself.
 *
 * The summary is sent as the first user message after the system message. Every provider accepts that, and tool output
 * that found its way into a summary does not gain the authority of the system message.
 */
import { createCancelled } from "../../models/attempt-monitor.ts";
import type { ModelMessage } from "../../models/model.ts";
import { LoomError } from "../../protocol/index.ts";
import type { CompressionAppliedEvent, ErrorEvent } from "../../protocol/events.generated.ts";
import { chooseCut, type ConversationTurns, type PromptCut, splitTurns } from "./choose-cut.ts";
import type { CompressionContext } from "./compression-context.ts";
import { COMPRESSION_DEFAULTS } from "./compression-options.ts";
import type { Prompt } from "./prompt-tokens.ts";
import {
  describeCoverage,
  digestMessages,
  isSummaryMessage,
  limitSummary,
  listRestorable,
  type PlacedSummary,
  type RestorableMessages,
  type Summary,
  SUMMARY_OVERHEAD,
  writeSummaryMessage,
  writeSummaryText,
} from "./summaries.ts";
import { describeFailure, replaceTurns } from "./write-summary.ts";

/** A summary or note that saves fewer tokens than this is not worth it. */
const MIN_GAIN = 100;
/** Share of the limit that cutting tool results aims for. Tokens per character vary, so it takes a few attempts. */
const SHORTEN_TARGET = 0.98;
const MAX_TRIES = 4;
/** A shorter summary is replaced by a note that messages are missing. */
const MIN_SUMMARY_TOKENS = 16;

/**
 * Returns the messages to send. Throws `prompt_too_large` if the prompt certainly cannot fit, or the error of an abort.
 */
export async function compressPrompt(prompt: Prompt, context: CompressionContext): Promise<readonly ModelMessage[]> {
  const draft = new PromptDraft(prompt, context);
  const { budget, memory, signal, emit } = context;
  let placed = draft.findSummary();
  if (draft.measure(placed) > budget.limit || (context.isHistoryTruncated === true && placed === undefined))
    if (await loadEarlierSummaries(context)) placed = draft.findSummary();
  for (; ; placed = draft.findSummary()) {
    const before = draft.measure(placed);
    if (before <= budget.limit) break;
    const plan = draft.plan(placed);
    if (isCertainlyTooLarge(plan.floor, context)) throw createTooLargeError(plan.floor, context);
    if (plan.cut === undefined || plan.gain < MIN_GAIN) break;
    const { cut, base } = plan;
    const key = draft.keyOf(cut);
    const waiting = memory.waitFor(key, signal);
    if (waiting !== undefined) {
      await waiting;
      continue;
    }
    const summary = await memory.runExclusive(key, async () => {
      const made = await replaceTurns(draft.rest.slice(base?.at ?? 0, cut.at), base?.summary, context);
      const written: Summary = { ...describeCoverage(draft.restorable, cut.at, base), ...made };
      const isHistory = cut.at <= draft.turns.current;
      // Parallel prompts share a summary of the history. Summaries of the current turn continue it separately and must
      // not replace it.
      const isSameSide = base !== undefined && base.at <= draft.turns.current === isHistory;
      memory.summaries.add(written, {
        replaced: isSameSide && !written.isDrop ? base.summary : undefined,
        isLatest: isHistory,
      });
      return written;
    });
    placed = { summary, at: cut.at };
    void emit({
      ...createAppliedEvent(before, draft.measure(placed), summary.isDrop ? "drop" : "summary"),
      covered_messages: summary.count,
      covered_digest: summary.digest,
      summary: writeSummaryText(summary),
    });
    break;
  }
  draft.shorten(placed);
  placed = draft.squeeze(placed);
  const size = draft.measure(placed);
  if (size > budget.maximum) {
    if (isCertainlyTooLarge(size, context)) throw createTooLargeError(size, context);
    void emit(createTooLargeEvent(size, context));
  }
  return draft.compose(placed);
}

/** Loads summaries from the log. If reading fails, reports it and continues: a new summary is written instead. */
async function loadEarlierSummaries({ readEarlier, memory, signal, emit }: CompressionContext): Promise<boolean> {
  if (readEarlier === undefined) return false;
  try {
    memory.summaries.addEarlier(await readEarlier());
  } catch {
    if (!signal.aborted)
      void emit(describeFailure("Reading earlier summaries from the log failed; a new summary is written"));
  }
  if (signal.aborted) throw createCancelled(signal.reason);
  return true;
}

/** One prompt and its variants with a summary in place of older messages. */
class PromptDraft {
  readonly rest: readonly ModelMessage[];
  readonly turns: ConversationTurns;
  readonly restorable: RestorableMessages;
  readonly #system: readonly ModelMessage[];
  readonly #overhead: number;
  readonly #context: CompressionContext;

  constructor(prompt: Prompt, context: CompressionContext) {
    const [first] = prompt.messages;
    this.#system = first?.role === "system" ? [first] : [];
    this.rest = prompt.messages.slice(this.#system.length);
    this.turns = splitTurns(this.rest, context.turnStart);
    this.restorable = listRestorable(this.rest);
    this.#overhead = context.tokens.countRest(prompt) + context.tokens.countMessages(this.#system);
    this.#context = context;
  }

  /** Returns the complete prompt. */
  compose(placed: PlacedSummary | undefined): readonly ModelMessage[] {
    return [...this.#system, ...this.#replace(placed)];
  }

  /** Returns the tokens of the complete prompt. */
  measure(placed: PlacedSummary | undefined): number {
    return this.#overhead + this.#context.tokens.countMessages(this.#replace(placed));
  }

  /** Finds the known summary that covers the most messages. */
  findSummary(): PlacedSummary | undefined {
    const { memory, isHistoryTruncated, tokens, budget } = this.#context;
    const { latest } = memory.summaries;
    const limit = ({ summary, at }: PlacedSummary): PlacedSummary => ({
      summary: limitSummary(summary, budget.maxSummaryTokens, tokens),
      at,
    });
    const found = this.#findMatching(() => true);
    if (found !== undefined) {
      const placed = limit(found);
      return isHistoryTruncated === true || this.#isShorter(placed) ? placed : undefined;
    }
    return isHistoryTruncated === true && latest !== undefined ? limit({ summary: latest, at: 0 }) : undefined;
  }

  /**
   * Returns the next cut, the summary to continue, the tokens the cut removes, and the smallest size the prompt can
   * reach.
   */
  plan(placed: PlacedSummary | undefined): {
    readonly cut: PromptCut | undefined;
    readonly base: PlacedSummary | undefined;
    readonly gain: number;
    readonly floor: number;
  } {
    const { tokens, memory } = this.#context;
    const from = placed?.at ?? 0;
    const choice = this.#choose(from);
    const cover = choice === undefined ? [] : memory.shortened.apply(this.rest).slice(from, choice.cut.at);
    const last = choice?.least.at ?? from;
    const least = Math.min(this.measure(placed), this.measure(this.#drop(placed, last)));
    return {
      cut: choice?.cut,
      base: this.#findBase(placed),
      gain: tokens.countMessages(cover.filter((message) => !isSummaryMessage(message))),
      floor: least - memory.shortened.measureGain(this.rest.slice(last), tokens),
    };
  }

  /** Summaries with the same key are written one after another, because the first may make the second unnecessary. */
  keyOf({ at }: PromptCut): string {
    return at <= this.turns.current ? "history" : digestMessages(this.rest.slice(0, at));
  }

  /** Cuts tool results until the prompt is slightly below the limit. */
  shorten(placed: PlacedSummary | undefined): void {
    const { memory, budget, tokens, emit } = this.#context;
    const before = this.measure(placed);
    let size = before;
    for (let tries = 0; size > budget.limit && tries < MAX_TRIES; tries++) {
      const excess = size - Math.floor(budget.limit * SHORTEN_TARGET);
      if (!memory.shortened.shorten(this.rest.slice(placed?.at ?? 0), excess, tokens)) break;
      size = this.measure(placed);
    }
    if (size < before) void emit(createAppliedEvent(before, size, "cut"));
  }

  /**
   * Reduces a prompt that still exceeds what the model can read: shortens the summary, replaces it with a note, then
   * drops everything that may be dropped. Affects only this prompt; the full summary stays in memory.
   */
  squeeze(placed: PlacedSummary | undefined): PlacedSummary | undefined {
    const { budget, memory, emit } = this.#context;
    const before = this.measure(placed);
    if (before <= budget.maximum) return placed;
    let found = { placed, size: before };
    for (const take of [
      () => placed && this.#shortenSummary(placed, before),
      () => placed && this.#drop(placed, placed.at),
      () => this.#drop(placed, this.#choose(placed?.at ?? 0)?.least.at ?? placed?.at ?? 0),
    ]) {
      const taken = take();
      const size = this.measure(taken);
      if (taken !== undefined && size < found.size) found = { placed: taken, size };
      if (found.size <= budget.maximum) break;
    }
    if (found.placed === undefined || found.size >= before) return placed;
    const { count, digest, isDrop } = found.placed.summary;
    const method = isDrop ? "drop" : "cut";
    const key = `${count} ${digest} ${method}`;
    // Later prompts are reduced in the same way; report it once.
    if (memory.reportedSqueezes.get(key) === undefined) void emit(createAppliedEvent(before, found.size, method));
    memory.reportedSqueezes.set(key, true);
    return found.placed;
  }

  #shortenSummary({ summary, at }: PlacedSummary, size: number): PlacedSummary | undefined {
    const { budget, tokens } = this.#context;
    let room = tokens.countText(summary.text) - (size - budget.maximum);
    for (let tries = 0; room >= MIN_SUMMARY_TOKENS && tries < MAX_TRIES; tries++) {
      const placed = { summary: { ...summary, text: tokens.shortenText(summary.text, room) }, at };
      const excess = this.measure(placed) - budget.maximum;
      if (excess <= 0) return placed;
      room -= excess;
    }
    return undefined;
  }

  /** Replaces everything before `at` with a note. Returns `placed` if there is nothing to replace. */
  #drop(placed: PlacedSummary | undefined, at: number): PlacedSummary | undefined {
    const cover = describeCoverage(this.restorable, at, placed);
    return cover.count === 0 ? placed : { summary: { ...cover, text: "", missing: cover.count, isDrop: true }, at };
  }

  #choose(from: number): ReturnType<typeof chooseCut> {
    const { tokens, budget, memory, options } = this.#context;
    return chooseCut({
      turns: this.turns,
      sizes: memory.shortened.apply(this.rest).map((message) => tokens.countMessage(message)),
      from,
      keepTurns: options.keepTurns ?? COMPRESSION_DEFAULTS.keepTurns,
      fixed: this.#overhead + budget.maxSummaryTokens + SUMMARY_OVERHEAD,
      limit: budget.limit,
      target: budget.target,
    });
  }

  /** A summary written for a larger context window can be longer than the messages it replaces. */
  #isShorter({ summary, at }: PlacedSummary): boolean {
    const { tokens, memory } = this.#context;
    let room = tokens.countMessage(writeSummaryMessage(summary));
    for (const [index, message] of memory.shortened.apply(this.rest.slice(0, at)).entries()) {
      if (index !== this.turns.question) room -= tokens.countMessage(message);
      if (room < 0) return true;
    }
    return false;
  }

  /**
   * Finds the summary that the next one continues. Skips dropped turns, so that they are summarized if still available.
   */
  #findBase(placed: PlacedSummary | undefined): PlacedSummary | undefined {
    if (placed?.summary.isDrop !== true) return placed;
    const base = this.#findMatching(({ isDrop }) => !isDrop);
    return base === undefined && placed.summary.text !== "" ? placed : base;
  }

  #findMatching(matches: (summary: Summary) => boolean): PlacedSummary | undefined {
    const { starts, rounds } = this.turns;
    // Messages from here on must be kept.
    const last = rounds.at(-1) ?? starts.at(-1) ?? 0;
    return this.#context.memory.summaries.find(
      this.restorable,
      (summary, at) => at <= last && this.rest[at]?.role !== "tool" && matches(summary),
    );
  }

  #replace(placed: PlacedSummary | undefined): readonly ModelMessage[] {
    const { shortened } = this.#context.memory;
    if (placed === undefined) return shortened.apply(this.rest);
    const { question } = this.turns;
    const questionMessages =
      question !== undefined && question < placed.at ? this.rest.slice(question, question + 1) : [];
    return [writeSummaryMessage(placed.summary), ...questionMessages, ...shortened.apply(this.rest.slice(placed.at))];
  }
}

function createAppliedEvent(
  before_tokens: number,
  after_tokens: number,
  method: "summary" | "drop" | "cut",
): CompressionAppliedEvent {
  return { type: "compression_applied", before_tokens, after_tokens, method };
}

/**
 * Only an exact token count and a known context window justify rejecting the prompt. Otherwise the model is called
 * anyway, and the log contains the error.
 */
function isCertainlyTooLarge(size: number, { tokens, budget }: CompressionContext): boolean {
  return budget.isKnown && tokens.margin === 1 && size > budget.maximum;
}

function createTooLargeError(size: number, context: CompressionContext): LoomError {
  const { message } = createTooLargeEvent(size, context);
  return new LoomError("prompt_too_large", message, { tokens: size, limit: context.budget.maximum });
}

function createTooLargeEvent(size: number, { budget, model }: CompressionContext): ErrorEvent {
  const message = `The prompt has ${size} tokens, but ${model.modelId} can read at most ${budget.maximum}, and nothing more can be removed. Shorten the message or start a new session.`;
  return { type: "error", message, code: "prompt_too_large", stage: "compression", recoverable: true };
}
