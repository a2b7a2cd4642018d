import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { makeRun, overrideLog, writeRecords } from "../../../test/log-sessions.ts";
import { openSqliteLog } from "../../log/index.ts";
import { openCredentials } from "../auth/credentials/open-credentials.ts";
import { openBlobStore } from "../blobs/open-blob-store.ts";
import { SERVER_LIMITS } from "../guard/server-limits.ts";
import { eraseOwner } from "./erase-owner.ts";

async function open() {
  const path = join(mkdtempSync(join(tmpdir(), "erase-")), "loom.db");
  const log = await openSqliteLog(path);
  const blobs = await openBlobStore(`${path}-blobs`, SERVER_LIMITS);
  const credentials = openCredentials(`${path}-auth`);
  onTestFinished(async () => {
    await log.close();
    await blobs.close();
    await credentials.close();
  });
  const issued = new Map<string, string>();
  for (const owner of ["alice", "bob"]) {
    const { secret, info } = await credentials.createToken({ name: owner, owner });
    issued.set(owner, secret);
    const principal = await credentials.find(secret);
    if (principal === undefined) throw new Error("no principal");
    await credentials.createCookie(principal, Date.now() + 60_000);
    await credentials.createTicket(principal, { expiresAt: Date.now() + 60_000 });
    await credentials.addSpent(principal.id, 10);
    for (const n of [1, 2, 3]) {
      const session = `${owner}-${n}`;
      const { incarnation } = await log.createSession(session, { owner, title: `secret of ${owner}` });
      await writeRecords(log, makeRun(`run-${n}`, { sessionId: session }));
      await blobs.put(session, [Buffer.from(session)], { mediaType: "text/plain" });
      if (n === 1) await credentials.createShare({ session, incarnation, owner, maker: `token:${info.tokenId}` });
    }
  }
  return { path, log, blobs, credentials, issued };
}

it("erases everything of one owner, and nothing of others", async () => {
  const { path, log, blobs, credentials, issued } = await open();
  const bobs = await log.listSessions({ owner: "bob" });
  expect(await eraseOwner({ host: { log }, blobs, credentials }, "alice")).toEqual({
    sessions: 3,
    blobs: 3,
    tokens: 1,
    shares: 1,
    signIns: 2,
    usageRecords: 1,
  });
  expect(await log.listSessions({ owner: "alice" })).toEqual([]);
  expect(await log.listSessions({ owner: "bob" })).toEqual(bobs);
  expect(await blobs.list("bob-2")).toHaveLength(1);
  expect(await credentials.find(issued.get("alice") ?? "")).toBeUndefined();
  expect((await credentials.find(issued.get("bob") ?? ""))?.owner).toBe("bob");
  expect((await credentials.listTokens()).map(({ name }) => name)).toEqual(["bob"]);
  // The rows and the search index are deleted when it returns.
  using db = new DatabaseSync(path);
  for (const table of ["sessions", "runs", "texts"])
    expect([table, db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"]]).toEqual([
      table,
      table === "texts" ? 6 : 3,
    ]);
  expect(await log.searchSessions({ query: "secret" })).toHaveLength(3);
  const again = await eraseOwner({ host: { log }, blobs, credentials }, "alice");
  expect(Object.values(again).every((count) => count === 0)).toBe(true);
});

it("can be repeated by the owner after an interruption", async () => {
  const { log, blobs, credentials, issued } = await open();
  let deletions = 0;
  const failing = overrideLog(log, (own) => ({
    async deleteSession(...given) {
      if (++deletions === 2) throw new Error("killed");
      return own.deleteSession(...given);
    },
  }));
  await expect(eraseOwner({ host: { log: failing }, blobs, credentials }, "alice")).rejects.toThrow("killed");
  expect(await credentials.find(issued.get("alice") ?? "")).toBeDefined();
  expect(await eraseOwner({ host: { log }, blobs, credentials }, "alice")).toMatchObject({ tokens: 1 });
  expect(await log.listSessions({ owner: "alice" })).toEqual([]);
});

it("keeps authentication on when the last token is erased", async () => {
  const { log, credentials } = await open();
  for (const owner of ["alice", "bob"]) await eraseOwner({ host: { log }, credentials }, owner);
  expect(await credentials.listTokens()).toEqual([]);
  expect(await credentials.hasTokens()).toBe(true);
  expect((await credentials.createToken({ name: "alice" })).info.name).toBe("alice");
});
