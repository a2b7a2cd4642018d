/**
 * The node `think_expand`: asks the model for next steps of every thought in the frontier, in parallel.
 *
 * Invariant: each answer is a part of the node and is never requested again. One `tot_expand` has the candidates of all
 * thoughts of the frontier, because they are judged together; it is written with the result of the node.
 */
import type { NodeContext } from "../../graph/index.ts";
import type { PartContext } from "../../graph/graph.ts";
import { hasStructuredOutput } from "../../models/model-fault.ts";
import { askForJson, TOO_LONG } from "../ask-for-json.ts";
import { createWarning } from "../create-warning.ts";
import { runConcurrently } from "../run-concurrently.ts";
import type { ThinkResult } from "../think.ts";
import { askForProposals, askForSample, STEPS } from "./prompts.ts";
import {
  type CandidateThought,
  isBlankOutput,
  joinParsed,
  type ParsedThoughts,
  readProposals,
  readSample,
  type ThoughtLimits,
} from "./read-thoughts.ts";
import { type CallFailure, SearchCalls } from "./search-calls.ts";
import { closeCalls, type TotContext } from "./tot-context.ts";
import { MAX_LEVEL_BYTES } from "./tot-settings.ts";
import { findParent, listChildren, listSteps, measureDepth, nameChild, ROOT, type TotState } from "./tot-state.ts";

/** Limits of one thought. */
const MAX_CHARACTERS = 4000;
const MAX_BYTES = 16_000;
/** Bytes of the JSON around a thought in a record. */
const FRAME_BYTES = 40;

/** The stored part of an answer. Calls in `left` are closed by then, and there may be thousands. */
type StoredExpansion = Omit<ParsedThoughts, "left">;
type ExpansionAnswer = StoredExpansion & {
  readonly tokens: number;
  readonly failure?: CallFailure;
  /** True if there is no step although the model did not say so: its answer was cut off or empty. */
  readonly isUnread?: boolean;
  /** Why its answer could not be used, also when asked again. */
  readonly fault?: string;
};

interface ExpansionCall {
  readonly parent: string;
  readonly index: number;
  /** Maximum thoughts of its answer. */
  readonly max: number;
  /** True if this is the only call for its parent. */
  readonly isWhole: boolean;
}

export async function expandThoughts(context: TotContext, state: TotState, node: NodeContext) {
  const { search, stage } = context;
  const { frontier } = state;
  const shares = shareThoughts(search.maxThoughts - state.made, frontier.length, search.candidates);
  const calls = frontier.flatMap((parent, rank) => listCalls(parent, shares[rank] ?? 0, search.generate));
  const maxBytes = shareBytes(frontier, shares);
  // A single call needs no separate part name.
  const name = calls.length === 1 ? undefined : search.generate;
  const asking = new SearchCalls(context, state, node);
  const answers = await runConcurrently(calls, search.concurrency, (call) => {
    const key = call.isWhole ? call.parent : `${call.parent}/${call.index}`;
    const limits = { max: call.max, maxCharacters: MAX_CHARACTERS, maxBytes };
    return asking.ask<ExpansionAnswer>(
      { key, name },
      (part) => ask(context, state, call, part, node.signal, limits),
      (failure) => ({ ...NOTHING, failure, isUnread: true }),
    );
  });
  asking.report();
  let isShort = state.isShort || answers.includes(undefined);
  const isUnread = state.isUnread || answers.some((answer) => answer?.isUnread === true);
  const faults = answers.flatMap((answer) => answer?.fault ?? []);
  const expansions = await joinAnswers(context, node, calls, answers);

  const thoughts: { [id: string]: CandidateThought } = {};
  const children: { [id: string]: number } = {};
  const results = frontier.flatMap((parent, rank) => {
    const share = shares[rank] ?? 0;
    const result = expansions.get(parent);
    if (share < search.candidates && (result?.candidates.length ?? 0) >= share) isShort = true;
    if (result === undefined) return [];
    for (const [index, candidate] of result.candidates.entries()) thoughts[nameChild(parent, index)] = candidate;
    children[parent] = result.candidates.length;
    return [result];
  });
  announce(node, frontier, thoughts, children);
  const cut = sum(results.map((result) => result.cut));
  if (cut > 0)
    node.emitWithResult(createWarning(`The model gave more than requested; ${cut} parts were left out`, stage));
  if (faults.length > 0) {
    const message = `${faults.length} answers of the model could not be used, also when asked again (${faults[0]})`;
    node.emitWithResult(createWarning(message, stage));
  }
  const halves = results.filter(({ isHalf }) => isHalf).length;
  if (halves > 0) node.emitWithResult(createWarning(`${halves} answers of the model were cut off`, stage));
  const made = state.made + sum(Object.values(children));
  return { thoughts, children, tokens: asking.tokens, made, isShort, isUnread, rounds: state.rounds + 1 };
}

