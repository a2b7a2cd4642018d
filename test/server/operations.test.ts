// What an operator sees of a server whose store cannot be written, and of one that stops: `/readyz`, the log and the
// exit code of a real process.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { openDatabase } from "../../src/cli/open-database.ts";
import { openPostgres } from "../../src/postgres/postgres-database.ts";
import type { Readiness } from "../../src/server/api/shapes.generated.ts";
import { folder } from "../cli-run.ts";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../postgres-server.ts";
import { LONG, sampleCases } from "../sampling.ts";
import { killServers, type ServerProcess, spawnServe, startServe } from "../start-serve.ts";
import { startTcpProxy, type TcpProxy } from "../tcp-proxy.ts";

afterAll(killServers);

const KILL_WRITER = join(import.meta.dirname, "..", "fixtures", "kill-writer.ts");
/** Generous, because the machine may be busy; the server needs a second. */
const PATIENCE = { timeout: 20_000, interval: 50 };

let count = 0;
const newStore = (): string => join(folder, `operations-${++count}`, "loom.db");

async function readReadiness({ url }: ServerProcess): Promise<readonly [number, readonly string[]]> {
  const response = await fetch(`${url}/readyz`);
  return [response.status, ((await response.json()) as Readiness).reasons];
}

async function ask(
  { url }: ServerProcess,
  content: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(`${url}/api/chat`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ session_id: "demo", content }),
  });
  return { status: response.status, text: await response.text() };
}

/** Follows the session, from its end if it is given. */
async function follow({ url }: ServerProcess, session?: Promise<unknown>): Promise<Response> {
  const { last_event_id: after = 0 } = ((await session) ?? {}) as { readonly last_event_id?: number };
  return fetch(`${url}/v1/sessions/demo/events?follow=true&after=${after}`);
}

const stop = async (server: ServerProcess, signal: NodeJS.Signals = "SIGTERM") => {
  server.process.kill(signal);
  return server.ended;
};

// Concurrent, because the tests mostly wait for the checks that a server makes each second.
describe.concurrent("the writer thread", () => {
  it.runIf(LONG)(
    "is started again when it ends; the server exits with code 1 when it ends again and again",
    async () => {
      const server = await startServe(newStore(), [], KILL_WRITER);
      expect((await ask(server, "What is 6*7?")).text).toContain("42");
      server.process.kill("SIGUSR2");
      await vi.waitFor(() => expect(server.readErrors()).toContain("is started again"), PATIENCE);
      await vi.waitFor(() => expect(server.readErrors()).toContain("the store can be written again"), PATIENCE);
      expect((await ask(server, "What is 6*8?")).text).toContain("48");
      expect(await readReadiness(server)).toEqual([200, []]);
      server.process.kill("SIGUSR2");
      const { code, err } = await server.ended;
      expect(code).toBe(1);
      expect(err).toMatch(/ended 6 times in a row.*writer_failed/);
      expect(err).toContain("stopping, because the store can no longer be written");
    },
  );
});

describe.concurrent("files of the store", () => {
  it.runIf(LONG)("reports a deleted write-ahead log, rejects messages, and loses no stored answer", async () => {
    const store = newStore();
    const server = await startServe(store, []);
    expect((await ask(server, "What is 6*7?")).text).toContain("42");
    rmSync(`${store}-wal`);
    // Without a request.
    await vi.waitFor(() => expect(server.readErrors()).toContain("was deleted or replaced"), PATIENCE);
    expect(await readReadiness(server)).toEqual([503, [expect.stringMatching(/^the store cannot be read or written/)]]);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect(await (await fetch(`${server.url}/metrics`)).text()).toMatch(/^loom_store_writable 0$/m);
    expect((await ask(server, "What is 6*8?")).status).toBe(500);
    expect((await stop(server)).code).toBe(0);
    const again = await startServe(store, []);
    const replay = await fetch(`${again.url}/v1/sessions/demo/events?follow=false`);
    expect(await replay.text()).toContain("42");
    expect(await readReadiness(again)).toEqual([200, []]);
    await stop(again);
  });
});

describe.concurrent("while the server stops", () => {
  it.runIf(LONG)("`/readyz` answers 503, and other requests work, until it closes", async () => {
    // At the same time, because each waits for its drain period.
    await Promise.all(sampleCases(["SIGTERM", "SIGHUP"] as const).map(expectDrain));
  });

  async function expectDrain(signal: NodeJS.Signals): Promise<void> {
    const server = await startServe(newStore(), ["--drain", "10s"]);
    expect(await readReadiness(server)).toEqual([200, []]);
    const ended = stop(server, signal);
    await vi.waitFor(
      async () => expect(await readReadiness(server), signal).toEqual([503, ["the server is shutting down"]]),
      { ...PATIENCE, timeout: 10_000 },
    );
    expect((await ask(server, "What is 6*7?")).text, signal).toContain("42");
    expect((await ended).code, signal).toBe(0);
    await expect(fetch(`${server.url}/readyz`)).rejects.toThrow("fetch failed");
  }
});

