/**
 * The node `think_evaluate`: the model rates the latest thoughts, separately or by comparison, and the best are
 * continued.
 *
 * Invariant: each rating is a part of the node and is never requested again; `tot_evaluate` is written together with
 * the result of the node.
 */
import type { NodeContext } from "../../graph/index.ts";
import type { ModelMessage } from "../../models/model.ts";
import { type Json, LoomError } from "../../protocol/index.ts";
import { describeValue } from "../../protocol/fault.ts";
import type { ThoughtToRate, TotSettings } from "./tot-settings.ts";
import { askForJson, type JsonReply, recallReply, type ReplyForm } from "../ask-for-json.ts";
import { createWarning } from "../create-warning.ts";
import { runConcurrently } from "../run-concurrently.ts";
import { chooseThoughts, type JudgedThought, NEUTRAL_SCORE } from "./choose-thoughts.ts";
import { askForValue, askForVote, VALUE, VOTE } from "./prompts.ts";
import { readValue, readVote, type ValueVerdict, type VoteVerdict } from "./read-verdict.ts";
import { type CallFailure, SearchCalls } from "./search-calls.ts";
import { closeCalls, type TotContext } from "./tot-context.ts";
import {
  findParent,
  type ThoughtJudgement,
  type TreeLevel,
  listChildren,
  listSteps,
  measureDepth,
  ROOT,
  scoreOf,
  type ThoughtStatus,
  type TotState,
} from "./tot-state.ts";

/** The rating, or why there is none. */
type StoredRating<T extends Json> = JsonReply<T> & { readonly failure?: CallFailure };

/** A rating to ask for: its form, and how its text is read, with the fault if it cannot be. */
interface Rating<T extends Json> extends ReplyForm {
  readonly messages: () => readonly ModelMessage[];
  readonly read: (text: string) => T | string;
}

