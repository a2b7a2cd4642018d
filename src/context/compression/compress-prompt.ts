/**
 * Makes one prompt fit that is too long: with a summary that is known, or a new one that goes on from it, or without the
 * turns where none can be had; by shortening results; and at last by shortening the summary, or leaving it out. What is sent first after the system's message is one
 * message of the user's that holds the summary: every provider takes it there, and what tools gave does not come to speak
 * with the system's voice.
 */
import { createCancelled } from "../../models/call-watch.ts";
import type { ModelMessage } from "../../models/model.ts";
import { type CompressionAppliedEvent, type ErrorEvent, LoomError } from "../../protocol/index.ts";
import { chooseCut, type Cut } from "./choose-cut.ts";
import type { CompressionPlace } from "./compression-place.ts";
import { COMPRESSION_DEFAULTS } from "./compression-settings.ts";
import type { Prompt } from "./compressor.ts";
import { digestMessages } from "./digest-messages.ts";
import { describeFailure, replaceTurns } from "./replace-turns.ts";
import { splitTurns, type Turns } from "./split-turns.ts";
import { describeCover, listSolid, type Placed, type SolidMessages, type Summary } from "./summaries.ts";
import { AROUND_SUMMARY, isSummaryMessage, limitSummary, writeSummaryMessage, writeText } from "./summary-message.ts";
import { shortenText } from "./write-summary.ts";

/** Tokens below which a summary, or a note in its place, would gain nothing. */
const LEAST_GAIN = 100;
/** Of the limit: what results are shortened to. Characters differ in tokens, so it takes a few tries. */
const SHORTENED_TO = 0.98;
const MAX_TRIES = 4;
/** Tokens of a summary below which a note that there is none says as much. */
const LEAST_SUMMARY = 16;

export async function compressPrompt(prompt: Prompt, place: CompressionPlace): Promise<readonly ModelMessage[]> {
  const draft = new Draft(prompt, place);
  const { budget, memory, signal, tell } = place;
  let placed = draft.find();
  if (draft.measure(placed) > budget.limit || (place.hasLostBeginning === true && placed === undefined))
    if (await learnEarlier(place)) placed = draft.find();
  for (; ; placed = draft.find()) {
    const before = draft.measure(placed);
    if (before <= budget.limit) break;
    const plan = draft.plan(placed);
    if (isSure(plan.floor, place)) throw createTooLarge(plan.floor, place);
    if (plan.cut === undefined || plan.gain < LEAST_GAIN) break;
    const { cut, base } = plan;
    const key = draft.keyOf(cut);
    const waiting = memory.waitFor(key, signal);
    if (waiting !== undefined) {
      await waiting;
      continue;
    }
    const summary = await memory.work(key, async () => {
      const made = await replaceTurns(draft.rest.slice(base?.at ?? 0, cut.at), base?.summary, place);
      const written: Summary = { ...describeCover(draft.solid, cut.at, base), ...made };
      const isHistory = cut.at <= draft.turns.present;
      // One of the history is shared by prompts side by side; those of the present turn go on from it, each its own way.
      const isSameSide = base !== undefined && base.at <= draft.turns.present === isHistory;
      memory.summaries.add(written, {
        replaced: isSameSide && !written.isDrop ? base.summary : undefined,
        isLatest: isHistory,
      });
      return written;
    });
    placed = { summary, at: cut.at };
    void tell({
      ...describeApplied(before, draft.measure(placed), summary.isDrop ? "drop" : "summary"),
      covered_messages: summary.count,
      covered_digest: summary.digest,
      summary: writeText(summary),
    });
    break;
  }
  draft.shorten(placed);
  placed = draft.squeeze(placed);
  const size = draft.measure(placed);
  if (size > budget.most) {
    if (isSure(size, place)) throw createTooLarge(size, place);
    void tell(describeTooLarge(size, place));
  }
  return draft.compose(placed);
}

/** What the log has makes no prompt fail: without it, there is a new summary. */
async function learnEarlier({ readEarlier, memory, signal, tell }: CompressionPlace): Promise<boolean> {
  if (readEarlier === undefined) return false;
  try {
    memory.summaries.learn(await readEarlier());
  } catch {
    if (!signal.aborted) void tell(describeFailure("Earlier summaries could not be read from the log."));
  }
  if (signal.aborted) throw createCancelled(signal.reason);
  return true;
}