describe.skipIf(NO_POSTGRES !== undefined)("a database that is away", () => {
  let database: PostgresServer;
  let proxy: TcpProxy;
  let store: string;
  beforeAll(async () => {
    database = await startPostgres();
    proxy = await startTcpProxy(database.port);
    store = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
  });
  afterAll(async () => {
    await proxy.close();
    await database.stop();
  });
  const countLines = (text: string, part: string): number =>
    text.split("\n").filter((line) => line.includes(part)).length;

  it.runIf(LONG)("is waited for by a server that starts; each outage and its end are logged once", async () => {
    proxy.setUp(false);
    const [stopped, waiting] = [spawnServe(store, []), spawnServe(store, [])];
    for (const { readErrors } of [stopped, waiting])
      await vi.waitFor(() => expect(readErrors()).toContain("waiting for it, at most 5m"), PATIENCE);
    stopped.process.kill("SIGINT");
    expect((await stopped.ended).code).toBe(0);
    proxy.setUp(true);
    const server = { ...waiting, url: await waiting.url };
    expect(server.readErrors()).toMatch(/the database is available after [\d.]+ m?s/);
    expect(countLines(server.readErrors(), "waiting for it")).toBe(1);
    expect((await ask(server, "What is 6*7?")).text).toContain("42");
    proxy.setUp(false);
    const answers = Array.from({ length: 20 }, () => fetch(`${server.url}/v1/sessions`));
    const ids = await Promise.all(
      answers.map(async (answer) => /[\da-f]{8}-[\da-f-]{27}/.exec(await (await answer).text())?.[0]),
    );
    await vi.waitFor(async () => expect((await readReadiness(server))[0]).toBe(503), PATIENCE);
    proxy.setUp(true);
    await vi.waitFor(
      () => expect(server.readErrors()).toMatch(/the store can be written again after [\d.]+ m?s/),
      PATIENCE,
    );
    const errors = server.readErrors();
    expect(countLines(errors, "error_id="), errors).toBe(1);
    expect(errors).toContain(`error_id=${ids[0]}`);
    expect(new Set(ids).size).toBe(1);
    expect((await ask(server, "What is 6*8?")).text).toContain("48");
    expect((await stop(server)).code).toBe(0);
  });

  it("is waited for while it is a standby, which cannot be written", async () => {
    const standby = await startPostgres({ files: { "standby.signal": "" } });
    const other = await openPostgres(standby.url);
    await using parts = await openDatabase(standby.url, {});
    const changes: unknown[] = [];
    const onChange = (fault: unknown): void => {
      changes.push(fault);
      if (changes.length === 1) void other.read("SELECT pg_promote()");
    };
    await parts.waitForDatabase?.({ waitMs: 30_000, onChange });
    expect(changes).toMatchObject([{ code: "store_unavailable" }, undefined]);
    await other.close();
    await standby.stop();
  });

  it.runIf(LONG)("is not waited for if the name is wrong, or longer than the limit", async () => {
    const unknown = spawnServe(store.replace(/postgres$/, "unknown"), []);
    const { code, err } = await unknown.ended;
    expect([code, err]).toEqual([2, expect.stringContaining('database "unknown" does not exist') as string]);
    expect(err).not.toContain("waiting");
    const nothing = `postgres://postgres@127.0.0.1:1/none`;
    const impatient = await spawnServe(nothing, ["--store-start-wait", "200ms"]).ended;
    expect([impatient.code, impatient.err]).toEqual([2, expect.stringContaining("start the database") as string]);
  });
});

const disk = mkdtempSync(join(folder, "disk-"));
const canMount = mountDisk();
afterAll(() => {
  if (canMount) execFileSync("umount", ["-l", disk], { stdio: "pipe" });
});

function mountDisk(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], { stdio: "pipe" });
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(!canMount).concurrent("a full disk (skipped if no disk can be mounted)", () => {
  it.runIf(LONG)("is reported without any request to the store, and so is its end", async () => {
    mkdirSync(join(disk, "store"));
    const store = join(disk, "store", "loom.db");
    const server = await startServe(store, []);
    expect((await ask(server, "What is 6*7?")).text).toContain("42");
    const live = await follow(server);
    const filler = join(disk, "filler");
    const kilobytes = Number(execFileSync("df", ["--output=avail", "-k", disk], { encoding: "utf8" }).split("\n")[1]);
    try {
      writeFileSync(filler, Buffer.alloc(kilobytes * 1024));
    } catch (error) {
      // The server has written meanwhile, so the disk is full a little earlier.
      expect(error).toMatchObject({ code: "ENOSPC" });
    }
    await vi.waitFor(
      async () => expect(await readReadiness(server)).toEqual([503, [expect.stringContaining("no space left")]]),
      PATIENCE,
    );
    await vi.waitFor(() => expect(server.readErrors()).toMatch(/error: .*disk is full.*store_full/i), PATIENCE);
    expect((await ask(server, "What is 6*8?")).status).toBeGreaterThanOrEqual(500);
    // A live stream ends, and a client that resumes it learns why.
    await expect(live.text()).rejects.toThrow("terminated");
    const resumed = await follow(server, (await fetch(`${server.url}/v1/sessions/demo`)).json());
    expect([resumed.status, await resumed.json()]).toMatchObject([507, { code: "store_full" }]);
    rmSync(filler);
    // Noticed without a request.
    await vi.waitFor(() => expect(server.readErrors()).toContain("the store can be written again"), PATIENCE);
    expect(await readReadiness(server)).toEqual([200, []]);
    expect((await ask(server, "What is 6*9?")).text).toContain("54");
    expect(statSync(`${store}-probe`, { throwIfNoEntry: false })).toBeUndefined();
    expect((await stop(server)).code).toBe(0);
  });
});
