/**
 * Two real `loom serve` processes on one PostgreSQL database: what a client does at one holds at the other, and one
 * finishes the runs of the other if that is killed.
 */
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { parseCommand } from "../../src/cli/command.ts";
import { openStore } from "../../src/cli/open-store.ts";
import { openAuth } from "../../src/cli/serve/open-auth.ts";
import { readSettings } from "../../src/cli/serve/read-settings.ts";
import { SERVE } from "../../src/cli/serve/serve-command.ts";
import { openPostgres } from "../../src/postgres/postgres-database.ts";
import { folder, loom } from "../cli-run.ts";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../postgres-server.ts";
import { LONG } from "../sampling.ts";
import { killServers, type ServerProcess, startServe } from "../start-serve.ts";
import { type Frame, readWithReconnect, until } from "./kill-fixture.ts";

const AGENTS = join(folder, "gated-agents.mjs");
// The command loads the default export of a module.
const SOURCE = JSON.stringify(import.meta.resolve("./gated-agent.ts"));
writeFileSync(AGENTS, `export { SERVED as default } from ${SOURCE};`);
const TIMEOUT = 120_000;

let database: PostgresServer;
let a: ServerProcess;
let b: ServerProcess;
/** A token that works at both servers. */
let token: string;

const run = (...args: readonly string[]) => loom(args, { env: { LOOM_STORE: database.url } });

async function createToken(name: string, ...args: readonly string[]): Promise<string> {
  const { code, out, err } = await run("token", "create", name, ...args);
  expect([code, err]).toEqual([0, expect.anything()]);
  return out.trim();
}

type SentRequest = Omit<RequestInit, "headers"> & { readonly headers?: Readonly<Record<string, string>> };

const send = (server: ServerProcess, path: string, init: SentRequest = {}, secret = token): Promise<Response> =>
  fetch(`${server.url}${path}`, { ...init, headers: { authorization: `Bearer ${secret}`, ...init.headers } });

