// A store that cannot be written: a full file or disk, a process limit, or missing permissions. Writes fail with a
// `store_*` code and nothing is acknowledged; existing records stay readable; writing continues when the cause is gone.
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { expectValid, waitUntil } from "../contracts/sender.ts";
import { openSession } from "../../src/engine/session.ts";
import { MemoryLog } from "../../src/log/index.ts";
import type { Log } from "../../src/log/log.ts";
import { openSqliteLog } from "../../src/log/sqlite/sqlite-log.ts";
import { isLoomError, type LoomError } from "../../src/protocol/index.ts";
import { createLoomHandler, openBlobStore, SERVER_LIMITS } from "../../src/server/index.ts";
import { LONG, sampleCases } from "../sampling.ts";
import { findHighestIds, startChild } from "./child.ts";
import { verifyKnownRecords, createKnownEntries } from "./known-records.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-full-"));
const disk = join(folder, "disk");
const canMount = mountDisk();
afterAll(() => {
  if (canMount) unmountDisk();
  rmSync(folder, { recursive: true, force: true });
});

/** Mounts a disk that is small enough to fill. */
function mountDisk(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  mkdirSync(disk);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=3m", "tmpfs", disk], { stdio: "pipe" });
    return true;
  } catch {
    return false;
  }
}

function unmountDisk(): void {
  try {
    execFileSync("umount", [disk], { stdio: "pipe" });
  } catch {
    // Busy because a test failed; detach it.
    execFileSync("umount", ["-l", disk], { stdio: "pipe" });
  }
}

const BATCH = 20;

/** Writes until a write fails; returns the last acknowledged ID and the error. */
async function writeUntilRefused(log: Log, sessionId: string): Promise<{ lastId: number; error: LoomError }> {
  const { epoch, lastId } = await log.acquire(sessionId, { holder: "test", ttlMs: 60_000, takeover: true });
  for (let last = lastId; last < lastId + 200_000;) {
    try {
      const entries = createKnownEntries(sessionId, last, BATCH);
      ({ lastId: last } = await log.append({ sessionId, epoch, expectedLastId: last, entries }));
    } catch (error) {
      if (!isLoomError(error)) throw error;
      return { lastId: last, error };
    }
  }
  throw new Error("no write failed");
}

async function writeSome(log: Log, sessionId: string, count = BATCH): Promise<number> {
  const lease = await log.acquire(sessionId, { holder: "test", ttlMs: 60_000, takeover: true });
  const { epoch, lastId } = lease;
  await log.append({ sessionId, epoch, expectedLastId: lastId, entries: createKnownEntries(sessionId, lastId, count) });
  await log.release(lease);
  return lastId + count;
}

describe("a file with a size limit", () => {
  const maxFileBytes = 1024 * 1024;

  it("rejects writes at the limit, keeps existing records, and continues with a larger limit", async () => {
    const path = join(folder, "limit.db");
    const log = await openSqliteLog(path, { maxFileBytes });
    const { lastId, error } = await writeUntilRefused(log, "s");
    expect(error.code).toBe("store_full");
    expect(lastId).toBeGreaterThan(1000);
    expect(await verifyKnownRecords(log, "s")).toBe(lastId);
    // Rejected again, and again nothing is stored.
    expect((await writeUntilRefused(log, "s").catch((again: unknown) => ({ error: again }))).error).toMatchObject({
      code: "store_full",
    });
    const last = await verifyKnownRecords(log, "s");
    await log.close();
    const larger = await openSqliteLog(path, { maxFileBytes: 2 * maxFileBytes });
    expect(await verifyKnownRecords(larger, "s")).toBe(last);
    expect(await writeSome(larger, "s", 2000)).toBe(last + 2000);
    expect(await verifyKnownRecords(larger, "s")).toBe(last + 2000);
    await larger.close();
  });

  it.runIf(LONG)("continues after pruning", async () => {
    const log = await openSqliteLog(join(folder, "prune.db"), { maxFileBytes });
    for (let round = 0; round < 3; round++) {
      const { lastId, error } = await writeUntilRefused(log, "s");
      expect(error.code).toBe("store_full");
      expect((await log.prune({ maxBytes: 50_000 })).records).toBeGreaterThan(500);
      const { firstId } = (await log.getSession("s")) ?? { firstId: 0 };
      expect(await verifyKnownRecords(log, "s", firstId - 1)).toBe(lastId);
      expect(await writeSome(log, "s", 100)).toBe(lastId + 100);
      expect(await verifyKnownRecords(log, "s", firstId - 1)).toBe(lastId + 100);
    }
    await log.close();
  });
});

