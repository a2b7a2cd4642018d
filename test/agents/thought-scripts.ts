// Scripted models that answer by the content of their prompt instead of by turn, because thoughts run in parallel.
import type { ScriptedRequest, ScriptedTurn } from "../../src/models/scripted-model.ts";

/** The text of the last user message. */
function readAsked({ prompt }: ScriptedRequest): string {
  const last = prompt.at(-1);
  return last?.role === "user" ? last.content.map((part) => (part.type === "text" ? part.text : "")).join("") : "";
}

/** The last step in a tree prompt; empty if there is none. */
function findStep(asked: string): string {
  return [...asked.matchAll(/^\d+\. (.*)$/gm)].at(-1)?.[1] ?? "";
}

/** The node that a graph prompt is about; empty if there is none. */
function findTask(asked: string): string {
  return /^Task (\S+):$/m.exec(asked)?.[1] ?? "";
}

const STEPS: { readonly [step: string]: string } = {
  "": "Use the lift\nCarry it up the stairs",
  "Use the lift": "Ask the caretaker for the key\nWait for the repair",
  "Weigh it": "Take the books out first",
};

const SCORES: { readonly [step: string]: number } = {
  "Use the lift": 0.8,
  "Carry it up the stairs": 0.6,
  "Ask the caretaker for the key": 0.1,
  "Wait for the repair": 0.2,
  "Weigh it": 0.7,
  "Take the books out first": 1,
};

/** The lift has the best score but is a dead end; the stairs lead to the answer. */
export function playMove(request: ScriptedRequest): ScriptedTurn {
  const asked = readAsked(request);
  const step = findStep(asked);
  if (asked.includes('{"score"')) {
    const score = SCORES[step] ?? 0;
    return { text: JSON.stringify({ score, solved: score === 1 }), chunk: 20 };
  }
  if (asked.includes("One step per line")) {
    if (step === "Carry it up the stairs")
      return {
        reasoning: "How heavy is it?",
        text: "Weigh it",
        calls: [{ name: "add", input: { a: 12, b: 8 }, id: "call_weigh" }],
      };
    return { text: STEPS[step] ?? "Give up", chunk: 24 };
  }
  return { text: "Take the books out and carry it up the stairs.", chunk: 16 };
}

const MEALS = {
  nodes: [
    { id: "breakfast", task: "早餐吃什么", needs: [], operation: "generate" },
    { id: "dinner", task: "晚餐吃什么", needs: [], operation: "generate" },
    { id: "shopping", task: "合成购物清单", needs: ["breakfast", "dinner"], operation: "aggregate" },
    { id: "drinks", task: "喝什么", needs: ["breakfast"], operation: "refine" },
    { id: "menu", task: "合成菜单", needs: ["shopping", "drinks"], operation: "aggregate" },
  ],
};

/** The node `dinner` fails; the others succeed. */
export function playMeals(request: ScriptedRequest): ScriptedTurn {
  const asked = readAsked(request);
  if (asked.includes('{"nodes"')) return { text: `先分开想。\n${JSON.stringify(MEALS)}`, chunk: 400 };
  switch (findTask(asked)) {
    case "breakfast":
      return { text: "豆浆和油条。", chunk: 3 };
    case "dinner":
      return { text: "火锅还是", fault: { kind: "break", after: 1 } };
    case "drinks":
      return { reasoning: "配早餐。", text: "豆浆，另备绿茶。", chunk: 4 };
    default:
      return { text: "早餐豆浆油条，喝豆浆或绿茶。", chunk: 6 };
  }
}

const TRIP = {
  nodes: [
    { id: "days", task: "what to see on each day", needs: [], operation: "generate" },
    { id: "food", task: "where to eat", needs: [], operation: "generate" },
    { id: "plan", task: "the whole plan", needs: ["days", "food"], operation: "aggregate" },
  ],
};
const DAYS = {
  nodes: [
    { id: "first", task: "the first day", needs: [], operation: "generate" },
    { id: "second", task: "the second day", needs: [], operation: "generate" },
    { id: "best", task: "the better of the two to begin with", needs: ["first", "second"], operation: "score" },
  ],
};
const FIRST = {
  nodes: [
    { id: "walk", task: "a walk", needs: [], operation: "generate" },
    { id: "better", task: "the same, shorter", needs: ["walk"], operation: "refine" },
  ],
};

/** The node `days` and the node `first` inside it are complex. */
export function playTrip(request: ScriptedRequest): ScriptedTurn {
  const asked = readAsked(request);
  const task = findTask(asked);
  if (asked.includes('{"complex"'))
    return { text: JSON.stringify({ complex: task === "days" || task === "days.first" }), chunk: 30 };
  if (asked.includes('{"nodes"')) {
    const plan = task === "days" ? DAYS : task === "days.first" ? FIRST : TRIP;
    return { text: JSON.stringify(plan), chunk: 400 };
  }
  if (asked.includes('{"scores"')) return { text: '{"scores": {"days.first": 0.9, "days.second": 0.4}}', chunk: 20 };
  if (task === "") return { text: "See Belém first, then Alfama, and eat by the river.", chunk: 12 };
  return { text: `Thought about ${task}.`, chunk: 10 };
}
