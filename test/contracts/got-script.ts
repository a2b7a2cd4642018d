// Helpers for tests of Graph of Thoughts: a model that answers from the text of its prompt alone, in any order and in
// any process; the graph rebuilt from events; and the log that a dead process left.
import { MemoryLog } from "../../src/log/index.ts";
import { createEntry } from "../../src/log/entry.ts";
import type { ModelMessage } from "../../src/models/model.ts";
import type { ScriptedRequest, ScriptedTurn } from "../../src/models/scripted-model.ts";
import { type AnyEvent, isKnownEvent, type Json, type StampedRecord } from "../../src/protocol/index.ts";

export interface GotPrompt {
  readonly kind: "plan" | "layer" | "complex" | "expand" | "score" | "work" | "answer";
  /** Id of the node it is about; empty for the plan and the answer. */
  readonly id: string;
  /** Ids of the results in the prompt. */
  readonly known: readonly string[];
  /** Number of earlier answers to this prompt: invalid ones, and those that called tools. */
  readonly turn: number;
  /** The prompt, without later messages. */
  readonly text: string;
}

/** Recognises what a prompt asks for by its text. */
export function readGotPrompt(prompt: readonly ModelMessage[]): GotPrompt {
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

function findKind(text: string, id: string): GotPrompt["kind"] {
  if (text.includes('{"complex"')) return "complex";
  if (text.includes('{"scores"')) return "score";
  if (text.includes("Plan the next layer")) return "layer";
  if (text.includes('{"nodes"')) return id === "" ? "plan" : "expand";
  return text.includes("Write the final answer") ? "answer" : "work";
}

export interface GotScript {
  /** A string is the answer itself; other values are written as JSON. */
  readonly plan: Json;
  /** Subgraphs of complex nodes, by node ID. */
  readonly expansions?: { readonly [id: string]: Json };
  /** Layers after the first; then the results are enough. */
  readonly layers?: readonly Json[];
  readonly scores?: (asked: GotPrompt) => Json;
  readonly work?: (asked: GotPrompt, request: ScriptedRequest) => ScriptedTurn | Promise<ScriptedTurn>;
  readonly answer?: (asked: GotPrompt) => ScriptedTurn;
}

/** Plays the script. The result of a node names the node and the results it received. */
export function playGot(world: GotScript): (request: ScriptedRequest) => Promise<ScriptedTurn> {
  // Few deltas: the content matters here, not how it is split.
  return async (request) => ({ chunk: 50, ...(await play(world, request)) });
}

function play(world: GotScript, request: ScriptedRequest): ScriptedTurn | Promise<ScriptedTurn> {
  const { expansions = {}, scores, work = describeWork, answer = describeAnswer } = world;
  const asked = readGotPrompt(request.prompt);
  switch (asked.kind) {
    case "plan":
      return { text: say(world.plan) };
    case "layer": {
      const { layers = [] } = world;
      const next = layers.find((layer) => !asked.known.some((id) => JSON.stringify(layer).includes(`"id":"${id}"`)));
      return { text: say(next ?? { nodes: [] }) };
    }
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

export function describeWork({ id, known }: GotPrompt): ScriptedTurn {
  return { text: `${id}[${known.join(" ")}]` };
}

function describeAnswer({ known }: GotPrompt): ScriptedTurn {
  return { text: `From ${known.join(", ")}.` };
}

function say(value: Json): string {
  return typeof value === "string" ? value : `Done. ${JSON.stringify(value)}`;
}

export interface ListedNode {
  readonly id: string;
  readonly needs?: readonly string[];
  readonly operation?: string;
}

/** A plan as a model would give it, with a task for each node. */
export function listNodes(nodes: readonly ListedNode[]): { readonly nodes: readonly Json[] } {
  return {
    nodes: nodes.map(({ id, needs = [], operation = "generate" }) => ({ id, task: `do ${id}`, needs, operation })),
  };
}

/** The graph as a receiver knows it. */
export interface RebuiltGraph {
  readonly nodes: readonly string[];
  readonly edges: readonly string[];
  readonly completed: readonly string[];
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
  /** Ids in the order in which the nodes started (+) and ended (-). */
  readonly order: readonly string[];
}

export function rebuildGraph(records: readonly StampedRecord[]): RebuiltGraph {
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
        // Another attempt.
        if (failed.includes(event.id)) failed.splice(failed.indexOf(event.id), 1);
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
