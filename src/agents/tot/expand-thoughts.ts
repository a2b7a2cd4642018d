/**
 * The node `think_expand`: asks the model how each thought of the frontier could go on, side by side. It judges nothing.
 *
 * Invariant: an answer that was read is a part of the node, and never asked for again; `tot_expand` is written together
 * with it.
 */
import type { NodeContext, Part } from "../../graph/index.ts";
import { runSideBySide } from "../side-by-side.ts";
import { askModel, closeCalls, describeFault, findSpent, type TotContext } from "./ask-model.ts";
import { type Failure, FailedCalls } from "./failed-calls.ts";
import { askForProposals, askForSample } from "./prompts.ts";
import {
  type Candidate,
  joinReadings,
  type Reading,
  readProposals,
  readSample,
  type ThoughtLimits,
} from "./read-thoughts.ts";
import { MAX_LEVEL_BYTES } from "./tot-settings.ts";
import { listSteps, measureDepth, nameChild, ROOT, type TotState } from "./tot-state.ts";

/** Of one thought. */
const MAX_CHARACTERS = 4000;
const MAX_BYTES = 16_000;
/** Bytes of what stands around a thought in a record. */
const FRAME_BYTES = 40;

/** What is kept of an answer. Calls that it left out are ended by then, and there may be thousands. */
type Grown = Omit<Reading, "left">;
type Answer = Grown & { readonly tokens: number; readonly failure?: Failure };

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
  reading: Grown | undefined;
}

export async function expandThoughts(context: TotContext, state: TotState, node: NodeContext) {
  const { search, stage } = context;
  const { frontier, startedAt } = state;
  const shares = shareOut(search.maxThoughts - state.made, frontier.length, search.candidates);
  const calls = frontier.flatMap((parent, place) => listCalls(parent, shares[place] ?? 0, search.generate));
  const maxBytes = shareBytes(frontier, shares);
  // Where there is one call only, it is what the node does.
  const name = calls.length === 1 ? undefined : search.generate;
  const growths = groupCalls(calls);
  const failed = new FailedCalls();
  let { tokens, isShort } = state;

  await runSideBySide(calls, search.concurrency, async (call) => {
    const { parent, index, max, isWhole } = call;
    const growth = growths.get(parent) as Growth;
    const key = isWhole ? parent : `${parent}/${index}`;
    // What was answered is taken, whatever is left.
    if (node.has(key) || (!failed.areHopeless && findSpent(context, startedAt, tokens) === undefined)) {
      const limits = { max, maxCharacters: MAX_CHARACTERS, maxBytes, tooMany: search.candidates };
      const work = async (part: Part): Promise<Answer> => {
        const answer = await ask(context, state, call, part, node.signal, limits);
        if (isWhole) announce(part, parent, answer.candidates);
        return answer;
      };
      const recover = (error: unknown): Answer | undefined => {
        const failure = failed.recover(error);
        return failure === undefined ? undefined : { ...NOTHING, failure };
      };
      const answer = await node.once(key, work, { name, recover });
      failed.count(answer);
      if (answer.failure !== undefined) isShort = true;
      tokens += answer.tokens;
      growth.answers[index] = answer;
    } else isShort = true;
    if (--growth.waiting === 0)
      growth.reading = isWhole ? growth.answers[0] : await join(context, growth, parent, node);
  });
  failed.conclude(node, stage, state.best !== null);

  const thoughts: { [id: string]: Candidate } = {};
  const children: { [id: string]: number } = {};
  const readings = frontier.flatMap((parent, place) => {
    const share = shares[place] ?? 0;
    const reading = growths.get(parent)?.reading;
    if (share < search.candidates && (reading?.candidates.length ?? 0) >= share) isShort = true;
    if (reading === undefined) return [];
    for (const [index, candidate] of reading.candidates.entries()) thoughts[nameChild(parent, index)] = candidate;
    children[parent] = reading.candidates.length;
    return [reading];
  });
  const cut = sum(readings.map((reading) => reading.cut));
  if (cut > 0)
    node.conclude(describeFault(`the model gave more than was asked for: ${cut} parts of it were left out`, stage));
  const halves = readings.filter(({ isHalf }) => isHalf).length;
  if (halves > 0)
    node.conclude(describeFault(`the model was stopped in the middle of ${halves} lists of steps or steps`, stage));
  const made = state.made + sum(Object.values(children));
  return { thoughts, children, tokens, made, isShort, rounds: state.rounds + 1 };
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
async function join(
  context: TotContext,
  { answers }: Growth,
  parent: string,
  node: NodeContext,
): Promise<Grown | undefined> {
  const given = answers.filter((answer) => answer !== undefined);
  if (given.length === 0) return undefined;
  return node.once(`${parent}/all`, async (part): Promise<Grown> => {
    const { left, ...reading } = joinReadings(given);
    await closeCalls(context, left, "left out");
    announce(part, parent, reading.candidates);
    return reading;
  });
}

const NOTHING = { candidates: [], cut: 0, isHalf: false, tokens: 0 };

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
  if (thought === undefined) return { ...NOTHING, cut: 1, tokens };
  const { left, ...reading } = isSample ? readSample(thought, limits) : readProposals(thought, limits);
  await closeCalls(context, left, "left out");
  return { ...reading, tokens };
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

/** Bytes for each thought of the level: half of what it has in the record, the other half is for its calls. */
function shareBytes(frontier: readonly string[], shares: readonly number[]): number {
  const longest = Math.max(...frontier.map(({ length }) => length)) + String(Math.max(...shares)).length + 1;
  const each = Math.floor(MAX_LEVEL_BYTES / Math.max(1, sum(shares))) - longest - FRAME_BYTES;
  return Math.min(MAX_BYTES, Math.floor(each / 2));
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
