/**
 * The node `think_expand`: asks the model for next steps of every thought in the frontier, in parallel.
 *
 * Invariant: each answer is a part of the node and is never requested again. One `tot_expand` has the candidates of all
 * thoughts of the frontier, because they are judged together; it is written with the result of the node.
 */
import type { NodeContext } from "../../graph/index.ts";
import type { PartContext } from "../../graph/graph.ts";
import { hasStructuredOutput } from "../create-format.ts";
import { runConcurrently } from "../run-concurrently.ts";
import { askModel, closeCalls, createWarning, findSpentBudget, type TotContext } from "./ask-model.ts";
import { type CallFailure, FailedCalls } from "./failed-calls.ts";
import { askForProposals, askForSample, askForStepsAgain, PROPOSALS_FORMAT } from "./prompts.ts";
import {
  type CandidateThought,
  isBlankOutput,
  joinParsed,
  type ParsedThoughts,
  readProposals,
  readSample,
  type ThoughtLimits,
} from "./read-thoughts.ts";
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
  /** True if its answer was empty, also when asked again. */
  readonly isBlank?: boolean;
};

interface ExpansionCall {
  readonly parent: string;
  readonly index: number;
  /** Maximum thoughts of its answer. */
  readonly max: number;
  /** True if this is the only call for its parent. */
  readonly isWhole: boolean;
}

/** The answers for one thought. */
interface PendingExpansion {
  readonly answers: (ExpansionAnswer | undefined)[];
  /** Number of calls that have not ended. */
  waiting: number;
  result: StoredExpansion | undefined;
}

export async function expandThoughts(context: TotContext, state: TotState, node: NodeContext) {
  const { search, stage } = context;
  const { frontier, startedAt } = state;
  const shares = shareThoughts(search.maxThoughts - state.made, frontier.length, search.candidates);
  const calls = frontier.flatMap((parent, rank) => listCalls(parent, shares[rank] ?? 0, search.generate));
  const maxBytes = shareBytes(frontier, shares);
  // A single call needs no separate part name.
  const name = calls.length === 1 ? undefined : search.generate;
  const expansions = groupCalls(calls);
  const failed = new FailedCalls();
  let { tokens, isShort, isUnread } = state;
  let blanks = 0;

  await runConcurrently(calls, search.concurrency, async (call) => {
    const { parent, index, max, isWhole } = call;
    const expansion = expansions.get(parent) as PendingExpansion;
    const key = isWhole ? parent : `${parent}/${index}`;
    // Remembered answers count even if a budget is used up.
    if (node.has(key) || (!failed.shouldStop && findSpentBudget(context, startedAt, tokens) === undefined)) {
      const limits = { max, maxCharacters: MAX_CHARACTERS, maxBytes };
      const work = (part: PartContext): Promise<ExpansionAnswer> =>
        ask(context, state, call, part, node.signal, limits);
      const recover = (error: unknown): ExpansionAnswer | undefined => {
        const failure = failed.recover(error);
        return failure === undefined ? undefined : { ...NOTHING, failure };
      };
      const answer = await node.once(key, work, { name, recover });
      failed.record(answer);
      if (answer.failure !== undefined || answer.isUnread === true) isUnread = true;
      if (answer.isBlank === true) blanks++;
      tokens += answer.tokens;
      expansion.answers[index] = answer;
    } else isShort = true;
    if (--expansion.waiting === 0)
      expansion.result = isWhole ? expansion.answers[0] : await join(context, expansion, parent, node);
  });
  failed.report(node, stage, state.best !== null);

  const thoughts: { [id: string]: CandidateThought } = {};
  const children: { [id: string]: number } = {};
  const results = frontier.flatMap((parent, rank) => {
    const share = shares[rank] ?? 0;
    const result = expansions.get(parent)?.result;
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
  if (blanks > 0)
    node.emitWithResult(createWarning(`${blanks} answers of the model were empty, also when asked again`, stage));
  const halves = results.filter(({ isHalf }) => isHalf).length;
  if (halves > 0) node.emitWithResult(createWarning(`${halves} answers of the model were cut off`, stage));
  const made = state.made + sum(Object.values(children));
  return { thoughts, children, tokens, made, isShort, isUnread, rounds: state.rounds + 1 };
}

function groupCalls(calls: readonly ExpansionCall[]): ReadonlyMap<string, PendingExpansion> {
  const expansions = new Map<string, PendingExpansion>();
  for (const { parent } of calls) {
    const expansion = expansions.get(parent);
    if (expansion === undefined) expansions.set(parent, { answers: [], waiting: 1, result: undefined });
    else expansion.waiting++;
  }
  return expansions;
}

/** Joins the samples of a thought. Stored, so that a restart gives the same result. */
async function join(
  context: TotContext,
  { answers }: PendingExpansion,
  parent: string,
  node: NodeContext,
): Promise<StoredExpansion | undefined> {
  const given = answers.filter((answer) => answer !== undefined);
  if (given.length === 0) return undefined;
  return node.once(`${parent}/all`, async (): Promise<StoredExpansion> => {
    const { left, ...result } = joinParsed(given);
    await closeCalls(context, node.span, left, "the call was left out");
    return result;
  });
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
  const options = {
    span,
    signal,
    withTools: true,
    ...(isSample ? { sample: index } : {}),
    ...(isStructured ? { format: PROPOSALS_FORMAT } : {}),
  };
  let { thought, tokens } = await askModel(context, messages, options);
  if (thought !== undefined && isBlankOutput(thought)) {
    const again = await askModel(context, askForStepsAgain(messages), { ...options, label: "again" });
    thought = again.thought;
    tokens += again.tokens;
  }
  if (thought === undefined) return { ...NOTHING, cut: 1, tokens, isUnread: true };
  if (isBlankOutput(thought)) return { ...NOTHING, tokens, isUnread: true, isBlank: true };
  const { left, ...result } = isSample ? readSample(thought, limits) : readProposals(thought, limits);
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