export async function judgeThoughts(context: TotContext, state: TotState, node: NodeContext) {
  const { search, stage } = context;
  const { frontier: parents } = state;
  const made = parents.flatMap((parent) => listChildren(state, parent));
  const jury = new ThoughtJudge(context, state, node);
  const rated = await (search.evaluate === "vote" ? jury.vote(made) : jury.value(made));
  const { faults, tokens } = jury;
  const judged = search.isSolved === undefined ? rated : await jury.test(rated, search.isSolved);
  const ids = judged.map(({ id }) => id);
  const isShort = state.isShort || ids.length < made.length;
  if (ids.length === 0) return { parents, frontier: [], tokens, isShort };
  const depth = measureDepth(ids[0] ?? "");
  const { chosen, solved, continuing, kept, statuses, hasSpares } = chooseThoughts(judged, depth, search);

  const unknown = judged.filter(({ isUnknown }) => isUnknown);
  if (faults.length > 0 || unknown.length > 0) {
    const code = faults.length > 0 ? "model_output_invalid" : "model_failed";
    node.emitWithResult(createWarning(describeUnknown(faults, unknown), stage, code));
  }
  // The event has a score for each candidate, also for those without a rating.
  const byId = new Map(judged.map((thought) => [thought.id, thought]));
  const unrated = made.filter((id) => !byId.has(id) || byId.get(id)?.isUnknown === true);
  node.emitWithResult({
    type: "tot_evaluate",
    chosen: made.indexOf(ids[chosen] ?? ""),
    scores: made.map((id) => byId.get(id)?.score ?? NEUTRAL_SCORE),
    ids: made,
    kept,
    ...(unrated.length === 0 ? {} : { unrated }),
    depth,
  });
  const pruned = ids.filter((id) => statuses[id] === "pruned");
  const calls = pruned.flatMap((id) => (state.thoughts[id]?.calls ?? []).map((call) => call.id));
  await closeCalls(context, node.span, calls, "the thought was discarded");

  const judgements: { [id: string]: ThoughtJudgement } = {};
  for (const { id, score } of judged) judgements[id] = { score, standing: statuses[id] ?? "pruned" };
  const level = String(state.rounds);
  const levels: { [round: string]: TreeLevel } = hasSpares ? { [level]: { ids, below: state.top } } : {};
  const [best] = continuing;
  const ended = solved === undefined && best !== undefined ? listDeadParents(parents, statuses) : [];
  return {
    parents,
    frontier: continuing,
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

const MAX_NAMED = 5;

/** Says which thoughts have no rating, because the search continues as if they were neither good nor bad. */
function describeUnknown(faults: readonly string[], unknown: readonly JudgedThought[]): string {
  const many = faults.length === 1 ? "1 rating" : `${faults.length} ratings`;
  const why = faults.length === 0 ? "" : `${many} could not be read (${faults[0]})`;
  if (unknown.length === 0) return `${why}; the other ratings of these thoughts count`;
  const names = unknown.slice(0, MAX_NAMED).map(({ id }) => id);
  const more = unknown.length - names.length;
  const named = `${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  const kept = `No rating is known for ${named}; the neutral score ${unknown[0]?.score} is used`;
  return why === "" ? kept : `${why}. ${kept}`;
}

/** Parents without children, or whose children are all dead ends. */
function listDeadParents(
  parents: readonly string[],
  statuses: { readonly [id: string]: ThoughtStatus },
): readonly string[] {
  const living = new Set<string>();
  for (const [id, status] of Object.entries(statuses)) if (status !== "pruned") living.add(findParent(id));
  return parents.filter((parent) => parent !== ROOT && !living.has(parent));
}

/** A deeper thought is closer to an answer; at the same depth the score decides. */
function isBetter(state: TotState, id: string, score: number): boolean {
  const { best } = state;
  if (best === null) return true;
  const further = measureDepth(id) - measureDepth(best);
  return further > 0 || (further === 0 && score > scoreOf(state, best));
}

/** Requests the ratings of one node run. */
class ThoughtJudge {
  readonly #context: TotContext;
  readonly #state: TotState;
  readonly #node: NodeContext;
  readonly #calls: SearchCalls;
  /** Why answers could not be read. */
  readonly faults: string[] = [];

  constructor(context: TotContext, state: TotState, node: NodeContext) {
    this.#context = context;
    this.#state = state;
    this.#node = node;
    this.#calls = new SearchCalls(context, state, node);
  }

  get tokens(): number {
    return this.#calls.tokens;
  }

  /** Rates each thought separately; several ratings of one thought are averaged. Leaves out those it did not come to. */
  async value(ids: readonly string[]): Promise<readonly JudgedThought[]> {
    const { evaluations, evaluate, concurrency } = this.#context.search;
    const asked = ids.flatMap((id) => Array.from({ length: evaluations }, (_, sample) => ({ id, sample })));
    const name = asked.length === 1 ? undefined : "value";
    const ratings = await runConcurrently(asked, concurrency, ({ id, sample }) => {
      const messages = (): readonly ModelMessage[] => askForValue(this.#context, listSteps(this.#state, id));
      const key = `${id}/${sample}`;
      if (typeof evaluate === "function") return this.#rate(key, id, evaluate);
      return this.#ask<ValueVerdict>({ key, name }, sample, { ...VALUE, messages, read: readValue });
    });
    this.#calls.report();
    return ids.flatMap((id, index) => {
      const own = ratings.slice(index * evaluations, (index + 1) * evaluations);
      if (own.every((rating) => rating === undefined)) return [];
      const given = own.filter((rating) => rating != null);
      if (given.length === 0) return [createUnknown(id)];
      const score = given.reduce((sum, rating) => sum + rating.score, 0) / given.length;
      return [{ id, score, isSolved: isMajority(given, evaluations) }];
    });
  }

  /** Compares all thoughts; the score is the share of votes. */
  async vote(ids: readonly string[]): Promise<readonly JudgedThought[]> {
    const { concurrency } = this.#context.search;
    const evaluations = ids.length === 0 ? 0 : this.#context.search.evaluations;
    const name = evaluations === 1 ? undefined : "vote";
    const rating: Rating<VoteVerdict> = {
      ...VOTE,
      messages: () =>
        askForVote(
          this.#context,
          ids.map((id) => listSteps(this.#state, id)),
        ),
      read: (text) => readVote(text, ids.length),
    };
    const votes = await runConcurrently(Array.from({ length: evaluations }), concurrency, (_, sample) =>
      this.#ask({ key: String(sample), name }, sample, rating),
    );
    this.#calls.report();
    if (votes.every((vote) => vote === undefined)) return [];
    const given = votes.filter((vote) => vote != null);
    if (given.length === 0) return ids.map(createUnknown);
    return ids.map((id, index) => {
      const own = given.filter(({ best }) => best === index);
      return { id, score: own.length / given.length, isSolved: isMajority(own, evaluations) };
    });
  }

  /** Replaces what the model says about a solution with a test of the program. */
  async test(
    judged: readonly JudgedThought[],
    isSolved: NonNullable<TotSettings["isSolved"]>,
  ): Promise<readonly JudgedThought[]> {
    const tested = new Map<string, boolean>();
    await runConcurrently(judged, this.#context.search.concurrency, async ({ id }) => {
      const work = async (): Promise<boolean> => readTest(await isSolved(this.#describe(id)));
      tested.set(id, await this.#node.once(`${id}/solved`, work, {}));
    });
    return judged.map((thought) => ({ ...thought, isSolved: tested.get(thought.id) === true }));
  }

  /** Rates a thought with a function of the program. What it throws ends the run. */
  #rate(
    key: string,
    id: string,
    evaluate: (thought: ThoughtToRate) => number | Promise<number>,
  ): Promise<ValueVerdict> {
    const work = async (): Promise<ValueVerdict> => ({
      score: readScore(await evaluate(this.#describe(id))),
      isSolved: false,
    });
    return this.#node.once(key, work, {});
  }

  #describe(id: string): ThoughtToRate {
    const steps = listSteps(this.#state, id).map(({ text }) => text);
    return { question: this.#context.question, steps, signal: this.#node.signal };
  }

  /** Null if the rating is unknown, undefined if the model was not called. */
  async #ask<T extends Json>(
    part: { readonly key: string; readonly name: string | undefined },
    sample: number,
    { messages, read, ...form }: Rating<T>,
  ): Promise<T | null | undefined> {
    const { search } = this.#context;
    const { signal } = this.#node;
    const remembered = await this.#calls.ask<StoredRating<T>>(
      part,
      ({ span }) =>
        askForJson<T>(
          this.#context,
          { ...form, messages: messages(), read: ({ result }) => read(result.text) },
          { span, signal, channel: "judgement", ...(search.evaluations === 1 ? {} : { sample }) },
        ),
      (failure) => ({ fault: "", tokens: 0, failure }),
    );
    if (remembered === undefined) return undefined;
    const given = recallReply(remembered);
    if ("value" in given) return given.value;
    if (given.failure === undefined) this.faults.push(given.fault);
    return null;
  }
}

/** A thought without a rating. */
function createUnknown(id: string): JudgedThought {
  return { id, score: NEUTRAL_SCORE, isSolved: false, isUnknown: true };
}

function isMajority(ratings: readonly { readonly isSolved: boolean }[], all: number): boolean {
  return ratings.filter(({ isSolved }) => isSolved).length * 2 > all;
}

function readScore(score: unknown): number {
  if (typeof score === "number" && score >= 0 && score <= 1) return score;
  throw new LoomError(
    "invalid_arguments",
    `\`evaluate\` must return a number from 0 to 1, not ${describeValue(score)}`,
  );
}

function readTest(isSolved: unknown): boolean {
  if (typeof isSolved === "boolean") return isSolved;
  throw new LoomError("invalid_arguments", `\`isSolved\` must return true or false, not ${describeValue(isSolved)}`);
}
