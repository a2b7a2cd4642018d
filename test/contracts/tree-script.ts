// A scripted model for tree tests: it answers from its prompt alone, so it works in any process. Also rebuilds the tree
// from events, for comparison.
import type { ScriptedCall, ScriptedRequest, ScriptedTurn } from "../../src/models/scripted-model.ts";
import type { AnyEvent, EventOf, StampedRecord } from "../../src/protocol/index.ts";

export interface ScriptedThought {
  readonly score: number;
  readonly solved?: boolean;
  readonly calls?: readonly ScriptedCall[];
  readonly next?: ScriptedTree;
}

export interface ScriptedTree {
  readonly [text: string]: ScriptedThought;
}

export type QuestionKind = "propose" | "sample" | "value" | "vote" | "answer";

/** The kind of a prompt and the steps in it. */
export interface ReadPrompt {
  readonly kind: QuestionKind;
  readonly steps: readonly string[];
  /** For votes. */
  readonly candidates: readonly (readonly string[])[];
  readonly text: string;
  readonly isAgain: boolean;
}

/** Characters per delta; crash tests stop after every record, so there should be few. */
const CHUNK = 24;

const MARKS: readonly [QuestionKind, string][] = [
  ["propose", "possible next steps"],
  ["sample", "Write the next step only"],
  ["value", '"score"'],
  ["vote", '"best"'],
  ["answer", "Write the final answer"],
];

export function readPrompt({ prompt }: Pick<ScriptedRequest, "prompt">): ReadPrompt {
  const asked = prompt.findLast(
    ({ role, content }) => role === "user" && JSON.stringify(content).includes("Question:"),
  );
  const text =
    asked?.role === "user" ? asked.content.map((part) => (part.type === "text" ? part.text : "")).join("") : "";
  const kind = MARKS.find(([, mark]) => text.includes(mark))?.[0];
  if (kind === undefined) throw new Error(`unknown prompt: ${text}`);
  const [, after = ""] = text.split("Steps so far:\n");
  const blocks = text.split(/Candidate \d+:\n/u).slice(1);
  return {
    kind,
    steps: readSteps(after),
    candidates: blocks.map(readSteps),
    text,
    isAgain: JSON.stringify(prompt.at(-1)).includes("That rating cannot be used"),
  };
}

function readSteps(text: string): readonly string[] {
  const [block = ""] = text.split("\n\n");
  return block.split("\n").flatMap((line) => /^\d+\. (.*)$/u.exec(line)?.[1] ?? []);
}

export function findThought(tree: ScriptedTree, steps: readonly string[]): ScriptedThought {
  let found: ScriptedThought = { score: 1, next: tree };
  for (const step of steps) {
    const next = found.next?.[step];
    if (next === undefined) throw new Error(`no thought ${steps.join(" > ")}`);
    found = next;
  }
  return found;
}

/** Answers a request from the tree. */
export function playTree(tree: ScriptedTree, request: ScriptedRequest): ScriptedTurn {
  return { chunk: CHUNK, ...playTurn(tree, request) };
}

function playTurn(tree: ScriptedTree, request: ScriptedRequest): ScriptedTurn {
  const { kind, steps, candidates, text } = readPrompt(request);
  if (kind === "answer") return { text: `${readOutcome(text)}: ${steps.join(" > ")}` };
  if (kind === "vote") return { text: vote(candidates.map((path) => findThought(tree, path))) };
  const thought = findThought(tree, steps);
  const next = Object.entries(thought.next ?? {});
  if (kind === "value")
    return { text: `Hm. ${JSON.stringify({ score: thought.score, solved: thought.solved === true })}` };
  if (kind === "propose") {
    const calls = next.flatMap(([, { calls: made = [] }]) => made);
    return {
      text: next.length === 0 ? "None." : next.map(([line], index) => `${index + 1}. ${line}`).join("\n"),
      calls,
    };
  }
  const sampled = next[(request.seed ?? 0) % next.length];
  return sampled === undefined ? { text: "none" } : { text: sampled[0], calls: sampled[1].calls ?? [] };
}

function vote(thoughts: readonly ScriptedThought[]): string {
  const scores = thoughts.map(({ score }) => score);
  const best = scores.indexOf(Math.max(...scores));
  return `I compare. {"best": ${best + 1}, "solved": ${thoughts[best]?.solved === true}}`;
}

function readOutcome(text: string): string {
  if (text.includes("these steps answer the question")) return "solved";
  return text.includes("without a complete answer") ? "unsolved" : "dead";
}

export interface RebuiltThought {
  readonly text: string;
  readonly parent: string | undefined;
  readonly depth: number | undefined;
  score: number | undefined;
  status: "open" | "kept" | "pruned" | "abandoned";
}

export interface RebuiltTree {
  readonly thoughts: Map<string, RebuiltThought>;
  /** From the question to the thought chosen last. */
  readonly path: readonly string[];
}

/** Rebuilds the tree from events. Abandoned thoughts stay abandoned unless they are kept again. */
export function rebuildTree(records: readonly StampedRecord[]): RebuiltTree {
  const thoughts = new Map<string, RebuiltThought>();
  let chosen: string | undefined;
  /** The expansion that was not rated yet. */
  let expanded: readonly string[] | undefined;
  const apply = (event: AnyEvent): void => {
    if (event.type === "tot_expand") {
      const { candidates, ids = [], parents, depth } = event as EventOf<"tot_expand">;
      if (expanded !== undefined) throw new Error(`thoughts ${expanded.join()} were not rated`);
      expanded = ids;
      for (const [index, text] of candidates.entries()) {
        const id = ids[index] ?? "";
        if (thoughts.has(id)) throw new Error(`thought ${id} was created twice`);
        const parent = parents?.[index] ?? (event as EventOf<"tot_expand">).parent;
        thoughts.set(id, { text, parent, depth, score: undefined, status: "open" });
      }
    } else if (event.type === "tot_evaluate") {
      const { scores, ids = [], kept = [], unrated = [], chosen: best } = event as EventOf<"tot_evaluate">;
      // A score for each candidate of the expansion before, in its order, and only once.
      if (JSON.stringify(ids) !== JSON.stringify(expanded) || scores.length !== ids.length)
        throw new Error(`thoughts ${ids.join()} are rated after the expansion of ${expanded?.join()}`);
      expanded = undefined;
      for (const [index, id] of ids.entries()) {
        const thought = thoughts.get(id);
        if (thought === undefined) throw new Error(`thought ${id} was rated but never created`);
        if (!unrated.includes(id)) thought.score = scores[index];
        if (kept.includes(id)) thought.status = "kept";
        else if (unrated.includes(id)) continue;
        else if (thought.status !== "abandoned") thought.status = "pruned";
      }
      chosen = kept.length === 0 ? undefined : ids[best];
    } else if (event.type === "tot_backtrack") {
      const { from, to, to_depth, kept } = event as EventOf<"tot_backtrack">;
      for (let id = from; id !== undefined; id = thoughts.get(id)?.parent) {
        const thought = thoughts.get(id);
        if (thought === undefined) throw new Error(`thought ${id} was abandoned but never created`);
        if (id === to || (id !== from && (thought.depth ?? 0) < to_depth)) break;
        thought.status = "abandoned";
      }
      for (const id of kept ?? []) thoughts.get(id)!.status = "kept";
      if (kept !== undefined) chosen = kept.length === 0 ? undefined : to;
    }
  };
  for (const { event } of records) apply(event);
  const path: string[] = [];
  for (let id = chosen; id !== undefined; id = thoughts.get(id)?.parent) path.unshift(id);
  return { thoughts, path };
}
