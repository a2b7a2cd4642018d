import { expect, it } from "vitest";
import { codeOf, createAuthFixture } from "../../../test/server/auth-fixture.ts";

it("is allowed for the owner itself and for admin only", async () => {
  const { credentials, log, ask } = createAuthFixture();
  const issue = async (owner: string, scopes: readonly ("read" | "write" | "admin")[]) =>
    (await credentials.createToken({ name: `${owner}-${scopes.join("-")}`, owner, scopes })).secret;
  const [alice, reader, bob, admin] = [
    await issue("alice", ["read", "write"]),
    await issue("alice", ["read"]),
    await issue("bob", ["read", "write"]),
    await issue("root", ["admin"]),
  ];
  for (const owner of ["alice", "bob"]) await log.createSession(`of-${owner}`, { owner });
  const erase = (owner: string, bearer: string) => ask(`/v1/owners/${owner}`, { method: "DELETE", bearer });
  expect(await codeOf(await erase("alice", bob))).toEqual([403, "forbidden"]);
  expect(await codeOf(await erase("carol", bob))).toEqual([403, "forbidden"]);
  expect(await codeOf(await erase("alice", reader))).toEqual([403, "forbidden"]);
  const erased = await erase("alice", alice);
  expect([erased.status, await erased.json()]).toEqual([
    200,
    { owner: "alice", sessions: 1, blobs: 0, tokens: 2, shares: 0, sign_ins: 0, usage_records: 0 },
  ]);
  expect(await codeOf(await erase("alice", alice))).toEqual([401, "unauthorized"]);
  expect(await (await erase("bob", admin)).json()).toMatchObject({ owner: "bob", sessions: 1, tokens: 1 });
  expect(await log.listSessions()).toEqual([]);
});
