/**
 * The node `think_evaluate`: has the latest thoughts judged by the model, each by itself or one against the other, and
 * says which of them go on.
 *
 * Invariant: a judgement that was given is a part of the node, and never asked for again; `tot_evaluate` is written
 * together with what follows from it.
 */
import type { NodeContext, Part } from "../../graph/index.ts";
import type { ModelMessage } from "../../models/model.ts";
import type { Json } from "../../protocol/index.ts";
import { runSideBySide } from "../side-by-side.ts";
import { askModel, closeCalls, describeFault, findSpent, type TotContext } from "./ask-model.ts";
import { chooseThoughts, type Judged } from "./choose-thoughts.ts";
import { type Failure, FailedCalls } from "./failed-calls.ts";
import { askForFormAgain, askForValue, askForVote } from "./prompts.ts";
import { cutText } from "./read-thoughts.ts";
import { readValue, readVote, type Value, type Vote } from "./read-verdict.ts";
import {
  findParent,
  type Judgement,
  type Level,
  listChildren,
  listSteps,
  measureDepth,
  ROOT,
  scoreOf,
  type Standing,
  type TotState,
} from "./tot-state.ts";

/** Characters of a wrong answer that the model is shown again. */
const MAX_SHOWN = 2000;

/** Null where the model did not give it the form asked for, and would not when asked again. */
type Verdict<T extends Json> = { readonly verdict: T | null; readonly tokens: number; readonly failure?: Failure };

interface Verdicts {
  /** Those that were judged before a budget was spent. */
  readonly judged: readonly Judged[];
  readonly faults: number;
  readonly tokens: number;
}

export async function judgeThoughts(context: TotContext, state: TotState, node: NodeContext) {
  const { search, stage } = context;
  const { frontier: parents } = state;
  const made = parents.flatMap((parent) => listChildren(state, parent));
  const jury = new Jury(context, state, node);
  const { judged, faults, tokens } = await (search.evaluate === "value" ? jury.value(made) : jury.vote(made));
  const ids = judged.map(({ id }) => id);
  const isShort = state.isShort || ids.length < made.length;
  if (ids.length === 0) return { parents, frontier: [], tokens, isShort };
  const depth = measureDepth(ids[0] ?? "");
  const { chosen, solved, goOn, kept, standings, hasSpares } = chooseThoughts(judged, depth, search);

  if (faults > 0)
    node.conclude(describeFault(`${faults} judgements had not the form asked for, and count as 0`, stage));
  node.conclude({ type: "tot_evaluate", chosen, scores: judged.map(({ score }) => score), ids, kept, depth });
  const pruned = ids.filter((id) => standings[id] === "pruned");
  const calls = pruned.flatMap((id) => (state.thoughts[id]?.calls ?? []).map((call) => call.id));
  await closeCalls(context, calls, "the thought was given up");

  const judgements: { [id: string]: Judgement } = {};
  for (const { id, score } of judged) judgements[id] = { score, standing: standings[id] ?? "pruned" };
  const level = String(state.rounds);
  const levels: { [round: string]: Level } = hasSpares ? { [level]: { ids, below: state.top } } : {};
  const [best] = goOn;
  const ended = solved === undefined && best !== undefined ? listEnded(parents, standings) : [];
  return {
    parents,
    frontier: goOn,
    judged: judgements,
    tokens,
    isShort,
    chosen: best ?? null,
    ...(hasSpares ? { levels, top: level } : {}),
    ...(ended.length > 0 ? { ended: { [level]: { ids: ended, below: state.lastEnded } }, lastEnded: level } : {}),
    ...(solved === undefined ? {} : { solved }),
    ...(best !== undefined && isBetter(state, best, judgements[best]?.score ?? 0) ? { best } : {}),
  };
}

/** Those of the parents whose children are all dead ends, or that have none. */
function listEnded(parents: readonly string[], standings: { readonly [id: string]: Standing }): readonly string[] {
  const living = new Set<string>();
  for (const [id, standing] of Object.entries(standings)) if (standing !== "pruned") living.add(findParent(id));
  return parents.filter((parent) => parent !== ROOT && !living.has(parent));
}

/** The deeper thought is nearer to an answer; of equals the higher score counts. */
function isBetter(state: TotState, id: string, score: number): boolean {
  const { best } = state;
  if (best === null) return true;
  const further = measureDepth(id) - measureDepth(best);
  return further > 0 || (further === 0 && score > scoreOf(state, best));
}

/** Asks for the judgements of one node run. */
class Jury {
  readonly #context: TotContext;
  readonly #state: TotState;
  readonly #node: NodeContext;
  readonly #failed = new FailedCalls();
  #tokens: number;
  #faults = 0;

  constructor(context: TotContext, state: TotState, node: NodeContext) {
    this.#context = context;
    this.#state = state;
    this.#node = node;
    this.#tokens = state.tokens;
  }

