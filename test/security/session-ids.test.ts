// Session IDs that a URL cannot carry. A client resolves `/v1/sessions/..` to another path, so a session with such an ID
// would make its owner's requests reach other resources. No way to create a session accepts them.
import { afterAll, beforeAll, expect } from "vitest";
import { agent, openSession } from "../../src/index.ts";
import { ForeignSession } from "../../src/engine/foreign-session.ts";
import { importSession, MemoryLog } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { CREATING } from "./endpoint-examples.ts";
import { createOwnersFixture, type OwnersFixture, type SessionIds } from "./owners-fixture.ts";
import { testSlowThreat, testThreat } from "./test-threat.ts";

const DOTS = [".", ".."];
const OTHERS = [" ", "\u3000", "a\nb", "\u007f", "a\u0085", "a\0b"];
const IN_BODY = ["createSession", "chat", "runAgUiAgent", "forkSession"];
const IN_PATH = ["startRun", "putBlob", "ingestRun", "sendCommand"];
/** These requests need no data of a session. */
const NO_IDS = {} as SessionIds;

let fixture: OwnersFixture;

beforeAll(async () => {
  fixture = await createOwnersFixture();
  await fixture.log.createSession("bobs-own", { owner: "bob" });
});

afterAll(() => fixture.close());

const listIds = async (): Promise<readonly string[]> =>
  (await fixture.log.listSessions()).map(({ sessionId }) => sessionId);

testThreat("path-traversal", "HTTP creates no session with an ID that a URL cannot carry", async ({ attempt }) => {
  const { bob } = fixture.tokens;
  for (const operation of IN_BODY)
    for (const id of [...DOTS, ...OTHERS, "\ud800"])
      for (const { path, ...asked } of CREATING[operation]?.(id, NO_IDS) ?? [])
        await attempt(`${operation} ${JSON.stringify(id)}`, async () => {
          const { status, text } = await fixture.ask(bob, path, asked);
          expect([status, text]).toEqual([400, expect.stringContaining("invalid_name")]);
        });
  // Clients and the server resolve dots in a path, even if encoded, so only the other IDs arrive in one.
  for (const operation of IN_PATH)
    for (const id of OTHERS)
      for (const { path, body, ...asked } of CREATING[operation]?.("SESSION", NO_IDS) ?? [])
        await attempt(`${operation} ${JSON.stringify(id)}`, async () => {
          const named = operation === "sendCommand" ? { ...(body as object), session: id } : body;
          const { status, text } = await fixture.ask(bob, path.replace("SESSION", encodeURIComponent(id)), {
            ...asked,
            ...(body === undefined ? {} : { body: named }),
          });
          expect([status, text]).toEqual([400, expect.stringContaining("invalid_name")]);
        });
  expect(await listIds()).toEqual(["bobs-own"]);
});

testSlowThreat("path-traversal", "WebSockets create no session with such an ID", async ({ attempt }) => {
  const headers = { authorization: `Bearer ${fixture.tokens.bob}` };
  for (const id of [...DOTS, ...OTHERS]) {
    await attempt(`/v1/ws ${JSON.stringify(id)}`, async () => {
      const frame = { type: "run", id: "c", session: id, message: "Hi" };
      const { texts } = await fixture.sendFrames("/v1/ws", [frame], headers);
      expect(texts.join()).toContain("invalid_name");
    });
    await attempt(`/agentOS/v1/ws_stream ${JSON.stringify(id)}`, async () => {
      const { texts } = await fixture.sendFrames("/agentOS/v1/ws_stream", [{ session_id: id, content: "Hi" }], headers);
      // 004 has codes in upper case.
      expect(texts.join()).toContain("INVALID_NAME");
    });
  }
  expect(await listIds()).toEqual(["bobs-own"]);
});

testThreat("path-traversal", "the library creates no session with such an ID", async ({ attempt }) => {
  const log = new MemoryLog();
  const main = agent({ model: new ScriptedModel([]), log });
  const ways: { readonly [way: string]: (id: string) => Promise<unknown> } = {
    createSession: (id) => log.createSession(id),
    openSession: (id) => openSession(log, id),
    "an agent": (id) => main.run("Hi", { sessionId: id }),
    "an ingested session": (id) => ForeignSession.open(log, id),
    "an import": (id) => importSession(log, [] as unknown as AsyncIterable<string>, { sessionId: id }),
  };
  for (const [way, create] of Object.entries(ways))
    for (const id of [...DOTS, ...OTHERS, "\ud800"])
      await attempt(`${way} ${JSON.stringify(id)}`, () =>
        expect(create(id)).rejects.toMatchObject({ code: "invalid_name" }),
      );
  expect(await log.listSessions()).toEqual([]);
});
