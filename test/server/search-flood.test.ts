// Searches of one credential do not stop the server or the searches of others: they run in a thread, and each credential
// has a share of it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { openKnowledgeBase } from "../../src/context/index.ts";
import { KnowledgeRows } from "../../src/context/knowledge-base/sqlite/knowledge-rows.ts";
import { openSqliteLog, type SqliteLog } from "../../src/log/index.ts";
import { SearchIndex } from "../../src/log/sqlite/search-index.ts";
import { SessionRows, toLineageColumns } from "../../src/log/sqlite/session-rows.ts";

import { ScriptedModel } from "../../src/models/testing.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { LONG } from "../sampling.ts";

const SEARCHES = 70;
const SESSIONS = LONG ? 40_000 : 2000;
/** Matches no session, but every text has words that begin with its words, so that the whole index is read. */
const QUERY = "wo wa zz";
const MAX_TURN_MS = 100;

const folder = mkdtempSync(join(tmpdir(), "loom-search-flood-"));
const path = join(folder, "store.db");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeAll(async () => {
  await (await openSqliteLog(path)).close();
  const db = new DatabaseSync(path);
  const [rows, index] = [new SessionRows(db), new SearchIndex(db)];
  db.exec("BEGIN");
  for (let at = 0; at < SESSIONS; at++) {
    const title = Array.from({ length: 40 }, (_, word) => `${word % 2 ? "wo" : "wa"}${(at * 31 + word * 17) % 997}`);
    const fresh = { incarnation: "i", createdAt: 1, updatedAt: 1, firstId: 1, basePos: 0, epoch: 0, holder: null };
    const owner = at % 1000 === 0 ? "ann" : "mallory";
    const marks = { isPinned: 0, isArchived: 0, ...toLineageColumns(`s${at}`, {}) };
    const row = { ...fresh, ...marks, sessionId: `s${at}`, title: `${title.join(" ")} zebra`, owner, expiresAt: 0 };
    index.add(rows.create(row), 0, row.title);
  }
  db.exec("COMMIT");
  db.close();
}, 120_000);

async function openServer() {
  const log = await openSqliteLog(path);
  const credentials = openCredentials(":memory:");
  const agents = { main: agent({ model: new ScriptedModel([]) }) };
  const server = await startLoomServer({ log, agents, port: 0, auth: { credentials } });
  onTestFinished(async () => {
    await server.close({ graceMs: 0 });
    await log.close();
    await credentials.close();
  });
  const createClient = async (owner: string) => {
    const { secret } = await credentials.createToken({ name: owner, owner, scopes: ["read"] });
    return async (query: string): Promise<Response> => {
      const headers = { authorization: `Bearer ${secret}` };
      return fetch(`${server.url}/v1/sessions?q=${encodeURIComponent(query)}`, { headers });
    };
  };
  return { log, url: server.url, mallory: await createClient("mallory"), ann: await createClient("ann") };
}

/** Returns the CPU time of the main thread in its longest turn, or few turns, while `work` runs, in milliseconds. */
async function measureLongestTurn(work: Promise<unknown>): Promise<number> {
  let longest = 0;
  const ended = new AbortController();
  void work.finally(() => ended.abort()).catch(() => undefined);
  while (!ended.signal.aborted) {
    const before = process.threadCpuUsage();
    await wait(1);
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1000);
  }
  await work;
  return longest;
}

// A garbage collection of the other tests in this thread can be longer than the limit; a search would always be.
it.runIf(LONG)(
  "answers other requests while one credential sends many searches",
  { timeout: 60_000, retry: 2 },
  async () => {
    const { url, mallory, ann } = await openServer();
    // Starts the thread.
    expect(((await (await ann("zebra")).json()) as { sessions: unknown[] }).sessions).toHaveLength(SESSIONS / 1000);
    let finished = 0;
    const flood = Promise.all(
      Array.from({ length: SEARCHES }, async () => {
        const response = await mallory(QUERY);
        const body = (await response.json()) as { readonly code?: string };
        if (response.status === 200) finished++;
        else expect([response.status, response.headers.get("retry-after")]).toEqual([429, "1"]);
        return body.code ?? "answered";
      }),
    );
    const turn = measureLongestTurn(flood);
    await vi.waitFor(() => expect(finished).toBeGreaterThan(0), { timeout: 30_000 });
    const before = finished;
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const found = (await (await ann("zebra")).json()) as { readonly sessions: readonly unknown[] };
    expect(found.sessions).toHaveLength(SESSIONS / 1000);
    // At most the two running searches of the other credential are answered first; their responses may overtake ours.
    expect(finished - before).toBeLessThan(8);
    const codes = Object.groupBy(await flood, (code) => code);
    // Two run and sixteen wait; the others are refused until a place is free.
    expect(codes["answered"]?.length).toBeGreaterThanOrEqual(18);
    expect(codes["answered"]?.length).toBeLessThan(SEARCHES);
    expect(Object.keys(codes).toSorted()).toEqual(["answered", "too_many_searches"]);
    expect(await turn).toBeLessThan(MAX_TURN_MS);
  },
);

async function withLog(options: Parameters<typeof openSqliteLog>[1], use: (log: SqliteLog) => Promise<void>) {
  const log = await openSqliteLog(path, options);
  try {
    await use(log);
  } finally {
    await log.close();
  }
}

it("ends a search that takes too long, and answers the next one", () =>
  withLog({ searchTimeoutMs: 1 }, async (log) => {
    await expect(log.searchSessions({ query: QUERY })).rejects.toMatchObject({ code: "search_timeout" });
    // The next search gets another thread. It may be too slow as well, but it is answered.
    const next = await log.searchSessions({ query: "zebra", limit: 1 }).catch((error: unknown) => [error]);
    expect(next).toHaveLength(1);
  }));

it("searches again after its thread was killed", async () => {
  const threads: Worker[] = [];
  const note = (worker: Worker): void => void threads.push(worker);
  process.on("worker", note);
  onTestFinished(() => void process.off("worker", note));
  await withLog({}, async (log) => {
    expect(await log.searchSessions({ query: "zebra", limit: 3 })).toHaveLength(3);
    expect(threads).toHaveLength(1);
    await threads[0]?.terminate();
    expect(await log.searchSessions({ query: "zebra", limit: 3 })).toHaveLength(3);
    expect(threads).toHaveLength(2);
  });
});

it("searches a knowledge base file outside the main thread", async () => {
  const match = vi.spyOn(KnowledgeRows.prototype, "countPassages");
  onTestFinished(() => match.mockRestore());
  await using base = await openKnowledgeBase(join(folder, "knowledge.db"));
  await base.addText({ uri: "tides.md", text: "# Tides\n\nThe moon causes the tides." });
  expect(await base.search("What causes the tides?")).toMatchObject([{ uri: "tides.md" }]);
  expect(match).not.toHaveBeenCalled();
});
