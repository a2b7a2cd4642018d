// A store that cannot be written: no room in the file, on the disk or within the limits of the process, or no right to.
// It says so by name and acknowledges nothing; what was there stays readable; when the cause is gone, it goes on.
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { expectValid, waitUntil } from "../../src/engine/sender.contract.ts";
import { openSession } from "../../src/engine/session.ts";
import type { Log } from "../../src/log/log.ts";
import { openSqliteLog } from "../../src/log/sqlite/sqlite-log.ts";
import { isLoomError, type LoomError } from "../../src/protocol/index.ts";
import { highest, startChild } from "./child.ts";
import { proveStory, tellEntries } from "./story.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-full-"));
const disk = join(folder, "disk");
const canMount = mountDisk();
afterAll(() => {
  if (canMount) unmountDisk();
  rmSync(folder, { recursive: true, force: true });
});

/** A disk of its own, small enough to be filled. */
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
    // Somebody is still in there, since a test failed: it goes when they do.
    execFileSync("umount", ["-l", disk], { stdio: "pipe" });
  }
}

const BATCH = 20;

/** Writes until it is refused; says how far it came, and why no further. */
async function writeUntilRefused(log: Log, sessionId: string): Promise<{ lastId: number; error: LoomError }> {
  const { epoch, lastId } = await log.acquire(sessionId, { holder: "test", ttlMs: 60_000, takeover: true });
  for (let last = lastId; last < lastId + 200_000;) {
    try {
      const entries = tellEntries(sessionId, last, BATCH);
      ({ lastId: last } = await log.append({ sessionId, epoch, expectedLastId: last, entries }));
    } catch (error) {
      if (!isLoomError(error)) throw error;
      return { lastId: last, error };
    }
  }
  throw new Error("nobody refused anything");
}

async function writeSome(log: Log, sessionId: string, count = BATCH): Promise<number> {
  const lease = await log.acquire(sessionId, { holder: "test", ttlMs: 60_000, takeover: true });
  const { epoch, lastId } = lease;
  await log.append({ sessionId, epoch, expectedLastId: lastId, entries: tellEntries(sessionId, lastId, count) });
  await log.release(lease);
  return lastId + count;
}

describe("a file that may not grow", () => {
  const maxFileBytes = 1024 * 1024;

  it("refuses what has no room, keeps the rest, and goes on when it may be larger", async () => {
    const path = join(folder, "limit.db");
    const log = await openSqliteLog(path, { maxFileBytes });
    const { lastId, error } = await writeUntilRefused(log, "s");
    expect(error.code).toBe("store_full");
    expect(lastId).toBeGreaterThan(1000);
    expect(await proveStory(log, "s")).toBe(lastId);
    // Refused again, and again nothing of it is there.
    expect((await writeUntilRefused(log, "s").catch((again: unknown) => ({ error: again }))).error).toMatchObject({
      code: "store_full",
    });
    const last = await proveStory(log, "s");
    await log.close();
    const larger = await openSqliteLog(path, { maxFileBytes: 2 * maxFileBytes });
    expect(await proveStory(larger, "s")).toBe(last);
    expect(await writeSome(larger, "s", 2000)).toBe(last + 2000);
    expect(await proveStory(larger, "s")).toBe(last + 2000);
    await larger.close();
  });

  it("goes on when something was pruned", async () => {
    const log = await openSqliteLog(join(folder, "prune.db"), { maxFileBytes });
    for (let round = 0; round < 3; round++) {
      const { lastId, error } = await writeUntilRefused(log, "s");
      expect(error.code).toBe("store_full");
      expect((await log.prune({ maxBytes: 50_000 })).records).toBeGreaterThan(500);
      const { firstId } = (await log.getSession("s")) ?? { firstId: 0 };
      expect(await proveStory(log, "s", firstId - 1)).toBe(lastId);
      expect(await writeSome(log, "s", 100)).toBe(lastId + 100);
      expect(await proveStory(log, "s", firstId - 1)).toBe(lastId + 100);
    }
    await log.close();
  });
});

