/**
 * Holds conversations with three servers on one database while processes and connections fail, and returns what was
 * violated:
 *
 * - Every accepted message has exactly one run, with one start and one end, which is not an error.
 * - Every acknowledged record is stored, with its own ID, and each session has one writer at a time.
 * - Every client shows the same as a fresh client, and the bytes of every stream equal the replay.
 * - No tool call ran twice.
 * - No valid token is refused.
 */
import type { Transport } from "../../src/client/index.ts";
import type { ChaosReport } from "../chaos/run-chaos.ts";
import { type ConversationWorld, holdConversation, retry } from "../chaos/conversation.ts";
import { createRandom } from "../server/fault-proxy.ts";
import { createTransport, type Kind } from "../server/kill-fixture.ts";
import { type Cluster, findRepeated, openCluster } from "./cluster.ts";
import type { ClusterFault } from "./cluster-faults.ts";
import { readTexts } from "./read-texts.ts";

export interface ClusterChaosOptions {
  readonly sessions: number;
  readonly seed: number;
  /** Messages per session. A session that has had them is checked and replaced by another. */
  readonly messages: number;
  readonly ttlMs: number;
  /** Causes the faults. The conversations end after it. */
  readonly causeFaults: (world: ClusterWorld) => Promise<void>;
  /** Called for progress. */
  readonly print?: (line: string) => void;
}

export interface ClusterWorld extends ConversationWorld {
  readonly cluster: Cluster;
  readonly counts: Map<string, number>;
  /** Counts the fault and causes it. What must not happen becomes a violation. */
  cause(name: string, fault: ClusterFault): Promise<void>;
}

const CLIENT_TIMEOUT_MS = 3000;
const POLL_MS = 300;
const PROGRESS_MS = 30_000;
/** How often the processes are asked what they have lost. */
const LEDGER_MS = 200;

export async function runClusterChaos(options: ClusterChaosOptions): Promise<ChaosReport> {
  const { sessions, seed, messages, ttlMs, print = () => undefined } = options;
  const random = createRandom(seed);
  const cluster = await openCluster({ random, ttlMs, partMs: 15, answers: 6 });
  const { log, token, url, ledger } = cluster;
  const transports = {
    sse: createTransport("sse", url, token, CLIENT_TIMEOUT_MS),
    ndjson: createTransport("ndjson", url, token, CLIENT_TIMEOUT_MS),
    socket: createTransport("socket", url, token, CLIENT_TIMEOUT_MS),
  } satisfies { readonly [K in Kind]: Transport };
  const counts = new Map<string, number>();
  const violations: string[] = [];
  const count = (name: string, by = 1): void => void counts.set(name, (counts.get(name) ?? 0) + by);
  const world: ClusterWorld = {
    random,
    log,
    token,
    violations,
    counts,
    cluster,
    count,
    pick: (list) => list[random(list.length)] as (typeof list)[number],
    url: () => url,
    transport: (kind) => transports[kind],
    async cause(name, fault) {
      count(`fault: ${name}`);
      await fault(world).catch((error: unknown) => violations.push(`${name}: ${String(error)}`));
    },
  };
  const over = new AbortController();
  const reporting = setInterval(() => print(describe(world)), PROGRESS_MS);
  const watching = setInterval(() => ledger.update(), LEDGER_MS);
  try {
    const conversing = Array.from({ length: sessions }, async (_, index) => {
      const verify = async (session: string): Promise<void> => verifyRecords(world, session);
      for (let round = 0; !over.signal.aborted; round++) {
        const how = { count: messages, signal: over.signal, pollMs: POLL_MS, verify };
        await holdConversation(world, `talk-${index}-${round}`, how);
      }
    });
    await options.causeFaults(world);
    over.abort();
    await Promise.all(conversing);
    const notes = cluster.readNotes();
    for (const key of findRepeated(notes)) violations.push(`the tool call of ${key} ran twice`);
    violations.push(...cluster.crashes.map((error) => `a server ended by itself: ${error}`));
    violations.push(...[...counts.keys()].filter((name) => name.startsWith("runs: error")));
    if (counts.has("chat answered 401")) violations.push("a valid token was refused");
    ledger.update();
    count("tool calls", notes.length);
    count("acknowledged records", ledger.counts.records);
    count("late appends refused", ledger.counts.late);
    count("false takeovers", cluster.falseTakeovers.count);
    return { violations, counts };
  } finally {
    clearInterval(reporting);
    clearInterval(watching);
    for (const transport of Object.values(transports)) transport.close();
    await cluster.close();
  }
}

/** Checks that the IDs of all records are contiguous, and that every acknowledged append is among them. */
async function verifyRecords({ log, cluster, count }: ClusterWorld, session: string): Promise<void> {
  const texts = await retry(() => readTexts(log, session));
  const at = texts.findIndex((text, index) => (JSON.parse(text) as { event_id?: number }).event_id !== index + 1);
  if (at !== -1) throw new Error(`record ${at + 1} is ${texts[at]}`);
  cluster.ledger.check(session, texts);
  count("checked records", texts.length);
}

function describe({ counts, violations }: ClusterWorld): string {
  const found = [...counts].map(([name, value]) => `${name} ${value}`).join(", ");
  return `${found}; ${violations.length} violations${violations.map((violation) => `\n  ${violation}`).join("")}`;
}