describe.skipIf(!canMount)("a full disk (skipped if no disk can be mounted)", () => {
  const filler = join(disk, "filler");

  /** Fills the disk except for `left` bytes. */
  function fillDisk(left: number): void {
    const kilobytes = Number(execFileSync("df", ["--output=avail", "-k", disk], { encoding: "utf8" }).split("\n")[1]);
    writeFileSync(filler, Buffer.alloc(kilobytes * 1024 - left));
  }

  it("fails the writing run, and the session repairs itself when there is space", async () => {
    const path = join(disk, "run.db");
    const log = await openSqliteLog(path);
    const session = await openSession(log, "s", { repairMs: 20 });
    let durable = 0;
    session.onCommit((entries) => {
      durable += entries.length;
    });
    await (await session.startRun({ runId: "first" })).finish({ reply: "ok" });
    const run = await session.startRun({ runId: "cut" });
    fillDisk(256 * 1024);
    const node = run.enter("answer");
    let acknowledged = 0;
    const refused = (async () => {
      for (;;) acknowledged = await node.write("x".repeat(2000));
    })();
    await expect(refused).rejects.toMatchObject({ code: expect.stringMatching(/^store_(full|failed)$/) as string });
    await expect(run.ended).rejects.toMatchObject({ code: expect.stringMatching(/^store_(full|failed)$/) as string });
    expect(acknowledged).toBeGreaterThan(10);
    // Acknowledged records exist and are readable while the disk is full.
    expect((await log.getSession("s"))?.lastId).toBe(acknowledged);
    expect(durable).toBe(acknowledged);
    await expect(session.startRun({ runId: "too early" })).rejects.toMatchObject({
      code: expect.stringMatching(/^store_(full|failed)$/) as string,
    });
    rmSync(filler);
    await waitUntil(log, async () => (await log.getRun("s", "cut"))?.status !== "live", "s");
    expect(await log.getRun("s", "cut")).toMatchObject({ status: "error", code: "store_failed" });
    const records = await expectValid(log, "s");
    expect(records.at(-2)?.event).toMatchObject({ type: "run_end", status: "error", code: "store_failed" });
    await (await session.startRun({ runId: "next" })).finish({ reply: "ok" });
    await session.close();
    await log.close();
    const again = await openSqliteLog(path);
    expect((await expectValid(again, "s")).slice(0, records.length)).toEqual(records);
    expect((await again.listRuns("s")).map(({ runId, status }) => `${runId} ${status}`)).toEqual([
      "next completed",
      "cut error",
      "first completed",
    ]);
    await again.close();
  });

  it("never acknowledges a lost write, however often the disk is full", async () => {
    const path = join(disk, "often.db");
    let log = await openSqliteLog(path);
    let expected = 0;
    for (let round = 0; round < 4; round++) {
      fillDisk(100_000 * round);
      const outcome = await writeUntilRefused(log, "s").catch((error: unknown) => ({ lastId: expected, error }));
      expect(outcome.error).toMatchObject({ code: expect.stringMatching(/^store_(full|failed)$/) as string });
      rmSync(filler);
      // Every other round, reopen the store in between.
      if (round % 2 === 0) {
        await log.close();
        log = await openSqliteLog(path);
      }
      if (round > 0) expect(await verifyKnownRecords(log, "s")).toBe(outcome.lastId);
      expected = await writeSome(log, "s");
      expect(expected).toBe(outcome.lastId + BATCH);
    }
    await log.close();
    rmSync(path);
  });

  it("answers 507 to uploads, keeps nothing of them, and continues when there is space", async () => {
    const blobs = await openBlobStore(join(disk, "blobs"), SERVER_LIMITS);
    const handler = createLoomHandler({
      log: new MemoryLog(),
      agents: { main: agent({ provider: "offline" }) },
      blobs,
      allowPublic: true,
    });
    const upload = (size: number): Promise<Response> =>
      handler.fetch(
        new Request("http://127.0.0.1:10338/v1/sessions/s/blobs", { method: "POST", body: new Uint8Array(size) }),
      );
    expect((await upload(1000)).status).toBe(201);
    for (const left of [64 * 1024, 0]) {
      fillDisk(left);
      const refused = await upload(500_000);
      expect([refused.status, await refused.json()]).toEqual([507, expect.objectContaining({ code: "store_full" })]);
      expect(readdirSync(join(disk, "blobs", "unfinished"))).toEqual([]);
      expect(await blobs.list("s")).toHaveLength(1);
      rmSync(filler);
    }
    expect((await upload(500_000)).status).toBe(201);
    await handler.close({ graceMs: 0 });
    rmSync(join(disk, "blobs"), { recursive: true });
  });

  it("reports a read-only disk, and continues when it is writable", async () => {
    const path = join(disk, "read-only.db");
    await openSqliteLog(path).then(async (log) => {
      await writeSome(log, "s");
      await log.close();
    });
    // The disk may be busy shortly after the store is closed.
    await vi.waitFor(() => execFileSync("mount", ["-o", "remount,ro", disk], { stdio: "pipe" }), { timeout: 10_000 });
    try {
      await expect(openSqliteLog(path)).rejects.toMatchObject({ code: "store_read_only" });
      await expect(openSqliteLog(join(disk, "none.db"))).rejects.toMatchObject({ code: "store_read_only" });
    } finally {
      execFileSync("mount", ["-o", "remount,rw", disk], { stdio: "pipe" });
    }
    const log = await openSqliteLog(path);
    expect(await writeSome(log, "s")).toBe(2 * BATCH);
    await log.close();
    rmSync(path);
  });

  it("creates no store without space, and leaves no file behind", async () => {
    fillDisk(0);
    const before = readdirSync(disk);
    await expect(openSqliteLog(join(disk, "new.db"))).rejects.toMatchObject({
      code: expect.stringMatching(/^store_(full|failed)$/) as string,
    });
    expect(readdirSync(disk)).toEqual(before);
    rmSync(filler);
    const log = await openSqliteLog(join(disk, "new.db"));
    expect(await writeSome(log, "s")).toBe(BATCH);
    await log.close();
  });
});

