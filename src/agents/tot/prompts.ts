/**
 * What the model is asked on the way through a tree of thoughts. Written for any model: plain words, the question first,
 * the steps so far, and last of all the form of the answer. Nothing here knows how an answer is read.
 */
import type { AgentContext } from "../agent-kind.ts";
import type { ModelMessage } from "../../models/model.ts";
import { cutText } from "./read-thoughts.ts";

/** A thought on the path, the tools it calls, and what they gave. */
export interface Step {
  /** Tells steps of several paths apart: one that is shown again is shown in short. */
  readonly id?: string;
  readonly text: string;
  readonly actions?: readonly string[];
  readonly observations?: readonly string[];
}

/** Characters of what tools gave, in all of one prompt, and of a step that was shown in it before. */
const MAX_OBSERVED = 60_000;
const MAX_AGAIN = 200;

type Asked = Pick<AgentContext, "system" | "history" | "question"> & Partial<Pick<AgentContext, "files">>;

export function askForProposals(asked: Asked, path: readonly Step[], max: number): readonly ModelMessage[] {
  return compose(asked, path, [
    `List different possible next steps, at most ${max}, the most promising first.`,
    "One step per line, each short and complete in itself; no other text.",
  ]);
}

export function askForSample(asked: Asked, path: readonly Step[]): readonly ModelMessage[] {
  return compose(asked, path, ["Write the next step only: one short thought that goes on from the steps so far."]);
}

/** The last step of the path is the one that is judged. */
export function askForValue(asked: Asked, path: readonly Step[]): readonly ModelMessage[] {
  return compose(asked, path, [
    "Judge how promising these steps are for answering the question. Think briefly, then end with one line of JSON:",
    '{"score": 0.0 to 1.0, "solved": true or false}',
    "A score of 0 is a dead end. Solved means that the steps already hold the complete and correct answer.",
  ]);
}

export function askForVote(asked: Asked, candidates: readonly (readonly Step[])[]): readonly ModelMessage[] {
  const described = describePaths(candidates);
  const listed = described.map((steps, index) => `Candidate ${index + 1}:\n${steps}`);
  return compose(asked, undefined, [
    ...listed,
    "Which candidate is the most promising for answering the question? Think briefly, then end with one line of JSON:",
    '{"best": number of the candidate, "solved": true or false}',
    "Solved means that this candidate already holds the complete and correct answer.",
  ]);
}

/** After a judgement that had not the form asked for. */
export function askForFormAgain(first: readonly ModelMessage[], answer: string): readonly ModelMessage[] {
  const said = answer.trim() === "" ? "(nothing)" : answer;
  const text = "That did not end with the line of JSON that was asked for. Give that line alone, in the same form.";
  return [
    ...first,
    { role: "assistant", content: [{ type: "text", text: said }] },
    { role: "user", content: [{ type: "text", text }] },
  ];
}

/** How the search came to its end. */
export type Outcome = "solved" | "unsolved" | "dead";

const OUTCOMES: { readonly [K in Outcome]: string } = {
  solved: "The search is over: these steps answer the question.",
  unsolved: "The search is over without a complete answer: these are the most promising steps it found.",
  dead: "The search is over without an answer: every branch that was tried is a dead end.",
};

export function askForAnswer(asked: Asked, path: readonly Step[], outcome: Outcome): readonly ModelMessage[] {
  return compose(asked, path, [
    OUTCOMES[outcome],
    "Write the final answer for the user, from these steps and in the language of the question. Where there is no answer, say so.",
  ]);
}

function compose(
  { system, history, question, files = [] }: Asked,
  path: readonly Step[] | undefined,
  task: readonly string[],
): readonly ModelMessage[] {
  const steps = path === undefined ? [] : [`Steps so far:\n${describePaths([path]).join("")}`];
  const text = [`Question:\n${question}`, ...steps, task.join("\n")].join("\n\n");
  return [
    ...(system === undefined ? [] : [{ role: "system", content: system } as const]),
    ...history,
    { role: "user", content: [{ type: "text", text }, ...files] },
  ];
}

/** What tools gave is told where a step is shown first; all of it shares the room there is. */
function describePaths(paths: readonly (readonly Step[])[]): readonly string[] {
  const seen = new Set<string>();
  const shown = paths.map((path) =>
    path.map((step): Step => {
      const { id, text } = step;
      if (id === undefined || !seen.has(id)) {
        if (id !== undefined) seen.add(id);
        return step;
      }
      return { text: cutText(text, MAX_AGAIN) };
    }),
  );
  const count = shown.flat().reduce((sum, { observations = [] }) => sum + observations.length, 0);
  const room = Math.floor(MAX_OBSERVED / Math.max(1, count));
  return shown.map((path) =>
    path.length === 0 ? "(none)" : path.map((step, n) => describeStep(step, n + 1, room)).join("\n"),
  );
}

function describeStep({ text, actions = [], observations = [] }: Step, number: number, room: number): string {
  return [
    `${number}. ${text}`,
    ...actions.map((call) => `   Action: ${call}`),
    ...observations.map((seen) => `   Observation: ${cutText(markLines(seen), room)}`),
  ].join("\n");
}

/** Others wrote it: a line of it that looks like a step, or like anything else here, is not taken for one. */
function markLines(text: string): string {
  return text.replaceAll(/\r\n?|[\n\v\f\u0085\u2028\u2029]/g, "\n   | ");
}
