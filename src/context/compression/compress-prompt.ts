/**
 * Makes one prompt fit that is too long: with a summary that is known, or a new one that goes on from it, or without the
 * turns where none can be had; and at last by shortening results. What is sent first after the system's message is one
 * message of the user's that holds the summary: every provider takes it there, and what tools gave does not come to speak
 * with the system's voice.
 */
import { createCancelled } from "../../models/call-watch.ts";
import type { LanguageModel, ModelMessage } from "../../models/model.ts";
import { type CompressionAppliedEvent, type ErrorEvent, isLoomError, LoomError } from "../../protocol/index.ts";
import { chooseCut } from "./choose-cut.ts";
import type { CompressionOptions } from "./compression-options.ts";
import { type Budget, COMPRESSION_DEFAULTS } from "./compression-settings.ts";
import type { FitOptions, FittedPrompt, Prompt } from "./compressor.ts";
import { condenseByRule } from "./condense-by-rule.ts";
import { findModelFamily } from "./model-family.ts";
import type { PromptTokens } from "./prompt-tokens.ts";
import type { SessionMemory } from "./session-memory.ts";
import { splitTurns, type Turns } from "./split-turns.ts";
import { describeCover, type Placed } from "./summaries.ts";
import { isSummaryMessage, joinNote, readNote, writeSummaryMessage } from "./summary-message.ts";
import { shortenText, type WrittenSummary, writeSummary } from "./write-summary.ts";

export interface CompressionPlace extends FitOptions {
  readonly tokens: PromptTokens;
  readonly budget: Budget;
  readonly memory: SessionMemory;
  readonly options: CompressionOptions;
  readonly findWriter: (model: LanguageModel) => Promise<LanguageModel>;
}

/** Tokens below which a summary, or a note in its place, would gain nothing. */
const LEAST_GAIN = 100;
/** Of the target: what the longest results are shortened to, so that there is room for more than them. */
const SHORTENED_SHARE = 0.6;
/** Tokens that stand around a summary. */
const AROUND_SUMMARY = 60;
/** Of a model's window: what it is given to summarise at once. */
const INPUT_SHARE = 0.9;

export async function compressPrompt(prompt: Prompt, place: CompressionPlace): Promise<FittedPrompt> {
  const { tokens, budget, memory, options, signal } = place;
  const [first] = prompt.messages;
  const system = first?.role === "system" ? [first] : [];
  const rest = prompt.messages.slice(system.length);
  const turns = splitTurns(rest, place.question);
  const beside = tokens.countRest(prompt) + tokens.countMessages(system);
  let sent = memory.shortened.apply(rest);
  const compose = (placed: Placed | undefined): readonly ModelMessage[] => [
    ...system,
    ...replaceCovered(sent, turns, placed),
  ];
  const measure = (messages: readonly ModelMessage[]): number =>
    tokens.countRest(prompt) + tokens.countMessages(messages);
  const isAllowed = (at: number): boolean => at <= lastPlace(turns) && rest[at]?.role !== "tool";

  let placed = memory.summaries.find(rest, isAllowed);
  if (place.readEarlier !== undefined && measure(compose(placed)) > budget.limit) {
    memory.summaries.learn(await place.readEarlier());
    if (signal.aborted) throw createCancelled(signal.reason);
    placed = memory.summaries.find(rest, isAllowed);
  }
  const before = measure(compose(placed));
  if (before <= budget.limit) return { messages: compose(placed), events: [] };

  const events: FittedPrompt["events"][number][] = [];
  let method: CompressionAppliedEvent["method"] | undefined;
  const choose = () =>
    chooseCut({
      turns,
      sizes: sent.map((message) => tokens.countMessage(message)),
      from: placed?.at ?? 0,
      keepTurns: options.keepTurns ?? COMPRESSION_DEFAULTS.keepTurns,
      fixed: beside + budget.maxSummaryTokens + AROUND_SUMMARY,
      limit: budget.limit,
      target: budget.target,
    });
  let choice = choose();
  const least = choice?.least.tokens ?? before;
  if (least > budget.limit) {
    // Even the shortest conversation would be too long: what tools gave is, or nothing can be done.
    const kept = rest.slice(choice?.least.at ?? placed?.at ?? 0);
    if (memory.shortened.shorten(kept, least - budget.target * SHORTENED_SHARE, tokens)) {
      method = "cut";
      sent = memory.shortened.apply(rest);
      choice = choose();
    }
  }
  const cover = choice === undefined ? [] : rest.slice(placed?.at ?? 0, choice.cut.at);
  const gain = tokens.countMessages(cover.filter((message) => !isSummaryMessage(message)));
  if (choice !== undefined && gain >= LEAST_GAIN && measure(compose(placed)) > budget.limit) {
    const made = await replaceTurns(cover, placed?.summary.text, gain, place);
    placed = {
      summary: { ...describeCover(rest, choice.cut.at, placed), text: made.text },
      at: choice.cut.at,
    };
    memory.summaries.add(placed.summary);
    method = made.error === undefined ? "summary" : "drop";
    events.push(...describeUsage(made), ...(made.error === undefined ? [] : [made.error]));
  }
  const messages = compose(placed);
  const after = measure(messages);
  if (method !== undefined)
    events.push({
      type: "compression_applied",
      before_tokens: before,
      after_tokens: after,
      method,
      ...(placed === undefined || method === "cut"
        ? {}
        : {
            covered_messages: placed.summary.count,
            covered_digest: placed.summary.digest,
            summary: placed.summary.text,
          }),
    });
  if (after > budget.most) events.push(describeTooLarge(after, place));
  return { messages, events };
}