  /** Each by itself; several values of one thought are averaged. */
  async value(ids: readonly string[]): Promise<Verdicts> {
    const { evaluations, concurrency } = this.#context.search;
    const asked = ids.flatMap((id) => Array.from({ length: evaluations }, (_, sample) => ({ id, sample })));
    const name = asked.length === 1 ? undefined : "value";
    const sums = new Map(ids.map((id) => [id, { score: 0, solved: 0, given: 0 }]));
    await runSideBySide(asked, concurrency, async ({ id, sample }) => {
      const prompt = (): readonly ModelMessage[] => askForValue(this.#context, listSteps(this.#state, id));
      const value = await this.#ask<Value>(`${id}/${sample}`, name, prompt, sample, readValue);
      const sum = sums.get(id);
      if (value === undefined || sum === undefined) return;
      sum.given++;
      sum.score += value?.score ?? 0;
      sum.solved += value?.isSolved === true ? 1 : 0;
    });
    this.#failed.conclude(this.#node, this.#context.stage, this.#state.best !== null);
    const judged = [...sums].flatMap(([id, { score, solved, given }]): readonly Judged[] =>
      given === 0 ? [] : [{ id, score: score / given, isSolved: solved * 2 > evaluations }],
    );
    return { judged, faults: this.#faults, tokens: this.#tokens };
  }

  /** All together; the score is the share of the votes. */
  async vote(ids: readonly string[]): Promise<Verdicts> {
    const { concurrency } = this.#context.search;
    const evaluations = ids.length === 0 ? 0 : this.#context.search.evaluations;
    const name = evaluations === 1 ? undefined : "vote";
    const votes = ids.map((id) => ({ id, all: 0, solved: 0 }));
    let given = 0;
    const prompt = (): readonly ModelMessage[] =>
      askForVote(
        this.#context,
        ids.map((id) => listSteps(this.#state, id)),
      );
    const read = (text: string): Vote | undefined => readVote(text, ids.length);
    await runSideBySide(Array.from({ length: evaluations }), concurrency, async (_, sample) => {
      const vote = await this.#ask<Vote>(String(sample), name, prompt, sample, read);
      if (vote === undefined) return;
      given++;
      const count = vote === null ? undefined : votes[vote.best];
      if (count === undefined) return;
      count.all++;
      count.solved += vote?.isSolved === true ? 1 : 0;
    });
    this.#failed.conclude(this.#node, this.#context.stage, this.#state.best !== null);
    const judged = votes.map(({ id, all, solved }): Judged => ({
      id,
      score: all / given,
      isSolved: solved * 2 > evaluations,
    }));
    return { judged: given === 0 ? [] : judged, faults: this.#faults, tokens: this.#tokens };
  }

  /** Null where the answer had not the form; undefined where a budget is spent and nobody was asked. */
  async #ask<T extends Json>(
    key: string,
    name: string | undefined,
    prompt: () => readonly ModelMessage[],
    sample: number,
    read: (text: string) => T | undefined,
  ): Promise<T | null | undefined> {
    // What was judged counts, whatever is left.
    const isSpent = findSpent(this.#context, this.#state.startedAt, this.#tokens) !== undefined;
    if ((isSpent || this.#failed.areHopeless) && !this.#node.has(key)) return undefined;
    const work = (part: Part): Promise<Verdict<T>> => this.#judge(part, prompt(), sample, read);
    const recover = (error: unknown): Verdict<T> | undefined => {
      const failure = this.#failed.recover(error);
      return failure === undefined ? undefined : { verdict: null, tokens: 0, failure };
    };
    const given = await this.#node.once<Verdict<T>>(key, work, { name, recover });
    this.#failed.count(given);
    this.#tokens += given.tokens;
    if (given.verdict === null && given.failure === undefined) this.#faults++;
    return given.verdict;
  }

  /** Asks once, and once more where the answer had not the form asked for. */
  async #judge<T extends Json>(
    { span }: Part,
    messages: readonly ModelMessage[],
    sample: number,
    read: (text: string) => T | undefined,
  ): Promise<Verdict<T>> {
    const { signal } = this.#node;
    const { evaluations } = this.#context.search;
    const options = { span, signal, ...(evaluations === 1 ? {} : { sample }) };
    const first = await askModel(this.#context, messages, options);
    if (first.thought === undefined) return { verdict: null, tokens: first.tokens };
    const { text } = first.thought.result;
    const verdict = read(text);
    if (verdict !== undefined) return { verdict, tokens: first.tokens };
    const again = askForFormAgain(messages, cutText(text, MAX_SHOWN));
    const second = await askModel(this.#context, again, { ...options, label: "again" });
    return { verdict: read(second.thought?.result.text ?? "") ?? null, tokens: first.tokens + second.tokens };
  }
}
