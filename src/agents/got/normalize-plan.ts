/**
 * Brings a plan into the form that was asked for, as far as its meaning is clear: numeric IDs, IDs with spaces, `needs`
 * as text, `depends_on`, `edges`, a bare array of nodes or tasks, a dictionary of nodes, or a numbered list of tasks.
 * What it does not know stays as it is, so that the validation can name the fault.
 */
import type { Json, JsonObject } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { findField } from "../read-json.ts";
import type { ThoughtOperation } from "./plan.ts";

/** Larger plans are rejected anyway. */
const MAX_NODES = 2000;
const MAX_EDGES = 100_000;
/** Edges read of one node. More than there are nodes are rejected anyway. */
const MAX_NEEDS = 5000;
const MAX_ID_LENGTH = 40;
const NODES = ["nodes", "tasks", "plan", "steps", "graph", "subtasks"] as const;

/** Returns the object with `nodes`, or undefined if the value is not a plan. */
export function normalizePlan(value: Json): JsonObject | undefined {
  const found = findNodes(value);
  if (found === undefined) return undefined;
  const { nodes, edges } = found;
  if (nodes.length > MAX_NODES) return { nodes };
  const extra = listEdges(edges);
  return {
    nodes: respellNeeds(nodes.map((node, index) => (isJsonObject(node) ? normalizeNode(node, index, extra) : node))),
  };
}

/** Spells needs as the IDs that differ only in case. */
function respellNeeds(nodes: readonly Json[]): readonly Json[] {
  const ids = nodes.flatMap((node) => (isJsonObject(node) && typeof node["id"] === "string" ? [node["id"]] : []));
  const known = new Set(ids);
  const byLowerCase = new Map(ids.map((id) => [id.toLowerCase(), id]));
  const respell = (need: Json): Json =>
    typeof need === "string" && !known.has(need) ? (byLowerCase.get(need.toLowerCase()) ?? need) : need;
  return nodes.map((node) =>
    isJsonObject(node) && Array.isArray(node["needs"])
      ? { ...node, needs: (node["needs"] as readonly Json[]).map(respell) }
      : node,
  );
}

interface FoundNodes {
  readonly nodes: readonly Json[];
  readonly edges: Json | undefined;
}

function findNodes(value: Json): FoundNodes | undefined {
  // Anything may be an array, but the nodes of a plan are objects or tasks.
  if (Array.isArray(value) && value.length > 1 && value.every(isTask))
    return { nodes: linkTasks(value), edges: undefined };
  if (Array.isArray(value))
    return value.every(isJsonObject) && value.length > 0 ? { nodes: value, edges: undefined } : undefined;
  if (!isJsonObject(value)) return undefined;
  for (const name of NODES) {
    const nodes = findField(value, name);
    if (Array.isArray(nodes) && nodes.length > 0 && nodes.every(isTask))
      return { nodes: linkTasks(nodes), edges: undefined };
    if (Array.isArray(nodes)) return { nodes, edges: findField(value, "edges", "dependencies", "links") };
    if (isJsonObject(nodes)) {
      const inner = findNodes(nodes) ?? readDictionary(nodes, true);
      if (inner !== undefined) return inner;
    }
  }
  return readDictionary(value, false);
}

/** Reads nodes by ID. Values may be the tasks themselves if the object is known to be a plan. */
function readDictionary(value: JsonObject, isPlan: boolean): FoundNodes | undefined {
  const nodes = Object.entries(value).map(([id, node]) =>
    isPlan && isTask(node) ? { id, task: node } : isJsonObject(node) ? { id, ...node } : undefined,
  );
  const isDictionary = nodes.every((node) => node !== undefined && findTask(node) !== undefined);
  return isDictionary && nodes.length > 0 ? { nodes: nodes as readonly JsonObject[], edges: undefined } : undefined;
}

/** A text of one word is not a task. */
function isTask(value: Json): value is string {
  return typeof value === "string" && /\S\s+\S|\p{Script=Han}{2}/u.test(value);
}

function findTask(node: JsonObject): Json | undefined {
  return findField(node, "task", "description", "instruction", "goal", "title", "label", "name", "question");
}

const NUMBERED = /^\s*(?:\*\*)?(?:(?:step|task|步骤|任务)\s?)?(\d{1,4})(?:[.):：、]|\*\*)\s*(\S.*)$/i;
const STATED_NEEDS =
  /[([（]\s?(?:needs?|depends? on|requires?|after|uses?|需要|依赖)[:：]?([^()（）[\]]{1,200})[)\]）]/i;

/** Reads a numbered list of tasks, or undefined if the text has none. */
export function listTasks(text: string): JsonObject | undefined {
  const items = text.split(/\r\n?|\n/).flatMap((line) => {
    const [, number, task] = NUMBERED.exec(line) ?? [];
    return number === undefined || task === undefined ? [] : [{ number: Number(number), task }];
  });
  if (items.length < 2 || items.some(({ number }, index) => number !== index + 1)) return undefined;
  return { nodes: linkTasks(items.map(({ task }) => task.replaceAll("**", ""))) };
}