describe.skipIf(process.platform === "win32")("a process with a file size limit (ulimit; skipped on Windows)", () => {
  // The system also sends SIGXFSZ, which ends a process that does not handle it.
  it.each(sampleCases([300, 1000, 4000]))("of %i kB reports the error and keeps running", async (kilobytes) => {
    const path = join(folder, `ulimit-${kilobytes}.db`);
    const before = ["bash", "-c", `ulimit -f ${kilobytes}; exec "$0" "$@"`];
    const child = startChild("../fixtures/limited-child.ts", [path, "100000"], before);
    await child.ended;
    const acknowledged = findHighestIds(child.lines, "ack").get("s") ?? 0;
    expect(acknowledged).toBeGreaterThan(kilobytes / 10);
    expect(child.lines.slice(-3)).toEqual([
      expect.stringMatching(/^refused write store_(full|failed)$/),
      `read s ${acknowledged}`,
      "closed",
    ]);
    const log = await openSqliteLog(path);
    expect(await verifyKnownRecords(log, "s")).toBe(acknowledged);
    expect(await writeSome(log, "s")).toBe(acknowledged + BATCH);
    await log.close();
  });
});

/** Root may write whatever the permissions are, so the tests run as an unprivileged user. */
const isRoot = process.getuid?.() === 0;
const UNPRIVILEGED_ID = 65_534;
const asUnprivileged = isRoot
  ? ["setpriv", `--reuid=${UNPRIVILEGED_ID}`, `--regid=${UNPRIVILEGED_ID}`, "--clear-groups"]
  : [];

function canDropPrivileges(): boolean {
  if (process.platform === "win32" || !isRoot) return process.platform !== "win32";
  try {
    const read = `fs.readFileSync(${JSON.stringify(import.meta.filename)})`;
    execFileSync("setpriv", [...asUnprivileged.slice(1), process.execPath, "-e", read], { stdio: "pipe" });
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(!canDropPrivileges())(
  "a store without write permission (skipped if privileges cannot be dropped)",
  () => {
    /** A store with some records that belongs to the unprivileged user. */
    async function create(name: string): Promise<string> {
      const own = join(folder, name);
      mkdirSync(own);
      chmodSync(folder, 0o755);
      const path = join(own, "store.db");
      const log = await openSqliteLog(path);
      await writeSome(log, "s");
      await log.close();
      if (isRoot) for (const file of [own, path]) chownSync(file, UNPRIVILEGED_ID, UNPRIVILEGED_ID);
      return path;
    }

    async function run(path: string): Promise<readonly string[]> {
      const child = startChild("../fixtures/limited-child.ts", [path, String(BATCH)], asUnprivileged);
      await child.ended;
      return child.lines;
    }

    const CASES: readonly (readonly [name: string, file: number, own: number, lines: readonly string[]])[] = [
      ["file", 0o444, 0o755, [`read s ${BATCH}`, "refused write store_read_only", `read s ${BATCH}`, "closed"]],
      ["folder", 0o644, 0o555, ["refused open store_read_only"]],
      ["file and the folder", 0o444, 0o555, ["refused open store_read_only"]],
      ["file, without read permission", 0o000, 0o755, ["refused open store_failed"]],
    ];
    it.concurrent.each(sampleCases(CASES))(
      "on the %s reports the error, and continues when it is granted",
      async (name, file, own, lines) => {
        const path = await create(name.replaceAll(/\W+/g, "-"));
        chmodSync(path, file);
        chmodSync(join(path, ".."), own);
        expect(await run(path)).toEqual(lines);
        chmodSync(join(path, ".."), 0o755);
        chmodSync(path, 0o644);
        const after = 2 * BATCH;
        expect(await run(path)).toEqual([`read s ${BATCH}`, `ack s ${after}`, `read s ${after}`, "closed"]);
        expect(existsSync(`${path}-wal`)).toBe(false);
      },
    );
  },
);
