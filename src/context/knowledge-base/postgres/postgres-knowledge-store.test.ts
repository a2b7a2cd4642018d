// The knowledge base in PostgreSQL, on a real server.
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../../../../test/postgres-server.ts";
import { sampleTests } from "../../../../test/sample-tests.ts";
import { KNOWLEDGE_SAMPLES, LONG } from "../../../../test/sampling.ts";
import { openPostgres, type PostgresDatabase } from "../../../postgres/postgres-database.ts";
import type { KnowledgeBaseOptions } from "../knowledge-base-options.ts";
import { testKnowledgeBase } from "../../../../test/contracts/knowledge-base.ts";
import type { KnowledgeBase } from "../knowledge-base.ts";
import { openPostgresKnowledgeBase, openSharedKnowledgeBase } from "../open-postgres-knowledge-base.ts";
import { testSharedKnowledgeBase } from "../../../../test/contracts/shared-knowledge-base.ts";

const TIMEOUT = 60_000;

describe.skipIf(NO_POSTGRES !== undefined)("a knowledge base in PostgreSQL", { timeout: TIMEOUT }, () => {
  let server: PostgresServer;
  let schemas = 0;
  beforeAll(async () => {
    server = await startPostgres();
  }, TIMEOUT);
  afterAll(() => server.stop(), TIMEOUT);

  const nameSchema = (): string => `kb_${++schemas}`;
  const open = async (options?: KnowledgeBaseOptions, schema = nameSchema()): Promise<KnowledgeBase> =>
    openPostgresKnowledgeBase(server.url, { ...options, connection: { schema, maxConnections: 4, readWaitMs: 500 } });
  const connect = async (): Promise<PostgresDatabase> => {
    const db = await openPostgres(server.url, { schema: nameSchema(), maxConnections: 4 });
    onTestFinished(() => db.close());
    return db;
  };

  describe("like the one in a file", () => {
    sampleTests();
    testKnowledgeBase(open, KNOWLEDGE_SAMPLES);
  });

  testSharedKnowledgeBase(() => {
    const schema = nameSchema();
    return async (options) => open(options, schema);
  });

  it("counts exactly the terms and passages that are stored", async () => {
    const db = await connect();
    await using base = await openSharedKnowledgeBase(db);
    const long = "# Part\n\nwalnut pecan\n\n".repeat(300);
    for (const text of ["auk", long, "puffin and auk", "# Auk\n\nauk"])
      for (const uri of ["x", "y", "z"]) await base.addText({ uri, text: `${text} ${uri}`, collection: uri });
    await base.remove("y");
    const counted = await db.read("SELECT term, passages FROM @.knowledge_terms ORDER BY term");
    expect(counted).toEqual(
      await db.read(`SELECT term, count(*) AS passages FROM @.knowledge_passages, unnest(terms) AS term
        GROUP BY term ORDER BY term`),
    );
    expect(counted.length).toBeGreaterThan(4);
    expect(await db.read("SELECT * FROM @.knowledge_totals")).toEqual(
      await db.read(`SELECT (SELECT count(*) FROM @.knowledge_documents) AS documents, count(*) AS passages,
        (SELECT sum(bytes)::bigint FROM @.knowledge_documents) AS bytes, sum(length) AS length
        FROM @.knowledge_passages`),
    );
  });

  it("finds what it wrote if the answer to the commit was lost", async () => {
    const db = await connect();
    // Runs every transaction again after its commit.
    const repeating = replaceTransact(db, async (work, options) => {
      await db.transact(work, options);
      return db.transact(async (transaction) => work({ ...transaction, attempt: 1 }), options);
    });
    await using base = await openSharedKnowledgeBase(repeating);
    expect(await base.addText({ uri: "a", text: "heron" })).toBe("added");
    expect(await base.addText({ uri: "a", text: "stork" })).toBe("updated");
    expect(await base.addText({ uri: "a", text: "stork" })).toBe("unchanged");
    await base.setNote("n", "a\0\\b");
    expect(await base.getNote("n")).toBe("a\0\\b");
    expect(await base.search("stork")).toHaveLength(1);
    expect(await base.stats()).toMatchObject({ documents: 1, chunks: 1 });
    expect(await base.removeDocument("a")).toBe(true);
    expect(await base.stats()).toEqual({ documents: 0, chunks: 0, bytes: 0, collections: [] });
    expect(await db.read("SELECT term FROM @.knowledge_terms")).toEqual([]);
  });

  it("stops in the middle of a document with the reason of the signal, and keeps nothing of it", async () => {
    const db = await connect();
    const stop = new AbortController();
    // A database that is away gives such an error too, and is waited for.
    const reason = new Error("timeout");
    const stopping = replaceTransact(db, async (work, options) =>
      db.transact(async ({ query, ...transaction }) => {
        const watched: typeof query = async (sql, values) => {
          if (sql.startsWith("INSERT INTO @.knowledge_passages")) stop.abort(reason);
          return query(sql, values);
        };
        return work({ ...transaction, query: watched });
      }, options),
    );
    await using base = await openSharedKnowledgeBase(stopping);
    await expect(base.addText({ uri: "x", text: "tern", signal: stop.signal })).rejects.toBe(reason);
    expect(await db.read("SELECT 1 FROM @.knowledge_passages")).toEqual([]);
  });

  it("waits for another writer, and throws `store_busy` after a limited time", async () => {
    const db = await connect();
    await using hasty = await openSharedKnowledgeBase(db, { busyTimeoutMs: 20 });
    await using patient = await openSharedKnowledgeBase(db);
    let adding: Promise<unknown> = Promise.resolve();
    await db.transact(async ({ query }) => {
      await query("SELECT 1 FROM @.knowledge_totals FOR UPDATE");
      await expect(hasty.addText({ uri: "x", text: "tern" })).rejects.toMatchObject({ code: "store_busy" });
      adding = patient.addText({ uri: "x", text: "tern" });
      await wait(100);
      // Readers do not wait.
      expect(await patient.search("tern")).toEqual([]);
    });
    expect(await adding).toBe("added");
    expect(await db.read("SELECT count(*) AS n FROM @.knowledge_passages")).toEqual([{ n: 1 }]);
  });

  it("stores names of any length, sorts them by their bytes, and accepts any text", async () => {
    await using base = await open();
    const uris = ["\uffee", "x".repeat(1000), `${"鹭".repeat(999)}a`, `${"鹭".repeat(999)}b`, "C:\\birds\\a", "%_'"];
    for (const uri of uris) await base.addText({ uri, text: "heron", collection: uri, title: "a\0b\ud800" });
    const sorted = uris.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const listed: string[] = [];
    for (let after = ""; ;) {
      const [next] = await base.list({ after, limit: 1 });
      if (next === undefined) break;
      listed.push((after = next.uri));
    }
    expect(listed).toEqual(sorted);
    for (const uri of uris) {
      expect(await base.get(uri)).toMatchObject({ uri, collection: uri, title: "a b\ufffd" });
      expect(await base.search("heron", { collection: uri })).toMatchObject([{ uri }]);
    }
    expect(await base.get("x\0")).toBeUndefined();
    expect(await base.remove("x\0")).toBe(0);
    expect(await base.list({ collection: "x\0" })).toEqual([]);
    expect((await base.list({ after: "C:\\birds\\a\0" })).map(({ uri }) => uri)).toEqual(sorted.slice(2));
    expect(await base.search("heron\0", { collection: "\0" })).toEqual([]);
    expect(await base.remove("C:\\birds\\")).toBe(1);
  });

  it("ends a search that takes too long, and refuses more searches than may wait", async () => {
    const db = await connect();
    await using base = await openSharedKnowledgeBase(db, { searchTimeoutMs: 50, maxWaitingSearches: 1 });
    await base.addText({ uri: "x", text: "tern" });
    await db.transact(async ({ query }) => {
      await query("LOCK @.knowledge_terms");
      const started = Promise.allSettled([1, 2, 3].map(() => base.search("tern")));
      await expect(base.search("tern")).rejects.toMatchObject({ code: "too_many_searches" });
      const timedOut = { status: "rejected", reason: { code: "search_timeout" } };
      expect(await started).toMatchObject([timedOut, timedOut, timedOut]);
      const stop = new AbortController();
      const aborted = base.search("tern", { signal: stop.signal });
      stop.abort(new Error("left"));
      await expect(aborted).rejects.toThrow("left");
    });
    // A busy machine needs more than 50 ms.
    await expect.poll(() => base.search("tern").catch(() => [])).toHaveLength(1);
    await base.close();
    await expect(base.search("tern")).rejects.toMatchObject({ code: "store_closed" });
    await expect(base.addText({ uri: "y", text: "tern" })).rejects.toMatchObject({ code: "store_closed" });
  });

  it.runIf(LONG)("reports a database that is away, and goes on when it is back", async () => {
    await using base = await open();
    await base.addText({ uri: "x", text: "tern" });
    await server.kill();
    for (const call of [() => base.search("tern"), () => base.list(), () => base.get("x"), () => base.stats()])
      await expect(call()).rejects.toMatchObject({ code: "store_unavailable" });
    // A change waits.
    const adding = base.addBytes({ uri: "y.md", bytes: new TextEncoder().encode("tern song") }).catch(String);
    await server.restart();
    await adding;
    expect(await base.addText({ uri: "z", text: "tern nest" })).toBe("added");
    expect((await base.search("tern")).length).toBeGreaterThanOrEqual(2);
  });
});

function replaceTransact(db: PostgresDatabase, transact: PostgresDatabase["transact"]): PostgresDatabase {
  return new Proxy(db, {
    get(target, name) {
      const value: unknown = name === "transact" ? transact : Reflect.get(target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