/** One prompt, and what becomes of it with a summary in it. */
class Draft {
  readonly rest: readonly ModelMessage[];
  readonly turns: Turns;
  readonly solid: SolidMessages;
  readonly #system: readonly ModelMessage[];
  readonly #beside: number;
  readonly #place: CompressionPlace;

  constructor(prompt: Prompt, place: CompressionPlace) {
    const [first] = prompt.messages;
    this.#system = first?.role === "system" ? [first] : [];
    this.rest = prompt.messages.slice(this.#system.length);
    this.turns = splitTurns(this.rest, place.present);
    this.solid = listSolid(this.rest);
    this.#beside = place.tokens.countRest(prompt) + place.tokens.countMessages(this.#system);
    this.#place = place;
  }

  compose(placed: Placed | undefined): readonly ModelMessage[] {
    return [...this.#system, ...this.#replace(placed)];
  }

  measure(placed: Placed | undefined): number {
    return this.#beside + this.#place.tokens.countMessages(this.#replace(placed));
  }

  /** The summary that is known to stand for most of it. */
  find(): Placed | undefined {
    const { memory, hasLostBeginning, tokens, budget } = this.#place;
    const { latest } = memory.summaries;
    const limit = ({ summary, at }: Placed): Placed => ({
      summary: limitSummary(summary, budget.maxSummaryTokens, tokens),
      at,
    });
    const found = this.#findMeant(() => true);
    if (found !== undefined) {
      const placed = limit(found);
      return hasLostBeginning === true || this.#isShorter(placed) ? placed : undefined;
    }
    return hasLostBeginning === true && latest !== undefined ? limit({ summary: latest, at: 0 }) : undefined;
  }

  /** What can be summarised, from where on, and what would be left in any case. */
  plan(placed: Placed | undefined): {
    readonly cut: Cut | undefined;
    readonly base: Placed | undefined;
    readonly gain: number;
    readonly floor: number;
  } {
    const { tokens, memory } = this.#place;
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

  /** Summaries with the same key are written one after another: the second may no longer be needed. */
  keyOf({ at }: Cut): string {
    return at <= this.turns.present ? "history" : digestMessages(this.rest.slice(0, at));
  }

  /** The last that can be done: results are cut, down to a little below the limit. */
  shorten(placed: Placed | undefined): void {
    const { memory, budget, tokens, tell } = this.#place;
    const before = this.measure(placed);
    let size = before;
    for (let tries = 0; size > budget.limit && tries < MAX_TRIES; tries++) {
      const excess = size - Math.floor(budget.limit * SHORTENED_TO);
      if (!memory.shortened.shorten(this.rest.slice(placed?.at ?? 0), excess, tokens)) break;
      size = this.measure(placed);
    }
    if (size < before) void tell(describeApplied(before, size, "cut"));
  }

  /**
   * Where it is still more than the model can read: as much of the summary as there is room for, or a note in its place;
   * and without all that can be spared. The summary itself is kept for prompts that have the room.
   */
  squeeze(placed: Placed | undefined): Placed | undefined {
    const { budget, memory, tell } = this.#place;
    const before = this.measure(placed);
    if (before <= budget.most) return placed;
    let found = { placed, size: before };
    for (const take of [
      () => placed && this.#shortenSummary(placed, before),
      () => placed && this.#drop(placed, placed.at),
      () => this.#drop(placed, this.#choose(placed?.at ?? 0)?.least.at ?? placed?.at ?? 0),
    ]) {
      const taken = take();
      const size = this.measure(taken);
      if (taken !== undefined && size < found.size) found = { placed: taken, size };
      if (found.size <= budget.most) break;
    }
    if (found.placed === undefined || found.size >= before) return placed;
    const { count, digest, isDrop } = found.placed.summary;
    const method = isDrop ? "drop" : "cut";
    const key = `${count} ${digest} ${method}`;
    // The prompts that follow have the same done to them.
    if (memory.squeezed.get(key) === undefined) void tell(describeApplied(before, found.size, method));
    memory.squeezed.set(key, true);
    return found.placed;
  }

  #shortenSummary({ summary, at }: Placed, size: number): Placed | undefined {
    const { budget, tokens } = this.#place;
    let room = tokens.countText(summary.text) - (size - budget.most);
    for (let tries = 0; room >= LEAST_SUMMARY && tries < MAX_TRIES; tries++) {
      const placed = { summary: { ...summary, text: shortenText(summary.text, room, tokens) }, at };
      const excess = this.measure(placed) - budget.most;
      if (excess <= 0) return placed;
      room -= excess;
    }
    return undefined;
  }

  /** A note in the place of everything before `at`; undefined where there is nothing. */
  #drop(placed: Placed | undefined, at: number): Placed | undefined {
    const cover = describeCover(this.solid, at, placed);
    return cover.count === 0 ? placed : { summary: { ...cover, text: "", missing: cover.count, isDrop: true }, at };
  }

  #choose(from: number): ReturnType<typeof chooseCut> {
    const { tokens, budget, memory, options } = this.#place;
    return chooseCut({
      turns: this.turns,
      sizes: memory.shortened.apply(this.rest).map((message) => tokens.countMessage(message)),
      from,
      keepTurns: options.keepTurns ?? COMPRESSION_DEFAULTS.keepTurns,
      fixed: this.#beside + budget.maxSummaryTokens + AROUND_SUMMARY,
      limit: budget.limit,
      target: budget.target,
    });
  }

