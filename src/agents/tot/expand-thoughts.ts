/**
 * The node `think_expand`: asks the model how each thought of the frontier could go on, side by side. It judges nothing.
 *
 * Invariant: an answer that was read is a part of the node, and never asked for again; `tot_expand` is written together
 * with it.
 */
import type { NodeContext, Part } from "../../graph/index.ts";
import { runSideBySide } from "../side-by-side.ts";
import { askModel, describeFault, findSpent, type TotContext } from "./ask-model.ts";
import { askForProposals, askForSample } from "./prompts.ts";
import {
  type Candidate,
  joinReadings,
  type Reading,
  readProposals,
  readSample,
  type ThoughtLimits,
} from "./read-thoughts.ts";
import { listSteps, measureDepth, nameChild, ROOT, type TotState } from "./tot-state.ts";

/** Characters of one thought, and of all that are written at once: a record may have 1 MiB. */
const MAX_CHARACTERS = 4000;
const MAX_LEVEL_CHARACTERS = 160_000;

type Answer = Reading & { readonly tokens: number };

interface Call {
  readonly parent: string;
  readonly index: number;
  /** Thoughts it may give. */
  readonly max: number;
  /** Its answer is all there will be of this parent. */
  readonly isWhole: boolean;
}

/** What comes of one thought. */
interface Growth {
  readonly answers: (Answer | undefined)[];
  /** Calls that are still to come. */
  waiting: number;
  reading: Reading | undefined;
}

export async function expandThoughts(context: TotContext, state: TotState, node: NodeContext) {
  const { search, run, stage } = context;
  const { frontier, startedAt } = state;
  const shares = shareOut(search.maxThoughts - state.made, frontier.length, search.candidates);
  const calls = frontier.flatMap((parent, place) => listCalls(parent, shares[place] ?? 0, search.generate));
  const maxCharacters = Math.min(MAX_CHARACTERS, Math.floor(MAX_LEVEL_CHARACTERS / Math.max(1, sum(shares))));
  // Where there is one call only, it is what the node does.
  const name = calls.length === 1 ? undefined : search.generate;
  const growths = groupCalls(calls);
  let { tokens } = state;

  await runSideBySide(calls, search.concurrency, async (call) => {
    const { parent, index, max, isWhole } = call;
    const growth = growths.get(parent) as Growth;
    if (findSpent(context, startedAt, tokens) === undefined) {
      const limits = { max, maxCharacters, tooMany: search.candidates };
      const work = async (part: Part): Promise<Answer> => {
        const answer = await ask(context, state, call, part, node.signal, limits);
        if (isWhole) announce(part, parent, answer.candidates);
        return answer;
      };
      const answer = await node.once(isWhole ? parent : `${parent}/${index}`, work, { name });
      tokens += answer.tokens;
      growth.answers[index] = answer;
    }
    if (--growth.waiting === 0) growth.reading = isWhole ? growth.answers[0] : await join(growth, parent, node);
  });

  const thoughts: { [id: string]: Candidate } = {};
  const children: { [id: string]: number } = {};
  const readings = frontier.flatMap((parent) => {
    const reading = growths.get(parent)?.reading;
    if (reading === undefined) return [];
    for (const [index, candidate] of reading.candidates.entries()) thoughts[nameChild(parent, index)] = candidate;
    children[parent] = reading.candidates.length;
    return [reading];
  });
  const cut = sum(readings.map((reading) => reading.cut));
  if (cut > 0)
    node.conclude(describeFault(`the model gave more than was asked for: ${cut} parts of it were left out`, stage));
  const unused = readings.flatMap(({ left }) => left);
  if (unused.length > 0) run.closeCalls(unused, { reason: "left out" });
  const made = state.made + sum(Object.values(children));
  return { thoughts, children, tokens, made, rounds: state.rounds + 1 };
}

function groupCalls(calls: readonly Call[]): ReadonlyMap<string, Growth> {
  const growths = new Map<string, Growth>();
  for (const { parent } of calls) {
    const growth = growths.get(parent);
    if (growth === undefined) growths.set(parent, { answers: [], waiting: 1, reading: undefined });
    else growth.waiting++;
  }
  return growths;
}

/** What all samples of a thought come to. It is kept as it was told, whichever of them there were. */
async function join({ answers }: Growth, parent: string, node: NodeContext): Promise<Reading | undefined> {
  const given = answers.filter((answer) => answer !== undefined);
  if (given.length === 0) return undefined;
  return node.once(parent, (part): Reading => {
    const reading = joinReadings(given);
    announce(part, parent, reading.candidates);
    return reading;
  });
}

async function ask(
  context: TotContext,
  state: TotState,
  { parent, index }: Call,
  { span }: Part,
  signal: AbortSignal,
  limits: ThoughtLimits,
): Promise<Answer> {
  const isSample = context.search.generate === "sample";
  const steps = listSteps(state, parent);
  const messages = isSample ? askForSample(context, steps) : askForProposals(context, steps, limits.max);
  const { thought, tokens } = await askModel(context, messages, {
    span,
    signal,
    withTools: true,
    ...(isSample ? { sample: index } : {}),
  });
  if (thought === undefined) return { candidates: [], left: [], cut: 1, tokens };
  return { ...(isSample ? readSample(thought, limits) : readProposals(thought, limits)), tokens };
}

function announce(part: Part, parent: string, candidates: readonly Candidate[]): void {
  if (candidates.length === 0) return;
  part.conclude({
    type: "tot_expand",
    candidates: candidates.map(({ text }) => text),
    ids: candidates.map((_, index) => nameChild(parent, index)),
    ...(parent === ROOT ? {} : { parent }),
    depth: measureDepth(parent) + 1,
  });
}

function listCalls(parent: string, share: number, generate: "propose" | "sample"): readonly Call[] {
  if (share === 0) return [];
  if (generate === "propose") return [{ parent, index: 0, max: share, isWhole: true }];
  return Array.from({ length: share }, (_, index) => ({ parent, index, max: 1, isWhole: share === 1 }));
}

/** What is left of the thoughts, in equal parts; the better ones come first and have the rest. */
function shareOut(left: number, parents: number, candidates: number): readonly number[] {
  const each = Math.floor(left / parents);
  return Array.from({ length: parents }, (_, place) => Math.min(candidates, each + (place < left % parents ? 1 : 0)));
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
