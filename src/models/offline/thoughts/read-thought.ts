/**
 * Parses the prompts of tree-of-thoughts and graph-of-thoughts agents: the question, the steps or results so far, the
 * task, and the kind of answer they want. It does not import the agents; any prompt with these words is recognized.
 *
 * Invariant: the kind of answer is decided only by the end of the message, which agents write. Prompts quoted in a
 * question, a task or a result are therefore never mistaken for one. Each marker takes one pass over the text.
 */

export interface ThoughtStep {
  readonly text: string;
  /** Tool calls, written as `name(arguments)`. */
  readonly actions: readonly string[];
  readonly observations: readonly string[];
}

export interface ThoughtResult {
  readonly id: string;
  readonly task: string;
  readonly text: string;
}

export interface ThoughtTask {
  readonly id: string;
  readonly text: string;
}

export type TreeOutcome = "solved" | "unsolved" | "dead";
export type WorkKind = "generate" | "aggregate" | "refine";

export type TreeRequest =
  | {
      readonly kind: "propose";
      readonly question: string;
      readonly steps: readonly ThoughtStep[];
      readonly max: number;
    }
  | { readonly kind: "sample" | "value"; readonly question: string; readonly steps: readonly ThoughtStep[] }
  | { readonly kind: "vote"; readonly question: string; readonly candidates: readonly (readonly ThoughtStep[])[] }
  | {
      readonly kind: "conclude";
      readonly question: string;
      readonly steps: readonly ThoughtStep[];
      readonly outcome: TreeOutcome;
    };

interface GraphRequestPart {
  readonly question: string;
  readonly known: readonly ThoughtResult[];
  readonly task: ThoughtTask | undefined;
}

export type GraphRequest = GraphRequestPart &
  (
    | { readonly kind: "plan"; readonly maxNodes: number; readonly layer?: "first" | "next" }
    | { readonly kind: "complexity" }
    | { readonly kind: "score"; readonly ids: readonly string[] }
    | { readonly kind: "work"; readonly work: WorkKind }
    | { readonly kind: "report"; readonly missing: readonly string[] }
  );

