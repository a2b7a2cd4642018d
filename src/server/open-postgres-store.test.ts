// Two servers of a program with one database, which may be away.
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../../test/postgres-server.ts";
import { startTcpProxy, type TcpProxy } from "../../test/tcp-proxy.ts";
import { agent } from "../agents/index.ts";
import { openSession } from "../engine/index.ts";
import { ScriptedModel } from "../models/scripted-model.ts";
import { openPostgresStore, startLoomServer } from "./index.ts";
import type { PostgresStoreOptions } from "./open-postgres-store.ts";

describe.skipIf(NO_POSTGRES !== undefined)("a store in PostgreSQL", () => {
  let database: PostgresServer;
  beforeAll(async () => {
    database = await startPostgres();
  });
  afterAll(() => database.stop());

  async function start(url = database.url, options: PostgresStoreOptions = {}) {
    const store = await openPostgresStore(url, { schema: "mounted", maxConnections: 4, ...options });
    const { log, blobs, credentials, rateCounters } = store;
    const prompts: string[] = [];
    const model = new ScriptedModel(({ prompt }) => {
      prompts.push(JSON.stringify(prompt));
      return { text: "Hello." };
    });
    const server = await startLoomServer({
      log,
      blobs,
      auth: { credentials, rateCounters },
      agents: { main: agent({ model }) },
      port: 0,
    });
    onTestFinished(async () => {
      await server.close({ graceMs: 0 });
      await store.close();
    });
    return { store, server, prompts };
  }

  test("has everything that makes the processes equal", async () => {
    const [one, two] = [await start(), await start()];
    const { secret } = await one.store.credentials.createToken({
      name: "t",
      scopes: ["read", "run", "write"],
      limits: { requestsPerMinute: 4 },
    });
    const send = (server: typeof one.server, path: string, init: RequestInit = {}): Promise<Response> =>
      fetch(`${server.url}${path}`, {
        ...init,
        headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      });
    const body = JSON.stringify({ message: "Hi" });
    expect((await send(one.server, "/v1/sessions/s/runs", { method: "POST", body })).status).toBe(202);
    await expect.poll(async () => (await two.store.log.listRuns("s"))[0]?.status).toBe("completed");
    const upload = { method: "POST", body: "some text" };
    const stored = await send(two.server, "/v1/sessions/s/blobs", upload);
    expect(stored.status).toBe(201);
    const { url } = (await stored.json()) as { readonly url: string };
    expect(await (await send(one.server, new URL(url, one.server.url).pathname)).text()).toBe("some text");
    const statuses: number[] = [];
    for (const { server } of [one, two, one, two]) statuses.push((await send(server, "/v1/sessions")).status);
    expect(statuses.at(-1)).toBe(429);
    expect((await fetch(`${two.server.url}/v1/sessions`)).status).toBe(401);
  });

  describe("while the database is away", () => {
    let proxy: TcpProxy;
    let url: string;
    beforeAll(async () => {
      proxy = await startTcpProxy(database.port);
      url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
    });
    afterAll(() => proxy.close());

    test("a session, its runs and agents wait longer for their reads than clients", async () => {
      await using store = await openPostgresStore(url, { schema: "waiting", maxConnections: 4, readWaitMs: 100 });
      const { log } = store;
      /** The database goes away with the next call of `read`, and returns when the same read of a client has failed. */
      const failRead = async (start: () => Promise<unknown>): Promise<void> => {
        const isAway = Promise.withResolvers<void>();
        vi.spyOn(log, "read").mockImplementationOnce(async (...args) => {
          proxy.setUp(false);
          isAway.resolve();
          return log.read(...args);
        });
        const work = start();
        await Promise.race([isAway.promise, work]);
        await expect(log.read("s", { after: 0 })).rejects.toMatchObject({ code: "store_unavailable" });
        proxy.setUp(true);
        await work;
      };
      const ttlMs = 60_000;
      const onRun = async (): Promise<void> => void (await log.read("s", { after: 0 }));
      const first = await openSession(log, "s", { onRun, ttlMs });
      await first.idle();
      await failRead(async () => {
        const body = { run_id: "executed", message: "Hi" };
        await log.submit({ commandId: "c", sessionId: "s", kind: "enqueue", body });
        await first.idle();
      });
      // The next session reads the list when it opens.
      await first.record({ type: "todo_list", list_id: "l", items: [] });
      await first.close();
      await failRead(async () => (await openSession(log, "s", { ttlMs })).close());
      await using session = await openSession(log, "s", { ttlMs });
      const helper = agent({ model: new ScriptedModel(() => ({ text: "Hello." })) });
      await failRead(async () => (await helper.answer(session, "Hi", { runId: "answered" })).ended);
      expect((await log.listRuns("s")).map(({ runId, status }) => [runId, status])).toEqual([
        ["answered", "completed"],
        ["executed", "completed"],
      ]);
    });

    test("a run waits for its files, and clients receive an error soon", async () => {
      const { store, server, prompts } = await start(url, { readWaitMs: 100 });
      const { log, blobs, credentials } = store;
      const { secret } = await credentials.createToken({ name: "away", scopes: ["read", "run", "write"] });
      const send = (path: string, init: RequestInit = {}, type = "text/plain"): Promise<Response> =>
        fetch(`${server.url}${path}`, {
          ...init,
          headers: { authorization: `Bearer ${secret}`, "content-type": type },
        });
      const stored = await send("/v1/sessions/away/blobs", { method: "POST", body: "some text" });
      const { blob_id } = (await stored.json()) as { readonly blob_id: string };
      const read = vi.spyOn(blobs, "read").mockImplementationOnce(async (...args) => {
        proxy.setUp(false);
        const reading = blobs.read(...args);
        await expect.poll(async () => (await send("/v1/sessions")).status, { timeout: 20_000 }).toBe(503);
        proxy.setUp(true);
        return reading;
      });
      const body = JSON.stringify({ message: "Hi", attachments: [{ blob_id }] });
      // The response may be an error as well.
      send("/v1/sessions/away/runs", { method: "POST", body }, "application/json").catch(() => undefined);
      const readStatus = async () => (await log.listRuns("away").catch(() => []))[0]?.status;
      await expect.poll(readStatus, { timeout: 20_000 }).toBe("completed");
      expect(read).toHaveBeenCalledTimes(2);
      expect(prompts).toEqual([expect.stringContaining("some text")]);
    });
  });

  test("closes what it opened if a part fails", async () => {
    await expect(openPostgresStore(database.url, { schema: "Not valid" })).rejects.toMatchObject({
      code: "store_failed",
    });
    const store = await openPostgresStore(database.url, { schema: "mounted" });
    await store.close();
    await store.close();
    await expect(store.log.getSession("s")).rejects.toMatchObject({ code: "store_closed" });
  });
});
