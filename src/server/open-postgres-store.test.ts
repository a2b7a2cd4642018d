// Two servers of a program with one database.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../../test/postgres-server.ts";
import { agent } from "../agents/index.ts";
import { ScriptedModel } from "../models/scripted-model.ts";
import { openPostgresStore, startLoomServer } from "./index.ts";

describe.skipIf(NO_POSTGRES !== undefined)("a store in PostgreSQL", () => {
  let database: PostgresServer;
  beforeAll(async () => {
    database = await startPostgres();
  });
  afterAll(() => database.stop());

  async function start() {
    const store = await openPostgresStore(database.url, { schema: "mounted", maxConnections: 4 });
    const { log, blobs, credentials, rateCounters } = store;
    const model = new ScriptedModel(() => ({ text: "Hello." }));
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
    return { store, server };
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
