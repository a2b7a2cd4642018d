/**
 * Brings a plan into the form that was asked for, as far as its meaning is clear: numeric IDs, IDs with spaces, `needs`
 * as text, `depends_on`, `edges`, or a bare array of nodes. What it does not know stays as it is, so that the validation
 * can name the fault.
 */
import { isJsonObject, type Json, type JsonObject } from "../../protocol/index.ts";
import { findField } from "../read-json.ts";

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
  return { nodes: nodes.map((node, index) => (isJsonObject(node) ? normalizeNode(node, index, extra) : node)) };
}

function findNodes(value: Json): { readonly nodes: readonly Json[]; readonly edges: Json | undefined } | undefined {
  // Anything may be an array, but the nodes of a plan are objects.
  if (Array.isArray(value))
    return value.every(isJsonObject) && value.length > 0 ? { nodes: value, edges: undefined } : undefined;
  if (!isJsonObject(value)) return undefined;
  for (const name of NODES) {
    const nodes = findField(value, name);
    if (Array.isArray(nodes)) return { nodes, edges: findField(value, "edges", "dependencies", "links") };
    if (isJsonObject(nodes)) {
      const inner = findNodes(nodes);
      if (inner !== undefined) return inner;
    }
  }
  return undefined;
}

function normalizeNode(node: JsonObject, index: number, edges: ReadonlyMap<string, readonly string[]>): JsonObject {
  const named = findField(node, "id", "nodeid", "key");
  const id = normalizeId(named ?? index + 1);
  const task = findField(node, "task", "description", "instruction", "goal", "title", "label", "name", "question");
  const operation = findField(node, "operation", "op");
  const own = readNeeds(
    findField(node, "needs", "dependson", "dependencies", "requires", "inputs", "parents", "prerequisites", "after"),
  );
  const added = typeof id === "string" ? (edges.get(id) ?? []) : [];
  const known = new Set<Json>(Array.isArray(own) ? own : []);
  const needs: Json = Array.isArray(own)
    ? [...(own as readonly Json[]), ...added.filter((need) => !known.has(need))]
    : own;
  return {
    id,
    ...(task === undefined ? {} : { task }),
    ...(operation === undefined ? {} : { operation: operation === "" ? null : operation }),
    needs,
  };
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
