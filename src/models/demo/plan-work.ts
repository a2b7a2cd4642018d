/**
 * Plans a report or a comparison as a graph of small tasks, and describes what each part would contain. Any other
 * question gets the plan of a report about it.
 *
 * Invariant: a plan is acyclic, connected, ends in one node and respects the node limit.
 */
import { shorten } from "../../protocol/cut-text.ts";
import type { Say } from "./demo-texts.ts";
import { guess } from "./game-of-24.ts";

export interface PlannedNode {
  readonly id: string;
  readonly task: string;
  readonly needs: readonly string[];
  readonly operation: "generate" | "aggregate" | "refine";
}

/** The id of the only node of a plan for one task: the question itself. */
export const REPLY = "reply";

const COMPARE =
  /\bcompare\s+(?<en>[^.?!\n]{3,200}?)(?:\s+(?:as|for|in)\s[^.?!\n]*)?(?:[.?!\n]|$)|比较(?<zh>[^，。？！\n]{2,60}?)(?:作为[^\n]*)?(?:[，。？！\n]|$)/i;
const REPORT =
  /\b(?:report|essay|article) (?:on|about) (?<en>[^.?!\n]{2,100})|关于(?<zh>[^，。？！\n]{1,60}?)的(?:报告|文章)/i;
const AND = /,\s*(?:and\s+)?|\s+(?:and|with|or)\s+|[、，]|和|与/;
const MAX_SUBJECT = 60;

/** `isMessage` if the rules for messages answer the question. */
export function planWork(question: string, say: Say, max: number, isMessage: boolean): readonly PlannedNode[] {
  const compared = COMPARE.exec(question)?.groups ?? {};
  const subjects = (compared["en"] ?? compared["zh"] ?? "").split(AND);
  const reported = REPORT.exec(question)?.groups ?? {};
  const report = reported["en"] ?? reported["zh"];
  if (subjects.length < 2 && report === undefined && isMessage) return [generate(REPLY, question)];
  const nodes = subjects.length > 1 ? planComparison(subjects, say) : planReport(report ?? question, say);
  return nodes.length > max ? [generate(REPLY, question)] : nodes;
}

function planComparison(subjects: readonly string[], say: Say): readonly PlannedNode[] {
  const parts = [
    generate("criteria", say("Criteria for the comparison", "比较的标准")),
    ...subjects.map((one, index) => generate(nameNode(one, index), say(`About ${one}`, `介绍${one}`))),
  ];
  return finish(parts, say(`Comparison: ${subjects.join(" and ")}`, `比较：${subjects.join("和")}`), say);
}

function planReport(about: string, say: Say): readonly PlannedNode[] {
  const what = shorten(about.trim(), MAX_SUBJECT);
  const parts = [
    generate("background", say(`Background of ${what}`, `${what}的背景`)),
    generate("arguments", say(`Arguments for and against ${what}`, `${what}的优点和缺点`)),
    generate("outlook", say(`Outlook for ${what}`, `${what}的前景`)),
  ];
  return finish(parts, say(`Report on ${what}`, `关于${what}的报告`), say);
}

/** Adds the nodes that combine the parts and improve the result. */
function finish(parts: readonly PlannedNode[], task: string, say: Say): readonly PlannedNode[] {
  const final = say("Proofread it and add a summary at the end", "通读并在末尾加上小结");
  return [
    ...parts,
    { id: "draft", task, needs: parts.map(({ id }) => id), operation: "aggregate" },
    { id: "final", task: final, needs: ["draft"], operation: "refine" },
  ];
}

function generate(id: string, task: string): PlannedNode {
  return { id, task, needs: [], operation: "generate" };
}

function nameNode(subject: string, index: number): string {
  const id = (subject.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join("_").slice(0, 16);
  return id === "" || ["criteria", "draft", "final"].includes(id) ? `part_${index + 1}` : id;
}

/** A task with two sides is expanded, but not the parts of an expansion. */
export function isComplex({ id, task }: { readonly id: string; readonly task: string }): boolean {
  return !id.includes(".") && /\bfor and against\b|优点和缺点/.test(task);
}

export function expandTask(task: string, say: Say, max: number): readonly PlannedNode[] {
  if (max < 3) return [generate(REPLY, task)];
  return [
    generate("pro", say("Benefits", "优点")),
    generate("contra", say("Drawbacks", "缺点")),
    { id: "together", task, needs: ["pro", "contra"], operation: "aggregate" },
  ];
}

/** What a part would contain. */
export function describePart(task: string, say: Say): string {
  const parts = [
    say("what it is, and where it comes from", "它是什么、从哪里来"),
    say("who uses it, and what for", "谁在用、用来做什么"),
    say("what it costs, and what it saves", "花费多少、节省多少"),
  ];
  const part = parts[Math.floor(guess(task) * parts.length)] ?? "";
  return say(`Example: ${part}.`, `示例：${part}。`);
}