describe.skipIf(!canMount)("a disk that is full (skipped where no disk can be mounted)", () => {
  const ballast = join(disk, "ballast");

  /** Takes all the room there is but so many bytes. */
  function fillDisk(left: number): void {
    const kilobytes = Number(execFileSync("df", ["--output=avail", "-k", disk], { encoding: "utf8" }).split("\n")[1]);
    writeFileSync(ballast, Buffer.alloc(kilobytes * 1024 - left));
  }

  it("fails the run that writes, and the session repairs itself when there is room", async () => {
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
    // What was acknowledged is there, and can be read while the disk is full.
    expect((await log.getSession("s"))?.lastId).toBe(acknowledged);
    expect(durable).toBe(acknowledged);
    await expect(session.startRun({ runId: "too early" })).rejects.toMatchObject({
      code: expect.stringMatching(/^store_(full|failed)$/) as string,
    });
    rmSync(ballast);
    await waitUntil(log, async () => (await log.getRun("s", "cut"))?.status !== "live", "s");
    expect(await log.getRun("s", "cut")).toMatchObject({ status: "error", code: "store_failed" });
    const records = await expectValid(log, "s");
    expect(records.at(-1)?.event).toMatchObject({ type: "run_end", status: "error", code: "store_failed" });
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

  it("acknowledges nothing that is not there, however often it runs full", async () => {
    const path = join(disk, "often.db");
    let log = await openSqliteLog(path);
    let expected = 0;
    for (let round = 0; round < 4; round++) {
      fillDisk(100_000 * round);
      const outcome = await writeUntilRefused(log, "s").catch((error: unknown) => ({ lastId: expected, error }));
      expect(outcome.error).toMatchObject({ code: expect.stringMatching(/^store_(full|failed)$/) as string });
      rmSync(ballast);
      // Half of the time it is closed and opened in between.
      if (round % 2 === 0) {
        await log.close();
        log = await openSqliteLog(path);
      }
      if (round > 0) expect(await proveStory(log, "s")).toBe(outcome.lastId);
      expected = await writeSome(log, "s");
      expect(expected).toBe(outcome.lastId + BATCH);
    }
    await log.close();
    rmSync(path);
  });

  it("that has become read-only says so, and goes on when it is not", async () => {
    const path = join(disk, "read-only.db");
    await openSqliteLog(path).then(async (log) => {
      await writeSome(log, "s");
      await log.close();
    });
    // What was closed a moment ago may be busy for a moment more.
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

  it("has no room for a new store either, and is left as it was", async () => {
    fillDisk(0);
    const before = readdirSync(disk);
    await expect(openSqliteLog(join(disk, "new.db"))).rejects.toMatchObject({
      code: expect.stringMatching(/^store_(full|failed)$/) as string,
    });
    expect(readdirSync(disk)).toEqual(before);
    rmSync(ballast);
    const log = await openSqliteLog(join(disk, "new.db"));
    expect(await writeSome(log, "s")).toBe(BATCH);
    await log.close();
  });
});

describe.skipIf(process.platform === "win32")("a process whose files may not grow (ulimit; skipped on Windows)", () => {
  // The system sends a signal too, which ends a process that does not expect it.
  it.each([300, 1000, 4000])("of %i kB is refused by name and lives", async (kilobytes) => {
    const path = join(folder, `ulimit-${kilobytes}.db`);
    const before = ["bash", "-c", `ulimit -f ${kilobytes}; exec "$0" "$@"`];
    const child = startChild("../fixtures/limited-child.ts", [path, "100000"], before);
    await child.ended;
    const acknowledged = highest(child.lines, "ack").get("s") ?? 0;
    expect(acknowledged).toBeGreaterThan(kilobytes / 10);
    expect(child.lines.slice(-3)).toEqual([
      expect.stringMatching(/^refused write store_(full|failed)$/),
      `read s ${acknowledged}`,
      "closed",
    ]);
    const log = await openSqliteLog(path);
    expect(await proveStory(log, "s")).toBe(acknowledged);
    expect(await writeSome(log, "s")).toBe(acknowledged + BATCH);
    await log.close();
  });
});

/** Root may write whatever the permissions say; nobody may not. */
const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;
const asNobody = isRoot ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"] : [];

function canBeNobody(): boolean {
  if (process.platform === "win32" || !isRoot) return process.platform !== "win32";
  try {
    const read = `fs.readFileSync(${JSON.stringify(import.meta.filename)})`;
    execFileSync("setpriv", [...asNobody.slice(1), process.execPath, "-e", read], { stdio: "pipe" });
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(!canBeNobody())("a store without the right to write (skipped where nobody cannot read it)", () => {
  /** A store of nobody's, in a folder of nobody's, with some records. */
  async function create(name: string): Promise<string> {
    const own = join(folder, name);
    mkdirSync(own);
    chmodSync(folder, 0o755);
    const path = join(own, "store.db");
    const log = await openSqliteLog(path);
    await writeSome(log, "s");
    await log.close();
    if (isRoot) for (const file of [own, path]) chownSync(file, NOBODY, NOBODY);
    return path;
  }

  async function run(path: string): Promise<readonly string[]> {
    const child = startChild("../fixtures/limited-child.ts", [path, String(BATCH)], asNobody);
    await child.ended;
    return child.lines;
  }

  it.concurrent.each([
    ["file", 0o444, 0o755, [`read s ${BATCH}`, "refused write store_read_only", `read s ${BATCH}`, "closed"]],
    ["folder", 0o644, 0o555, ["refused open store_read_only"]],
    ["file and the folder", 0o444, 0o555, ["refused open store_read_only"]],
    ["file, not even to read", 0o000, 0o755, ["refused open store_failed"]],
  ])("to the %s says so, and goes on when it has it again", async (name, file, own, lines) => {
    const path = await create(name.replaceAll(/\W+/g, "-"));
    chmodSync(path, file);
    chmodSync(join(path, ".."), own);
    expect(await run(path)).toEqual(lines);
    chmodSync(join(path, ".."), 0o755);
    chmodSync(path, 0o644);
    const after = 2 * BATCH;
    expect(await run(path)).toEqual([`read s ${BATCH}`, `ack s ${after}`, `read s ${after}`, "closed"]);
    expect(existsSync(`${path}-wal`)).toBe(false);
  });
});
