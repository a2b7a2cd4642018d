// What tests of graphs of thoughts need: a model that answers each of the agent's prompts by what it reads in it, so that
// it says the same in any order and in any process; the graph as a receiver rebuilds it from the events alone; and what a
// process that died has left.
import { createEntry, MemoryLog } from "../../log/index.ts";
import type { ModelMessage } from "../../models/model.ts";
import type { ScriptedRequest, ScriptedTurn } from "../../models/scripted-model.ts";
import { type AnyEvent, isKnownEvent, type Json, type StampedRecord } from "../../protocol/index.ts";

export interface AskedFor {
  readonly kind: "plan" | "complex" | "expand" | "score" | "work" | "answer";
  /** The node it is about; empty for the plan and the answer. */
  readonly id: string;
  /** Ids of the results it was shown. */
  readonly known: readonly string[];
  /** Answers it has given to this before: those that were bad, and those that called tools. */
  readonly turn: number;
  /** The prompt, without what came after it. */
  readonly text: string;
}

/** What a prompt asks for, by its words alone. */
export function readAsked(prompt: readonly ModelMessage[]): AskedFor {
  const texts = prompt.flatMap(({ role, content }) =>
    role === "user" ? [content.map((part) => (part.type === "text" ? part.text : "")).join("")] : [],
  );
  const text = texts.findLast((one) => one.startsWith("Question:\n")) ?? "";
  const at = prompt.findLastIndex(
    ({ role, content }) => role === "user" && (content[0] as { text: string }).text === text,
  );
  const turn = prompt.slice(at).filter(({ role }) => role === "assistant").length;
  const id = [...text.matchAll(/^Task (\S+):$/gm)].at(-1)?.[1] ?? "";
  const known = [...text.matchAll(/^Result of (\S+) \(/gm)].map(([, name = ""]) => name);
  return { kind: findKind(text, id), id, known, turn, text };
}

function findKind(text: string, id: string): AskedFor["kind"] {
  if (text.includes('{"complex"')) return "complex";
  if (text.includes('{"scores"')) return "score";
  if (text.includes('{"nodes"')) return id === "" ? "plan" : "expand";
  return text.includes("Write the final answer") ? "answer" : "work";
}

export interface World {
  /** JSON is said as such; a text as it is. */
  readonly plan: Json;
  /** By node: it is complex, and becomes this. */
  readonly expansions?: { readonly [id: string]: Json };
  readonly scores?: (asked: AskedFor) => Json;
  readonly work?: (asked: AskedFor, request: ScriptedRequest) => ScriptedTurn | Promise<ScriptedTurn>;
  readonly answer?: (asked: AskedFor) => ScriptedTurn;
}

/** A model that lives in this world. What a node works out names the node and all it was shown. */
export function playGot(world: World): (request: ScriptedRequest) => Promise<ScriptedTurn> {
  // Few pieces: what is said matters here, and not how it is cut.
  return async (request) => ({ chunk: 50, ...(await play(world, request)) });
}

function play(world: World, request: ScriptedRequest): ScriptedTurn | Promise<ScriptedTurn> {
  const { expansions = {}, scores, work = describeWork, answer = describeAnswer } = world;
  const asked = readAsked(request.prompt);
  switch (asked.kind) {
    case "plan":
      return { text: say(world.plan) };
    case "complex":
      return { text: `Hm. {"complex": ${Object.hasOwn(expansions, asked.id)}}` };
    case "expand":
      return { text: say(expansions[asked.id] ?? null) };
    case "score":
      return { text: say(scores?.(asked) ?? { scores: Object.fromEntries(asked.known.map((id) => [id, 0.5])) }) };
    case "answer":
      return answer(asked);
    default:
      return work(asked, request);
  }
}

export function describeWork({ id, known }: AskedFor): ScriptedTurn {
  return { text: `${id}[${known.join(" ")}]` };
}

function describeAnswer({ known }: AskedFor): ScriptedTurn {
  return { text: `From ${known.join(", ")}.` };
}

function say(value: Json): string {
  return typeof value === "string" ? value : `So be it. ${JSON.stringify(value)}`;
}

export interface ListedNode {
  readonly id: string;
  readonly needs?: readonly string[];
  readonly operation?: string;
}

/** A plan as a model gives it, with a task for each. */
export function listNodes(nodes: readonly ListedNode[]): { readonly nodes: readonly Json[] } {
  return {
    nodes: nodes.map(({ id, needs = [], operation = "generate" }) => ({ id, task: `do ${id}`, needs, operation })),
  };
}

/** What a receiver knows of the graph. */
export interface Rebuilt {
  readonly nodes: readonly string[];
  readonly edges: readonly string[];
  readonly completed: readonly string[];
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
  /** Ids in the order in which they began and ended. */
  readonly order: readonly string[];
}

export function rebuildGraph(records: readonly StampedRecord[]): Rebuilt {
  const nodes: string[] = [];
  const edges: string[] = [];
  const completed: string[] = [];
  const failed: string[] = [];
  const skipped: string[] = [];
  const order: string[] = [];
  for (const { event } of records as readonly { readonly event: AnyEvent }[]) {
    if (!isKnownEvent(event)) continue;
    switch (event.type) {
      case "got_plan":
        nodes.push(...event.node_ids);
        for (const edge of event.edges ?? []) edges.push(edge.join("→"));
        break;
      case "got_expand":
        nodes.push(...(event.nodes ?? []));
        for (const edge of event.edges ?? []) edges.push(edge.join("→"));
        break;
      case "got_node_start":
        order.push(`+${event.id}`);
        break;
      case "got_node_complete":
        order.push(`-${event.id}`);
        completed.push(event.id);
        break;
      case "got_node_failed":
        (event.skipped === true ? skipped : failed).push(event.id);
        break;
      default:
    }
  }
  return { nodes, edges, completed, failed, skipped, order };
}

/** A log that ends with these records. */
export async function cutLog(sessionId: string, records: readonly StampedRecord[]): Promise<MemoryLog> {
  const log = new MemoryLog();
  const lease = await log.acquire(sessionId, { holder: "dead", ttlMs: 1000 });
  const entries = records.map((record) => createEntry(record));
  await log.append({ sessionId, epoch: lease.epoch, expectedLastId: 0, entries });
  await log.release(lease);
  return log;
}