/** Tasks whose needs are not stated are done in their order, each with all results before it. */
function linkTasks(tasks: readonly string[]): readonly Json[] {
  const isStated = tasks.some((task) => STATED_NEEDS.test(task));
  return tasks.slice(0, MAX_NODES + 1).map((task, index) => {
    const stated = STATED_NEEDS.exec(task)?.[1]?.replaceAll(/\b(?:steps?|tasks?)\b|步骤|任务/gi, " ");
    const before = tasks.length > MAX_LINKED ? [String(index)].filter((id) => id !== "0") : listNumbers(index);
    const needs: Json = isStated ? readNeeds(stated) : before;
    return { id: String(index + 1), task: task.replace(STATED_NEEDS, "").trim(), needs };
  });
}

/** Longer lists are linked one after the other, because edges grow with the square. */
const MAX_LINKED = 50;

function listNumbers(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => String(index + 1));
}

function normalizeNode(node: JsonObject, index: number, edges: ReadonlyMap<string, readonly string[]>): JsonObject {
  const named = findField(node, "id", "nodeid", "key");
  const id = normalizeId(named ?? index + 1);
  const task = findTask(node);
  const operation = findField(node, "operation", "op");
  const own = readNeeds(
    findField(node, "needs", "dependson", "dependencies", "requires", "inputs", "parents", "prerequisites", "after"),
  );
  const added = typeof id === "string" ? (edges.get(id) ?? []) : [];
  // A node cannot need itself, or another one twice.
  const needs: Json = Array.isArray(own)
    ? [...new Set([...(own as readonly Json[]), ...added])].filter((need) => need !== id)
    : own;
  return {
    id,
    ...(task === undefined ? {} : { task }),
    // Without results, there is nothing to combine, improve or compare.
    operation: Array.isArray(needs) && needs.length === 0 ? "generate" : readOperation(operation),
    needs,
  };
}

const OPERATIONS: readonly (readonly [ThoughtOperation, RegExp])[] = [
  ["aggregate", /^\s*(?:aggregat|combin|merg|summari[sz]|synthesi[sz]|合并|汇总|综合)/i],
  ["refine", /^\s*(?:refin|improv|revis|改进|完善)/i],
  ["score", /^\s*(?:scor|rank|rate|评分|打分)/i],
];

/** Any other work on results is a plain task. */
function readOperation(given: Json | undefined): ThoughtOperation {
  return OPERATIONS.find(([, words]) => typeof given === "string" && words.test(given))?.[0] ?? "generate";
}

/** Spells an ID with letters, digits, "_" and "-". Values that are not names stay. */
function normalizeId(given: Json): Json {
  if (typeof given === "number" && Number.isFinite(given)) return String(given).replaceAll(/[^\w-]/g, "_");
  if (typeof given !== "string") return given;
  const id = given.trim().replaceAll(/[^\p{L}\p{N}_-]+/gu, "_");
  return /[\p{L}\p{N}]/u.test(id) && id.length <= MAX_ID_LENGTH ? id : given;
}

const NO_NEEDS = /^(?:none|nothing|null|n\/a|-|无|没有)?\.?$/i;

function readNeeds(given: Json | undefined): Json {
  if (given === undefined || given === null) return [];
  if (typeof given === "number") return [normalizeId(given)];
  if (typeof given === "string") {
    if (NO_NEEDS.test(given.trim())) return [];
    return given.split(/[,;、，\n]|\band\b/i).flatMap((name) => (name.trim() === "" ? [] : [normalizeId(name.trim())]));
  }
  if (!Array.isArray(given)) return given;
  return (given as readonly Json[]).map((need) => {
    const id = isJsonObject(need) ? findField(need, "id", "node", "nodeid", "from") : need;
    return normalizeId(id ?? need);
  });
}

/** Returns the needs of each node from edges such as `["a", "b"]`, `{"from": "a", "to": "b"}` and `"a -> b"`. */
function listEdges(given: Json | undefined): ReadonlyMap<string, readonly string[]> {
  const needs = new Map<string, string[]>();
  if (!Array.isArray(given)) return needs;
  for (const edge of (given as readonly Json[]).slice(0, MAX_EDGES)) {
    const [from, to] = readEdge(edge).map((end) => (end === undefined ? undefined : normalizeId(end)));
    if (typeof from !== "string" || typeof to !== "string") continue;
    const list = needs.get(to) ?? [];
    if (list.length < MAX_NEEDS) list.push(from);
    needs.set(to, list);
  }
  return needs;
}

function readEdge(edge: Json): readonly (Json | undefined)[] {
  if (Array.isArray(edge)) return edge.length === 2 ? (edge as readonly Json[]) : [];
  if (isJsonObject(edge)) return [findField(edge, "from", "source", "start"), findField(edge, "to", "target", "end")];
  return typeof edge === "string" ? edge.split(/->|→|=>/).map((end) => end.trim()) : [];
}
