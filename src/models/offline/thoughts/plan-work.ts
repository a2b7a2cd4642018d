/**
 * Plans work as a graph of small tasks: independent parts in parallel, then a node that combines them and one that
 * improves the result. Simple work is a single node.
 *
 * Invariant: a plan is acyclic, connected, ends in one node and respects the node limit.
 */
import type { OfflineLanguage } from "../offline-task.ts";
import { findTasks } from "../find-tasks.ts";
import { findProject, type Project } from "./find-project.ts";
import { readConsent } from "./read-consent.ts";
import { splitTask } from "./split-task.ts";

export interface PlannedNode {
  readonly id: string;
  readonly task: string;
  readonly needs: readonly string[];
  readonly operation: "generate" | "aggregate" | "refine" | "score";
}

type WorkPart = readonly [id: string, task: string];

export function planQuestion(question: string, maxNodes: number, language: OfflineLanguage): readonly PlannedNode[] {
  const tasks = findTasks(question);
  if (tasks.length > 1 && tasks.every(({ tool, needsResults }) => tool === "calculator" && needsResults !== true)) {
    const sums = tasks.map(({ about }, index): WorkPart => [`sum_${index + 1}`, WORDS[language].sum(about[language])]);
    return joinParts(sums, ["together", WORDS[language].together], maxNodes) ?? planWhole(question);
  }
  // Work that needs an approval, or is mixed with other tasks, stays one task, because its order matters.
  if (tasks.length > 0 || readConsent(question, []) !== "none") return planWhole(question);
  const project = findProject(question, language);
  return (project === undefined ? undefined : planProject(project, maxNodes, language)) ?? planWhole(question);
}

/** Plans a task that names several things. */
export function planTask(task: string, maxNodes: number, language: OfflineLanguage): readonly PlannedNode[] {
  const parts = nameParts(splitTask(task, language).map(({ item, task: text }) => [item, text]));
  return joinParts(parts, ["together", task], maxNodes) ?? planWhole(task);
}

function planWhole(task: string): readonly PlannedNode[] {
  const text = task.trim().slice(0, MAX_TASK).toWellFormed();
  return [{ id: "reply", task: text === "" ? "?" : text, needs: [], operation: "generate" }];
}

/** Whether a task is the whole question, up to the length limit of a task. */
export function isWholeTask(task: string, question: string): boolean {
  return planWhole(question).some((node) => node.task.trim() === task.trim());
}

/** Maximum characters of a task. */
const MAX_TASK = 1500;

/** Returns undefined if there is no room for at least two parts. */
function joinParts(parts: readonly WorkPart[], end: WorkPart, maxNodes: number): readonly PlannedNode[] | undefined {
  const kept = parts.slice(0, maxNodes - 1);
  if (kept.length < 2) return undefined;
  return [...kept.map(generate), combine(end, kept)];
}

function planProject(
  project: Project,
  maxNodes: number,
  language: OfflineLanguage,
): readonly PlannedNode[] | undefined {
  const words = WORDS[language];
  const parts = listParts(project, language);
  const what = nameProject(project, language);
  const draft: WorkPart = ["draft", words.draft[project.kind](what)];
  // Two openings, of which the better is kept.
  const opening: readonly PlannedNode[] =
    project.kind === "report" && project.subjects.length === 1
      ? [
          generate(["opening_1", words.openings[0](what)]),
          generate(["opening_2", words.openings[1](what)]),
          { id: "opening", task: words.opening, needs: ["opening_1", "opening_2"], operation: "score" },
        ]
      : [];
  const nodes = [
    ...opening,
    ...parts.map(generate),
    combine(draft, [...(opening.length === 0 ? [] : [["opening", ""] as const]), ...parts]),
    { id: "final", task: words.final, needs: ["draft"], operation: "refine" as const },
  ];
  return nodes.length <= maxNodes ? nodes : joinParts(parts, draft, maxNodes);
}

function nameProject(project: Project, language: OfflineLanguage): string {
  if (project.kind !== "plan") return joinNames(project.subjects, language);
  return project.isCut === true ? `${project.subject}${WORDS[language].cut(project.days)}` : project.subject;
}

function joinNames(names: readonly string[], language: OfflineLanguage): string {
  const [comma, and] = language === "zh" ? ["、", "和"] : [", ", " and "];
  const first = names.slice(0, -1).join(comma);
  return first === "" ? (names.at(-1) ?? "") : `${first}${and}${names.at(-1) ?? ""}`;
}

export interface Sections {
  readonly title: string;
  readonly tasks: readonly string[];
  readonly leftOut: string | undefined;
}

