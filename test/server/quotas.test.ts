// Storage quotas of an owner, as clients see them.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { openSqliteLog } from "../../src/log/index.ts";
import type { LogLimits } from "../../src/log/log-limits.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { openBlobStore } from "../../src/server/blobs/open-blob-store.ts";
import { SERVER_LIMITS } from "../../src/server/guard/server-limits.ts";
import { createLoomHandler } from "../../src/server/loom-handler.ts";
import { createPacedModel } from "./paced-model.ts";
import { codeOf, SERVER_ORIGIN } from "./auth-fixture.ts";

async function open(limits: Partial<LogLimits>) {
  const path = join(mkdtempSync(join(tmpdir(), "quotas-")), "loom.db");
  const log = await openSqliteLog(path, { limits });
  const blobs = await openBlobStore(`${path}-blobs`, SERVER_LIMITS);
  const credentials = openCredentials(":memory:");
  const answer = "word ".repeat(300);
  // Records that are not durable yet are not counted, so the model pauses after each part.
  const model = createPacedModel(
    () => ({ text: answer }),
    () => new Promise((resolve) => setTimeout(resolve, 2)),
  );
  const agents = { main: agent({ model }) };
  const handler = createLoomHandler({ log, agents, blobs, auth: { credentials } });
  onTestFinished(async () => {
    await handler.close({ graceMs: 0 });
    await credentials.close();
    await blobs.close();
    await log.close();
  });
  const { secret } = await credentials.createToken({
    name: "alice",
    owner: "alice",
    scopes: ["read", "write", "run", "ingest"],
  });
  const ask = (
    path: string,
    init: {
      readonly method?: string;
      readonly body?: string;
      readonly headers?: { readonly [name: string]: string };
    } = {},
  ) =>
    handler.fetch(
      new Request(SERVER_ORIGIN + path, { ...init, headers: { authorization: `Bearer ${secret}`, ...init.headers } }),
    );
  const send = (session: string) =>
    ask(`/v1/sessions/${session}/runs`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/x-ndjson" },
      body: JSON.stringify({ message: "Tell me." }),
    });
  const upload = (session: string, body: string) => ask(`/v1/sessions/${session}/blobs`, { method: "POST", body });
  return { log, ask, send, upload };
}

it("ends a run that reaches the quota with its code, and refuses further messages until there is space", async () => {
  const { log, ask, send } = await open({ maxOwnerBytes: 1500 });
  const stream = await (await send("s")).text();
  expect(stream).toContain('"code":"quota_exceeded"');
  const [run] = await log.listRuns("s");
  expect(run).toMatchObject({ status: "error", code: "quota_exceeded" });
  expect(await codeOf(await send("s"))).toEqual([507, "quota_exceeded"]);
  expect(await codeOf(await send("t"))).toEqual([507, "quota_exceeded"]);
  expect((await ask("/v1/sessions/s", { method: "DELETE" })).status).toBe(204);
  expect((await send("t")).status).toBe(200);
});

it("limits the files of an owner over its sessions", async () => {
  const { ask, upload } = await open({ maxOwnerBlobs: 2, maxOwnerBlobBytes: 100 });
  expect((await upload("a", "x".repeat(60))).status).toBe(201);
  expect(await codeOf(await upload("b", "y".repeat(41)))).toEqual([507, "quota_exceeded"]);
  expect((await upload("b", "y".repeat(40))).status).toBe(201);
  // The same bytes again need no space.
  expect((await upload("a", "x".repeat(60))).status).toBe(201);
  expect(await codeOf(await upload("a", ""))).toEqual([507, "quota_exceeded"]);
  // A fork copies the files, so it is charged too, and leaves nothing if it is refused.
  const json = { method: "POST", headers: { "content-type": "application/json" }, body: '{"session_id":"fork"}' };
  expect(await codeOf(await ask("/v1/sessions/a/fork", json))).toEqual([507, "quota_exceeded"]);
  expect((await ask("/v1/sessions/fork")).status).toBe(404);
  await ask("/v1/sessions/b", { method: "DELETE" });
  expect((await upload("a", "")).status).toBe(201);
});

it("refuses an ingested run when the quota is reached, and stores nothing of it", async () => {
  const { log, ask } = await open({ maxOwnerBytes: 1500 });
  const ingest = (run_id: string) =>
    ask(`/v1/sessions/s/ingest?dialect=loom`, {
      method: "POST",
      headers: { "content-type": "application/x-ndjson" },
      body: [
        { type: "run_start", run_id, message: "x".repeat(2000), agent: "other" },
        { reply: "y", run_id },
      ]
        .map((frame) => `${JSON.stringify(frame)}\n`)
        .join(""),
    });
  await ingest("r1");
  const { bytes } = (await log.getSession("s")) ?? {};
  expect(bytes).toBeGreaterThan(1500);
  expect(await codeOf(await ingest("r2"))).toEqual([507, "quota_exceeded"]);
  expect((await log.getSession("s"))?.bytes).toBe(bytes);
});