const post = (server: ServerProcess, path: string, body: object): Promise<Response> =>
  send(server, path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

/** Starts a run that waits until the gate opens, and follows it at the other server until its first words. */
async function startGatedRun(session: string) {
  const gate = join(folder, `gate-${session}`);
  const started = await post(a, `/v1/sessions/${session}/runs`, { message: `wait for ${gate} please` });
  expect(started.status).toBe(202);
  const { run_id: runId } = (await started.json()) as { readonly run_id: string };
  const frames: Frame[] = [];
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  void readWithReconnect(() => b.url, session, frames, stop.signal, { token });
  const saw = (text: string) =>
    until(() => frames.some((frame) => frame.text.includes(text)), `the reader saw ${text}`);
  await saw(" answers");
  // Any server may take a message that has just been accepted: `a` is the one that answers.
  if (frames.some(({ text }) => text.includes(`process ${b.process.pid} answers`))) [a, b] = [b, a];
  const end = async (): Promise<unknown> => {
    await saw('"type":"run_end"');
    return JSON.parse(frames.find(({ text }) => text.includes('"type":"run_end"'))?.text ?? "{}");
  };
  return { gate, runId, frames, end };
}

describe.skipIf(NO_POSTGRES !== undefined)("two servers with one database", { timeout: TIMEOUT }, () => {
  beforeAll(async () => {
    database = await startPostgres();
    // Both create the tables.
    const start = () => startServe(database.url, ["--agents", AGENTS, "--auth", "on", "--kb", database.url]);
    [a, b] = await Promise.all([start(), start()]);
    token = await createToken("everyone");
  }, TIMEOUT);

  afterAll(async () => {
    killServers();
    await database.stop();
  }, TIMEOUT);

  test("a new token works at both, and requests without one are refused", async () => {
    for (const server of [a, b]) {
      expect((await send(server, "/v1/sessions")).status).toBe(200);
      expect((await fetch(`${server.url}/v1/sessions`)).status).toBe(401);
    }
    const { out, err } = await run("token", "list");
    expect(out).toContain("everyone");
    expect(err).toContain(`of postgres://127.0.0.1:${database.port}/postgres`);
  });

  test("a file that is uploaded at one is read at the other", async () => {
    const bytes = Buffer.alloc(600_000, "loom");
    const headers = { "content-type": "text/plain" };
    const stored = await send(a, "/v1/sessions/files/blobs", { method: "POST", headers, body: bytes });
    expect(stored.status).toBe(201);
    const { url } = (await stored.json()) as { readonly url: string };
    const read = await send(b, new URL(url, b.url).pathname);
    expect(Buffer.from(await read.arrayBuffer()).equals(bytes)).toBe(true);
  });

  test("a run of one is followed and cancelled at the other", async () => {
    const { runId, end } = await startGatedRun("cancelled");
    expect((await post(b, `/v1/sessions/cancelled/runs/${runId}/cancel`, {})).status).toBe(200);
    expect(await end()).toMatchObject({ status: "cancelled" });
  });

  test("a run of one is followed to its end at the other", async () => {
    const { gate, end } = await startGatedRun("completed");
    writeFileSync(gate, "");
    expect(await end()).toMatchObject({ status: "completed" });
  });

  test.runIf(LONG)("revoking a token closes its streams at both", async ({ annotate }) => {
    const secret = await createToken("short");
    await send(a, "/v1/sessions/watched/runs", {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
      body: JSON.stringify({ message: "hello" }),
    });
    const streams = await Promise.all(
      [a, b].map((server) => send(server, "/v1/sessions/watched/events?follow=true", {}, secret)),
    );
    expect(streams.map(({ status }) => status)).toEqual([200, 200]);
    const began = performance.now();
    expect(await run("token", "revoke", "short")).toMatchObject({ code: 0, out: "revoked: short\n" });
    await Promise.all(streams.map((stream) => stream.text().catch(() => undefined)));
    await annotate(`closed after ${Math.round(performance.now() - began)} ms`);
    for (const server of [a, b]) expect((await send(server, "/v1/sessions", {}, secret)).status).toBe(401);
  });

  test("the requests of both count together", async () => {
    const secret = await createToken("limited", "--limits", "requests-per-minute=4");
    const statuses: number[] = [];
    for (let count = 0; count < 5; count++)
      for (const server of [a, b]) statuses.push((await send(server, "/v1/sessions", {}, secret)).status);
    const allowed = statuses.filter((status) => status === 200).length;
    // One more is allowed every 15 s.
    expect([4, 5]).toContain(allowed);
    expect(statuses.filter((status) => status === 429)).toHaveLength(10 - allowed);
  });

  test("erasing an owner deletes its files and its tokens for both", async () => {
    const secret = await createToken("guest", "--owner", "guest");
    const stored = await send(
      a,
      "/v1/sessions/guest/blobs",
      { method: "POST", headers: { "content-type": "text/plain" }, body: "text" },
      secret,
    );
    expect(stored.status).toBe(201);
    const erased = await run("sessions", "delete", "--owner", "guest", "--yes");
    expect([erased.code, erased.out]).toEqual([0, "erased: guest (1 session, 1 file, 1 token, 0 links)\n"]);
    await until(async () => (await send(b, "/v1/sessions", {}, secret)).status === 401, "the token is refused");
  });

  test("a document that one adds is found at the other, and by the command line, until one removes it", async () => {
    const secret = await createToken("librarian", "--scopes", "read,knowledge");
    const path = "/v1/knowledge?name=tides.md";
    const body = "# Tides\n\nThe moon pulls the sea, twice a day.";
    const added = await send(a, path, { method: "POST", headers: { "content-type": "text/markdown" }, body }, secret);
    expect(added.status).toBe(201);
    const find = async (server: ServerProcess): Promise<unknown> =>
      (await send(server, "/v1/knowledge/search?q=moon", {}, secret)).json();
    const found = await find(a);
    expect(found).toMatchObject({ hits: [{ document_id: "tides.md", title: "Tides" }] });
    expect(await find(b)).toEqual(found);
    const listed = await send(b, "/v1/knowledge", {}, secret);
    expect(await listed.json()).toEqual(await (await send(a, "/v1/knowledge", {}, secret)).json());
    const read = await run("kb", "search", "moon", "--json");
    expect([read.code, JSON.parse(read.out)]).toMatchObject([0, { uri: "tides.md" }]);
    const all = await run("kb", "list");
    expect(all.out).toContain("handbook/en/");
    expect(all.err).toContain(`documents in 127.0.0.1:${database.port}/postgres`);
    const removed = await send(b, "/v1/knowledge/tides.md", { method: "DELETE" }, secret);
    expect(removed.status).toBeLessThan(300);
    expect(await find(a)).toMatchObject({ hits: [] });
  });

  test("the live runs of a token are limited over both", async () => {
    const secret = await createToken("few runs", "--limits", "max-runs=2");
    const gate = join(folder, "gate-limited");
    const start = (server: ServerProcess, session: string): Promise<Response> =>
      send(
        server,
        `/v1/sessions/${session}/runs`,
        {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ message: `wait for ${gate} please` }),
        },
        secret,
      );
    const answers = await Promise.all(Array.from({ length: 6 }, (_, n) => start([a, b][n % 2]!, `limited-${n}`)));
    const statuses = answers.map(({ status }) => status).toSorted((one, other) => one - other);
    expect(statuses).toEqual([202, 202, 429, 429, 429, 429]);
    const refused = answers.find(({ status }) => status === 429);
    expect(await refused?.json()).toMatchObject({ code: "too_many_runs", details: { limit: 2 } });
    writeFileSync(gate, "");
    await until(async () => (await start(b, "limited-later")).status === 202, "a run has ended");
  });

  test("starts that see no token agree that authentication is off, and later ones require it", async () => {
    const db = await openPostgres(database.url);
    await db.write("CREATE DATABASE empty", []);
    await db.close();
    const url = `postgres://postgres@127.0.0.1:${database.port}/empty`;
    const { values } = readSettings(parseCommand(SERVE, []), {});
    const isRequired = async (): Promise<boolean> => {
      await using store = await openStore(url);
      const { options } = await openAuth(values, store, {});
      await store.openLog({});
      return options !== undefined;
    };
    expect(await Promise.all([isRequired(), isRequired(), isRequired()])).toEqual([false, false, false]);
    await Promise.all(["first", "second"].map((name) => loom(["token", "create", name], { env: { LOOM_STORE: url } })));
    expect(await Promise.all([isRequired(), isRequired()])).toEqual([true, true]);
  });

  test("a run goes on after the database was killed, and both servers answer again", async () => {
    const { gate, end } = await startGatedRun("restarted");
    await database.kill();
    await database.restart();
    writeFileSync(gate, "");
    expect(await end()).toMatchObject({ status: "completed" });
    for (const server of [a, b])
      await until(async () => (await send(server, "/v1/sessions")).status === 200, "the server answers");
  });

  test("if one is killed, the other finishes its run, and the reader sees the end", async () => {
    const { gate, frames, end } = await startGatedRun("killed");
    a.process.kill("SIGKILL");
    await a.ended;
    writeFileSync(gate, "");
    expect(await end()).toMatchObject({ status: "completed" });
    const starts = frames.filter(({ text }) => text.includes('"type":"run_start"'));
    expect(starts).toHaveLength(1);
    expect(frames.some(({ text }) => text.includes(`process ${b.process.pid} answers`))).toBe(true);
  });

  test("stops on a signal, and leaves no file on the machine", async () => {
    b.process.kill("SIGTERM");
    expect((await b.ended).code).toBe(0);
    const data = join(process.env["XDG_DATA_HOME"] ?? join(homedir(), ".local", "share"), "loom");
    const names = [folder, data].flatMap((path) => (existsSync(path) ? readdirSync(path) : []));
    expect(names.filter((name) => name.includes(`${database.port}`))).toEqual([]);
  });
});