/** Behind it, nothing may be left out. */
function lastPlace({ starts, rounds }: Turns): number {
  return rounds.at(-1) ?? starts.at(-1) ?? 0;
}

function replaceCovered(
  messages: readonly ModelMessage[],
  { question }: Turns,
  placed: Placed | undefined,
): readonly ModelMessage[] {
  if (placed === undefined) return messages;
  const asked = question !== undefined && question < placed.at ? messages.slice(question, question + 1) : [];
  return [writeSummaryMessage(placed.summary), ...asked, ...messages.slice(placed.at)];
}

interface Replacement extends WrittenSummary {
  readonly error?: ErrorEvent;
}

/** The summary of these messages and of what was before them, or a note that they are missing. */
async function replaceTurns(
  messages: readonly ModelMessage[],
  before: string | undefined,
  gain: number,
  place: CompressionPlace,
): Promise<Replacement> {
  const { tokens } = place;
  const known = before === undefined ? undefined : readNote(before);
  try {
    const written = await summarise(messages, known?.text, place);
    if (tokens.countText(written.text) >= gain + tokens.countText(known?.text ?? ""))
      throw new LoomError("compression_failed", "the summary is longer than what it stands for");
    return { ...written, text: joinNote(written.text, known?.missing ?? 0) };
  } catch (error) {
    if (place.signal.aborted) throw isLoomError(error) ? error : createCancelled(place.signal.reason);
    const reason = isLoomError(error) ? error.message : "the summary could not be written";
    const text = joinNote(known?.text ?? "", (known?.missing ?? 0) + messages.length);
    return { text, promptTokens: 0, completionTokens: 0, error: describeFailure(reason, messages.length) };
  }
}

async function summarise(
  messages: readonly ModelMessage[],
  before: string | undefined,
  { model, tokens, budget, options, signal, findWriter }: CompressionPlace,
): Promise<WrittenSummary> {
  const { maxSummaryTokens } = budget;
  const writer = await findWriter(model);
  if (writer.provider === "offline") {
    // It has rules for messages of users, and none for this.
    const text = condenseByRule(before, messages, (lines) => tokens.countText(lines) <= maxSummaryTokens);
    return { text: shortenText(text, maxSummaryTokens, tokens), promptTokens: 0, completionTokens: 0 };
  }
  const window = writer === model ? budget.window : findModelFamily(writer).contextWindow;
  return writeSummary({
    model: writer,
    tokens,
    before: before === "" ? undefined : before,
    messages,
    maxSummaryTokens,
    maxInputTokens: Math.floor(window * INPUT_SHARE),
    timeoutMs: options.timeoutMs ?? COMPRESSION_DEFAULTS.timeoutMs,
    signal,
  });
}

function describeUsage({ promptTokens, completionTokens }: Replacement): FittedPrompt["events"] {
  if (promptTokens + completionTokens === 0) return [];
  return [
    {
      type: "usage",
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    },
  ];
}

function describeFailure(reason: string, count: number): ErrorEvent {
  return {
    type: "error",
    message: `No summary could be had, and ${count} messages are left out of the prompt: ${reason}`,
    code: "compression_failed",
    stage: "compression",
    recoverable: true,
  };
}

/** A window that is guessed, or tokens that are estimated, may be wrong: then the model is asked, and the log says so. */
function describeTooLarge(size: number, { tokens, budget, model }: CompressionPlace): ErrorEvent {
  const message = `The prompt has ${size} tokens where ${model.modelId} can read ${budget.most}, and nothing more can be left out.`;
  const isSure = budget.isKnown && size / tokens.margin > budget.most;
  if (isSure) throw new LoomError("prompt_too_large", message, { tokens: size, limit: budget.most });
  return { type: "error", message, code: "prompt_too_large", stage: "compression", recoverable: true };
}