/** Joins the samples of each thought. Stored, so that a restart gives the same result. */
async function joinAnswers(
  context: TotContext,
  node: NodeContext,
  calls: readonly ExpansionCall[],
  answers: readonly (ExpansionAnswer | undefined)[],
): Promise<ReadonlyMap<string, StoredExpansion>> {
  const given = new Map<string, ExpansionAnswer[]>();
  const joined = new Map<string, StoredExpansion>();
  for (const [at, { parent, isWhole }] of calls.entries()) {
    const answer = answers[at];
    if (answer === undefined) continue;
    if (isWhole) joined.set(parent, answer);
    else given.set(parent, [...(given.get(parent) ?? []), answer]);
  }
  for (const [parent, samples] of given) {
    const work = async (): Promise<StoredExpansion> => {
      const { left, ...result } = joinParsed(samples);
      await closeCalls(context, node.span, left, "the call was left out");
      return result;
    };
    joined.set(parent, await node.once(`${parent}/all`, work));
  }
  return joined;
}

const NOTHING = { candidates: [], cut: 0, isHalf: false, tokens: 0 };

async function ask(
  context: TotContext,
  state: TotState,
  { parent, index }: ExpansionCall,
  { span }: PartContext,
  signal: AbortSignal,
  limits: ThoughtLimits,
): Promise<ExpansionAnswer> {
  const isSample = context.search.generate === "sample";
  const steps = listSteps(state, parent);
  const isStructured = !isSample && hasStructuredOutput(context.model);
  const messages = isSample ? askForSample(context, steps) : askForProposals(context, steps, limits.max, isStructured);
  const read = (said: ThinkResult): ParsedThoughts | string => {
    if (isBlankOutput(said)) return "it is empty";
    return isSample ? readSample(said, limits) : readProposals(said, limits);
  };
  const reply = await askForJson<ParsedThoughts>(
    context,
    { ...STEPS, format: isStructured ? STEPS.format : undefined, messages, read },
    {
      span,
      signal,
      channel: "thought",
      ...(context.toolbox.names.length === 0 ? {} : { tools: context.toolbox.describe() }),
      ...(isSample ? { sample: index } : {}),
    },
  );
  const { tokens } = reply;
  if ("fault" in reply && reply.fault === TOO_LONG) return { ...NOTHING, cut: 1, tokens, isUnread: true };
  if (!("value" in reply)) return { ...NOTHING, tokens, isUnread: true, fault: reply.fault };
  const { left, ...result } = reply.value;
  await closeCalls(context, span, left, "the call was left out");
  const isUnread = result.candidates.length === 0 && (result.isHalf || result.cut > 0);
  return { ...result, tokens, ...(isUnread ? { isUnread } : {}) };
}

/** Reports the candidates of a level, in the order in which they are judged. */
function announce(
  node: NodeContext,
  frontier: readonly string[],
  thoughts: { readonly [id: string]: CandidateThought },
  children: { readonly [id: string]: number },
): void {
  const ids = frontier.flatMap((parent) => listChildren({ children }, parent));
  const [first] = ids;
  if (first === undefined) return;
  const growing = frontier.filter((parent) => (children[parent] ?? 0) > 0);
  const [parent = ROOT] = growing;
  node.emitWithResult({
    type: "tot_expand",
    candidates: ids.map((id) => thoughts[id]?.text ?? ""),
    ids,
    ...(growing.length > 1 ? { parents: ids.map(findParent) } : parent === ROOT ? {} : { parent }),
    depth: measureDepth(first),
  });
}

function listCalls(parent: string, share: number, generate: "propose" | "sample"): readonly ExpansionCall[] {
  if (share === 0) return [];
  if (generate === "propose") return [{ parent, index: 0, max: share, isWhole: true }];
  return Array.from({ length: share }, (_, index) => ({ parent, index, max: 1, isWhole: share === 1 }));
}

/** Divides the remaining thoughts equally; the best parents get the remainder. */
function shareThoughts(left: number, parents: number, candidates: number): readonly number[] {
  const each = Math.floor(left / parents);
  return Array.from({ length: parents }, (_, rank) => Math.min(candidates, each + (rank < left % parents ? 1 : 0)));
}

/** Bytes per thought of the level: half of its share of the record; the other half is for its calls. */
function shareBytes(frontier: readonly string[], shares: readonly number[]): number {
  const longest = Math.max(...frontier.map(({ length }) => length)) + String(Math.max(...shares)).length + 1;
  const each = Math.floor(MAX_LEVEL_BYTES / Math.max(1, sum(shares))) - longest - FRAME_BYTES;
  return Math.min(MAX_BYTES, Math.floor(each / 2));
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