/** Lists the sections of a report, comparison or plan; undefined for other questions. */
export function listSections(question: string, language: OfflineLanguage): Sections | undefined {
  const project = findProject(question, language);
  if (project === undefined) return undefined;
  const title = WORDS[language].draft[project.kind](nameProject(project, language));
  return { title, tasks: listParts(project, language).map(([, task]) => task), leftOut: project.leftOut };
}

function listParts(project: Project, language: OfflineLanguage): readonly WorkPart[] {
  const words = WORDS[language];
  if (project.kind === "plan") {
    const days = Array.from({ length: project.days }, (_, index): WorkPart => [
      `day_${index + 1}`,
      words.day(index + 1),
    ]);
    const { goal, preparation, steps, risks } = words.plan;
    const { subject } = project;
    const middle: readonly WorkPart[] = days.length > 0 ? days : [["steps", steps(subject)]];
    return [["goal", goal(subject)], ...middle, ["preparation", preparation(subject)], ["risks", risks(subject)]];
  }
  const { kind, subjects } = project;
  const [subject = ""] = subjects;
  if (kind === "report" && subjects.length === 1) {
    return Object.entries(words.aspects).map(([id, write]): WorkPart => [id, write(subject)]);
  }
  const each = nameParts(subjects.map((name) => [name, words.describe(name)]));
  return kind === "compare" ? [["criteria", words.criteria], ...each] : each;
}

const WORDS = {
  en: {
    sum: (expression: string) => `Calculate ${expression}`,
    together: "Put the results together",
    openings: [
      (what: string) => `An opening with a question about ${what}`,
      (what: string) => `An opening that states the subject: ${what}`,
    ] as const,
    opening: "Choose the better opening",
    aspects: {
      background: (what: string) => `Background of ${what}`,
      today: (what: string) => `Current state of ${what}`,
      arguments: (what: string) => `Arguments for and against ${what}`,
      outlook: (what: string) => `Outlook for ${what}`,
    },
    describe: (what: string) => `About ${what}`,
    criteria: "Criteria for the comparison",
    cut: (days: number) => ` (only the first ${days} days)`,
    day: (n: number) => `Day ${n}: morning, afternoon and evening`,
    plan: {
      goal: (what: string) => `Goal: ${what}`,
      steps: (what: string) => `Steps: ${what}`,
      preparation: (what: string) => `Preparation: ${what}`,
      risks: (what: string) => `Risks: ${what}`,
    },
    draft: {
      report: (what: string) => `Report on ${what}`,
      compare: (what: string) => `Comparison: ${what}`,
      plan: (what: string) => `Plan: ${what}`,
    },
    final: "Proofread it and add a summary at the end",
  },
  zh: {
    sum: (expression: string) => `计算 ${expression}`,
    together: "合并结果",
    openings: [(what: string) => `以提问引出${what}的开头`, (what: string) => `点明主题的开头：${what}`] as const,
    opening: "选出较好的开头",
    aspects: {
      background: (what: string) => `${what}的背景`,
      today: (what: string) => `${what}的现状`,
      arguments: (what: string) => `${what}的优点和缺点`,
      outlook: (what: string) => `${what}的前景`,
    },
    describe: (what: string) => `介绍${what}`,
    criteria: "比较的标准",
    cut: (days: number) => `（只列前 ${days} 天）`,
    day: (n: number) => `第 ${n} 天：上午、下午和晚上`,
    plan: {
      goal: (what: string) => `${what}的目标`,
      steps: (what: string) => `${what}的步骤`,
      preparation: (what: string) => `${what}的准备`,
      risks: (what: string) => `${what}的风险`,
    },
    draft: {
      report: (what: string) => `关于${what}的报告`,
      compare: (what: string) => `比较：${what}`,
      plan: (what: string) => `计划：${what}`,
    },
    final: "通读并在末尾加上小结",
  },
} as const;

function generate([id, task]: WorkPart): PlannedNode {
  return { id, task, needs: [], operation: "generate" };
}

function combine([id, task]: WorkPart, parts: readonly WorkPart[]): PlannedNode {
  return { id, task, needs: parts.map(([need]) => need), operation: "aggregate" };
}

const MAX_ID = 16;
/** Ids that every plan uses. */
const TAKEN = [
  "together",
  "criteria",
  "draft",
  "final",
  "opening",
  "opening_1",
  "opening_2",
  "answer",
  "plan_graph",
  "execute_graph",
];

/** Derives short IDs from the names. */
function nameParts(parts: readonly WorkPart[]): readonly WorkPart[] {
  const taken = new Set(TAKEN);
  return parts.map(([name, task], index): WorkPart => {
    const words = name.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
    const short = Array.from(words.join("_")).slice(0, MAX_ID).join("");
    const id = short === "" || taken.has(short) ? `part_${index + 1}` : short;
    taken.add(id);
    return [id, task];
  });
}
