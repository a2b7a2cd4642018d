import { describe, expect, it } from "vitest";
import { makeRun, writeRecords } from "../../../test/log-sessions.ts";
import { createServerFixture } from "../../../test/server/server-fixture.ts";
import { forkBeforeRun, type Log } from "../../log/index.ts";
import { createGates } from "../api/gates.ts";
import type { ServerCore } from "../api/server-core.ts";
import { type Caller, createAuthorize } from "../auth/authorize.ts";
import type { Principal } from "../auth/principal.ts";
import type { Scope } from "../auth/scopes.ts";
import { branchBeforeRun } from "./create-fork.ts";
import { findBranchWithRun, findHead } from "./find-branch.ts";

const { signal } = new AbortController();

interface BranchFixture {
  readonly core: ServerCore;
  readonly log: Log;
}

/** A server with permissions, and the session `s` of `ann` with the runs `r1` and `r2`. */
async function createFixture(): Promise<BranchFixture> {
  const { core: open, log } = await createServerFixture();
  await log.createSession("s", { owner: "ann", title: "Ann's" });
  await writeRecords(log, [...makeRun("r1"), ...makeRun("r2", { after: 4 })]);
  const core = { ...open, authorize: createAuthorize(log), access: { ...open.access, isOpen: false } };
  return { core, log };
}

function callerOf(owner: string, more: Partial<Principal> = {}): Caller {
  const scopes = new Set<Scope>(["read", "write", "run"]);
  const principal = { kind: "token", id: `token:${owner}`, name: owner, owner, scopes, limits: {}, ...more } as const;
  const url = new URL("http://127.0.0.1/");
  return { method: "POST", headers: new Headers(), url, address: undefined, origin: url.origin, principal, shares: [] };
}

const ANN = callerOf("ann");
const BOB = callerOf("bob");

async function linkTo(log: Log, session: string): Promise<Caller> {
  const { incarnation = "" } = (await log.getSession(session)) ?? {};
  return callerOf("ann", { kind: "share", scopes: new Set<Scope>(["read"]), session: { id: session, incarnation } });
}

describe("branchBeforeRun", () => {
  it("forks a session once for a key, with its blobs", async () => {
    const { core, log } = await createFixture();
    const blob = await core.blobs?.put("s", [new Uint8Array([7])], { mediaType: "image/png", name: "x.png" });
    const branch = { session: "s", run: "r2", key: "k", signal };
    const made = await branchBeforeRun(core, ANN, branch);
    const origin = { sessionId: "s", runId: "r2", eventId: 4 };
    expect(made).toMatchObject({ owner: "ann", title: "Ann's", lastId: 4, rootId: "s", forkedFrom: origin });
    expect(await core.blobs?.get(made.sessionId, blob?.blobId ?? "")).toBeDefined();
    await writeRecords(
      log,
      makeRun("r3", { after: 4 }).map(({ envelope, event }) => ({
        envelope: { ...envelope, session_id: made.sessionId },
        event,
      })),
    );
    expect(await branchBeforeRun(core, ANN, branch)).toMatchObject({ sessionId: made.sessionId, lastId: 8 });
    const other = await branchBeforeRun(core, ANN, { ...branch, key: "other" });
    expect(other.sessionId).not.toBe(made.sessionId);
    await expect(branchBeforeRun(core, ANN, { ...branch, run: "r1" })).rejects.toMatchObject({
      code: "command_conflict",
    });
    await expect(branchBeforeRun(core, ANN, { ...branch, key: "new", run: "none" })).rejects.toMatchObject({
      code: "unknown_run",
    });
    expect((await log.listSessions()).map(({ sessionId }) => sessionId)).toHaveLength(3);
  });

  it("needs permission to read the session and to create one", async () => {
    const { core, log } = await createFixture();
    const branch = { session: "s", run: "r2", key: "k", signal };
    const reader = callerOf("ann", { scopes: new Set<Scope>(["read"]) });
    await expect(branchBeforeRun(core, BOB, branch)).rejects.toMatchObject({ code: "unknown_session" });
    await expect(branchBeforeRun(core, reader, branch)).rejects.toMatchObject({ code: "forbidden" });
    await expect(branchBeforeRun(core, await linkTo(log, "s"), branch)).rejects.toMatchObject({ code: "forbidden" });
    expect(await log.listSessions()).toHaveLength(1);
    // With a share link and a token, the fork belongs to the holder of the token and begins another conversation.
    const guest = { ...BOB, shares: [(await linkTo(log, "s")).principal] };
    const copy = await branchBeforeRun(core, guest, branch);
    expect(copy).toMatchObject({ owner: "bob", rootId: copy.sessionId, forkedFrom: { sessionId: "s" } });
    expect(await findHead(core, ANN, "s")).toMatchObject({ sessionId: "s" });
  });

  it("waits for a slot among the forks", async () => {
    const { core } = await createFixture();
    const branch = { session: "s", run: "r2", key: "k", signal: AbortSignal.abort(new Error("gone")) };
    const limits = { ...core.limits, maxForks: 1, maxForksPerToken: 1 };
    const full = { ...core, gates: createGates(limits) };
    const release = await full.gates.forks.enter("token:other", signal);
    await expect(branchBeforeRun(full, ANN, branch)).rejects.toThrow("gone");
    release();
    expect(await branchBeforeRun(full, ANN, { ...branch, signal })).toMatchObject({ rootId: "s" });
  });
});

describe("findHead", () => {
  it("returns the newest version, from any of them", async () => {
    const { core, log } = await createFixture();
    expect(await findHead(core, ANN, "s")).toMatchObject({ sessionId: "s" });
    await forkBeforeRun(log, { from: "s", runId: "r2", to: "a" });
    await forkBeforeRun(log, { from: "a", runId: "r1", to: "b" });
    for (const session of ["s", "a", "b"]) expect(await findHead(core, ANN, session)).toMatchObject({ sessionId: "b" });
    expect(await findHead(core, ANN, "none")).toBeUndefined();
  });

  it("returns only the session of a share link or ticket, and nothing of another owner", async () => {
    const { core, log } = await createFixture();
    await forkBeforeRun(log, { from: "s", runId: "r2", to: "a" });
    const link = await linkTo(log, "s");
    for (const caller of [link, { ...BOB, shares: [link.principal] }, callerOf("ann", { only: "s" })])
      expect(await findHead(core, caller, "s")).toMatchObject({ sessionId: "s" });
    await expect(findHead(core, BOB, "s")).rejects.toMatchObject({ code: "unknown_session" });
    await expect(findHead(core, link, "a")).rejects.toMatchObject({ code: "unknown_session" });
  });
});

describe("findBranchWithRun", () => {
  it("prefers the newest version that ends with the run", async () => {
    const { core, log } = await createFixture();
    await forkBeforeRun(log, { from: "s", runId: "r2", to: "a" });
    await forkBeforeRun(log, { from: "s", runId: "r1", to: "b" });
    const find = async (run: string) => (await findBranchWithRun(core, ANN, "b", run))?.session;
    expect([await find("r1"), await find("r2"), await find("none")]).toEqual(["a", "s", undefined]);
    await log.deleteSession("a");
    // No version ends with it, but one has it.
    expect(await find("r1")).toBe("s");
    await expect(findBranchWithRun(core, BOB, "s", "r1")).rejects.toMatchObject({ code: "unknown_session" });
    expect(await findBranchWithRun(core, await linkTo(log, "b"), "b", "r1")).toBeUndefined();
  });
});