  /** A summary that is longer than what it stands for, for a model that can read more, is of no use here. */
  #isShorter({ summary, at }: Placed): boolean {
    const { tokens, memory } = this.#place;
    let room = tokens.countMessage(writeSummaryMessage(summary));
    for (const [index, message] of memory.shortened.apply(this.rest.slice(0, at)).entries()) {
      if (index !== this.turns.question) room -= tokens.countMessage(message);
      if (room < 0) return true;
    }
    return false;
  }

  /** Turns that were left out are summarised after all, as long as they are there. */
  #findBase(placed: Placed | undefined): Placed | undefined {
    if (placed?.summary.isDrop !== true) return placed;
    const base = this.#findMeant(({ isDrop }) => !isDrop);
    return base === undefined && placed.summary.text !== "" ? placed : base;
  }

  #findMeant(isMeant: (summary: Summary) => boolean): Placed | undefined {
    const { starts, rounds } = this.turns;
    // Behind it, nothing may be left out.
    const last = rounds.at(-1) ?? starts.at(-1) ?? 0;
    return this.#place.memory.summaries.find(
      this.solid,
      (summary, at) => at <= last && this.rest[at]?.role !== "tool" && isMeant(summary),
    );
  }

  #replace(placed: Placed | undefined): readonly ModelMessage[] {
    const { shortened } = this.#place.memory;
    if (placed === undefined) return shortened.apply(this.rest);
    const { question } = this.turns;
    const asked = question !== undefined && question < placed.at ? this.rest.slice(question, question + 1) : [];
    return [writeSummaryMessage(placed.summary), ...asked, ...shortened.apply(this.rest.slice(placed.at))];
  }
}

function describeApplied(
  before_tokens: number,
  after_tokens: number,
  method: "summary" | "drop" | "cut",
): CompressionAppliedEvent {
  return { type: "compression_applied", before_tokens, after_tokens, method };
}

/** A window that is guessed, or tokens that are estimated, may be wrong: then the model is asked, and the log says so. */
function isSure(size: number, { tokens, budget }: CompressionPlace): boolean {
  return budget.isKnown && tokens.margin === 1 && size > budget.most;
}

function createTooLarge(size: number, place: CompressionPlace): LoomError {
  const { message } = describeTooLarge(size, place);
  return new LoomError("prompt_too_large", message, { tokens: size, limit: place.budget.most });
}

function describeTooLarge(size: number, { budget, model }: CompressionPlace): ErrorEvent {
  const message = `The prompt has ${size} tokens where ${model.modelId} can read ${budget.most}, and nothing more can be left out.`;
  return { type: "error", message, code: "prompt_too_large", stage: "compression", recoverable: true };
}