/** The last paragraph of a prompt for each kind of answer. No quoted text follows it. */
const FORMS: readonly (readonly [kind: FormKind, end: RegExp])[] = [
  ["propose", /^List [^\n]{1,60} next steps, at most \d[^\n]{0,100}\nOne step per line[^\n]{0,200}$/],
  ["sample", /^Write the next step only[^\n]{0,200}$/],
  ["value", /^Judge [^\n]{1,200}\n\{"score":[^\n]{0,200}\n[^\n]{0,200}$/],
  ["vote", /(?:^|\n)Which candidate [^\n]{1,200}\n\{"best":[^\n]{0,200}\n[^\n]{0,200}$/],
  ["conclude", /^The search is over[^\n]{1,200}\nWrite the final answer [^\n]{0,40}from these steps[^\n]{0,200}$/],
  ["report", /^Write the final answer [^\n]{0,40}from these results[^\n]{0,200}$/],
  ["work", /^(?:Work on this task only|Combine the results|Improve the result)[^\n]{0,300}$/],
];
/** Endings of several paragraphs: the opening, and the marker with its paragraph counted from the end. */
const LONG_FORMS: readonly (readonly [kind: FormKind, opening: string, mark: string, paragraphs: number])[] = [
  ["plan", "Split the work on this ", '{"nodes":', 3],
  ["plan", "Plan the next layer ", '{"nodes":', 3],
  ["complexity", "Would this task ", '{"complex":', 1],
  ["score", "Rate each ", '{"scores":', 1],
];

type FormKind = TreeRequest["kind"] | GraphRequest["kind"];

const QUESTION = "Question:\n";
const STEPS = "\n\nSteps so far:\n";
const TASK = "\n\nTask ";
const RESULT = "\n\nResult of ";
const GAP = "\n\n";

export function readThought(message: string): TreeRequest | GraphRequest | undefined {
  if (!message.startsWith(QUESTION)) return undefined;
  const form = findForm(message);
  if (form === undefined) return undefined;
  const asked = message.slice(form.start);
  switch (form.kind) {
    case "propose":
      return { kind: "propose", ...readPath(message, form.start), max: readLimit(asked) ?? MAX_PROPOSALS };
    case "sample":
    case "value":
      return { kind: form.kind, ...readPath(message, form.start) };
    case "vote": {
      // The last candidate ends before "Which candidate".
      const end = asked.lastIndexOf("\nWhich candidate");
      const listed = asked.slice(0, end >= 0 ? end : asked.lastIndexOf('\n{"best":'));
      const candidates = splitNumbered(listed, (n) => `Candidate ${n}:\n`).map(readSteps);
      return { kind: "vote", question: message.slice(QUESTION.length, form.start).trim(), candidates };
    }
    case "conclude":
      return { kind: "conclude", ...readPath(message, form.start), outcome: readOutcome(asked) };
    case "report":
      return { kind: "report", ...readGraph(message, form.start, false), missing: readMissing(message, form.start) };
    case "plan":
      return {
        kind: "plan",
        ...readGraph(message, form.start, /\bon this task\b/.test(asked)),
        maxNodes: readLimit(asked) ?? MAX_NODES,
        ...readLayer(asked),
      };
    case "complexity":
      return { kind: "complexity", ...readGraph(message, form.start, true) };
    case "score":
      return { kind: "score", ...readGraph(message, form.start, true), ids: readIds(asked) };
    case "work":
      return { kind: "work", ...readGraph(message, form.start, true), work: readWork(asked) };
  }
}

const MAX_PROPOSALS = 40;
const MAX_NODES = 50;

function findForm(message: string): { readonly kind: FormKind; readonly start: number } | undefined {
  const last = message.lastIndexOf(GAP);
  if (last < 0) return undefined;
  for (const [kind, opening, mark, paragraphs] of LONG_FORMS) {
    let at = last;
    for (let n = 1; n < paragraphs; n++) at = message.lastIndexOf(GAP, at - 1);
    if (at < 0 || !message.startsWith(GAP + mark, at)) continue;
    const start = message.lastIndexOf(GAP + opening, at);
    if (start >= 0) return { kind, start };
  }
  const end = message.slice(last + GAP.length);
  const kind = FORMS.find(([, form]) => form.test(end.slice(-MAX_FORM)))?.[0];
  if (kind === undefined) return undefined;
  // The candidates come before the ending and may have several paragraphs.
  const start = kind === "vote" ? message.lastIndexOf(`${GAP}Candidate 1:\n`) : last;
  return start < 0 ? undefined : { kind, start };
}

const MAX_FORM = 1000;

function readPath(message: string, end: number): { readonly question: string; readonly steps: readonly ThoughtStep[] } {
  const at = message.lastIndexOf(STEPS, end);
  if (at < 0) return { question: message.slice(QUESTION.length, end).trim(), steps: [] };
  return {
    question: message.slice(QUESTION.length, at).trim(),
    steps: readSteps(message.slice(at + STEPS.length, end)),
  };
}

const OBSERVATION = "\n   Observation: ";
const ACTION = "\n   Action: ";

function readSteps(text: string): readonly ThoughtStep[] {
  return splitNumbered(text, (n) => `${n}. `).map((step) => {
    const [first = "", ...seen] = step.split(OBSERVATION);
    const [said = "", ...actions] = first.split(ACTION);
    return { text: said.trim(), actions: trimAll(actions), observations: trimAll(seen.map(unmark)) };
  });
}

/** Removes the line marks of an observation. */
function unmark(seen: string): string {
  return seen.replaceAll(/\n {3}\| ?/g, "\n");
}

function trimAll(texts: readonly string[]): readonly string[] {
  return texts.map((text) => text.trim());
}

/** Splits a text at line starts numbered 1, 2, 3, … */
function splitNumbered(text: string, write: (n: number) => string): readonly string[] {
  const parts: string[] = [];
  const lines = `\n${text.trim()}`;
  let from = -1;
  for (let n = 1, at = 0; ; n++) {
    const mark = `\n${write(n)}`;
    at = lines.indexOf(mark, at);
    if (from >= 0) parts.push(lines.slice(from, at < 0 ? undefined : at));
    if (at < 0) return parts;
    from = at + mark.length;
    // The next number may follow directly.
    at = from - 1;
  }
}

function readGraph(message: string, end: number, hasTask: boolean): GraphRequestPart {
  const task = hasTask ? findTask(message, end) : undefined;
  const until = task?.at ?? end;
  const first = message.indexOf(RESULT);
  const hasResults = first >= 0 && first < until;
  return {
    question: message.slice(QUESTION.length, hasResults ? first : until).trim(),
    known: hasResults ? readResults(message.slice(first, until)) : [],
    task: task === undefined ? undefined : { id: task.id, text: message.slice(task.from, end).trim() },
  };
}

const TASK_HEAD = /\n\nTask (\S{1,200}):\n/y;

function findTask(
  message: string,
  end: number,
): { readonly id: string; readonly at: number; readonly from: number } | undefined {
  const at = message.lastIndexOf(TASK, end);
  TASK_HEAD.lastIndex = at;
  const head = at < 0 ? null : TASK_HEAD.exec(message);
  return head === null ? undefined : { id: head[1] ?? "", at, from: at + head[0].length };
}

function readResults(text: string): readonly ThoughtResult[] {
  const [results = ""] = text.split("\n\nMissing, because");
  return results
    .split(RESULT)
    .slice(1)
    .flatMap((part) => {
      const open = part.indexOf(" (");
      const close = part.indexOf("):\n", open);
      if (open < 0 || close < 0) return [];
      return [{ id: part.slice(0, open), task: part.slice(open + 2, close), text: part.slice(close + 3).trim() }];
    });
}

function readMissing(message: string, end: number): readonly string[] {
  const at = message.lastIndexOf("\n\nMissing, because", end);
  if (at < 0) return [];
  const [, ...lines] = message.slice(at, end).trim().split("\n");
  return lines.filter((line) => line.startsWith("- ")).map((line) => line.slice(2));
}

/** The IDs of the results to rate, as listed in the prompt. */
function readIds(asked: string): readonly string[] {
  return [...asked.matchAll(/"([^"\\\n]{1,200})"\s?:\s?0/g)].map(([, id = ""]) => id);
}

function readLimit(asked: string): number | undefined {
  const [, limit] = /\bat most (\d{1,6})\b/.exec(asked) ?? [];
  return limit === undefined ? undefined : Number(limit);
}

function readLayer(asked: string): { readonly layer?: "first" | "next" } {
  if (/^\s*Plan the next layer /.test(asked)) return { layer: "next" };
  return /\bonly the first layer\b/.test(asked) ? { layer: "first" } : {};
}

function readOutcome(asked: string): TreeOutcome {
  if (/without a complete answer/.test(asked)) return "unsolved";
  return /without an answer|dead end/.test(asked) ? "dead" : "solved";
}

function readWork(asked: string): WorkKind {
  if (/\bcombine\b/i.test(asked)) return "aggregate";
  return /\bimprove\b/i.test(asked) ? "refine" : "generate";
}
