/**
 * Access to a session of another owner through every endpoint is refused, with the same response as for a session that
 * does not exist; a request that would create the session learns that its ID is taken. The endpoints come from the list
 * that the server mounts; an endpoint without an example fails the test.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/protocol/index.ts";
import { OPERATIONS } from "../../src/server/operations.ts";
import { WITHOUT_SESSION, BY_PARAMETER, BY_PATH, type Example, CREATING, hasEmptyAnswer } from "./endpoint-examples.ts";
import { testThreat } from "./test-threat.ts";
import {
  fillSession,
  type SessionIds,
  ALICE_SESSION,
  MISSING_SESSION,
  type OwnersFixture,
  SECRET,
  createOwnersFixture,
  type ReceivedResponse,
} from "./owners-fixture.ts";

let fixture: OwnersFixture;
let ids: SessionIds;

beforeAll(async () => {
  fixture = await createOwnersFixture();
  ids = await fillSession(fixture);
  await fixture.askJson(fixture.tokens.bob, "/v1/sessions", { method: "POST", body: { session_id: "bobs-own" } });
});

afterAll(() => fixture.close());

/** Replaces the session IDs, which have the same length, so that responses can be compared. */
function removeIds(response: ReceivedResponse): ReceivedResponse {
  const text = JSON.stringify(response).replaceAll(ALICE_SESSION, "<session>").replaceAll(MISSING_SESSION, "<session>");
  return JSON.parse(text) as ReceivedResponse;
}

async function askAs(token: string | undefined, { path, ...asked }: Example): Promise<ReceivedResponse> {
  return fixture.ask(token, path, asked);
}

const describeExample = ({ method = "GET", path, headers = {}, body }: Example): string =>
  [method, path, JSON.stringify(headers), JSON.stringify(body ?? "")].join(" ");

describe("every endpoint", () => {
  it("has an example", () => {
    const missing = OPERATIONS.filter(({ id, path }) => {
      const table = path.includes("/sessions/{id}") ? BY_PATH : { ...BY_PARAMETER, ...CREATING, ...WITHOUT_SESSION };
      return !Object.hasOwn(table, id);
    });
    expect(missing.map(({ id }) => id)).toEqual([]);
    const known = new Set(OPERATIONS.map(({ id }) => id));
    for (const id of Object.keys({ ...BY_PATH, ...BY_PARAMETER, ...CREATING, ...WITHOUT_SESSION }))
      expect(known).toContain(id);
    // An operation without an example that is refused has an example that creates a session.
    for (const [id, examples] of Object.entries(BY_PATH))
      if (examples("s", ids).length === 0) expect(CREATING).toHaveProperty(id);
  });
});

describe("a session of another owner", () => {
  testThreat("other-owners", "is refused by every endpoint like a missing session", async ({ attempt }) => {
    const before = await fixture.dumpSession(ALICE_SESSION);
    for (const [id, examples] of Object.entries({ ...BY_PATH, ...BY_PARAMETER }))
      for (const [index, example] of examples(ALICE_SESSION, ids).entries()) {
        const other = examples(MISSING_SESSION, ids)[index] as Example;
        await attempt(`${id}: ${describeExample(example)}`, async () => {
          const response = await askAs(fixture.tokens.bob, example);
          const isEmpty = hasEmptyAnswer(example);
          const isList = id === "listSessions" || id === "listActiveRuns";
          // Authorized before the body is read, which may be a message that creates the session.
          const mayCreate = id === "sendCommand";
          const status = isList ? 400 : isEmpty ? response.status : mayCreate ? 409 : 404;
          expect([response.status, response.text.includes(SECRET)]).toEqual([status, false]);
          if (isEmpty) expect(response.status).toBeLessThan(300);
          if (!mayCreate) expect(removeIds(response)).toEqual(removeIds(await askAs(fixture.tokens.bob, other)));
          const code = mayCreate ? "session_id_taken" : "unknown_session";
          if (example.method !== "HEAD" && !isList && !isEmpty)
            expect(JSON.parse(response.text)).toMatchObject({ code });
        });
      }
    expect(await fixture.dumpSession(ALICE_SESSION)).toBe(before);
    expect(await fixture.log.getSession(MISSING_SESSION)).toBeUndefined();
    expect(fixture.ran).toEqual([]);
  });

  testThreat("other-owners", "is not changed by endpoints that create sessions", async ({ attempt }) => {
    const before = await fixture.dumpSession(ALICE_SESSION);
    for (const [id, examples] of Object.entries(CREATING))
      for (const [index, example] of examples(ALICE_SESSION, ids).entries())
        await attempt(`${id}: ${describeExample(example)}`, async () => {
          const response = await askAs(fixture.tokens.bob, example);
          const detail = `The session ID "${ALICE_SESSION}" is taken; choose another ID`;
          // OpenAI clients read the same error from the field `error`.
          const { error: _error, id: _id, ...problem } = JSON.parse(response.text) as JsonObject;
          expect([response.status, problem]).toEqual([
            409,
            {
              type: "urn:loom:problem:session_id_taken",
              title: "Session id taken",
              status: 409,
              detail,
              code: "session_id_taken",
              details: { session_id: ALICE_SESSION },
            },
          ]);
          expect(response.text).not.toContain(SECRET);
          expect(await fixture.dumpSession(ALICE_SESSION)).toBe(before);
          // The same request with an unused ID creates a session of Bob.
          const free = `${id}-${index}`.toLowerCase();
          const made = await askAs(fixture.tokens.bob, examples(free, ids)[index] as Example);
          expect(made.status).toBeLessThan(300);
          expect((await fixture.log.getSession(free))?.owner).toBe("bob");
        });
  });

  testThreat("other-owners", "does not appear in lists and search results", async ({ attempt }) => {
    for (const path of [
      "/v1/sessions",
      "/v1/sessions?limit=500",
      `/v1/sessions?q=${SECRET}`,
      "/v1/sessions?q=Describe",
      "/v1/runs",
      "/v1/runs?state=waiting",
    ])
      await attempt(path, async () => {
        const response = await fixture.ask(fixture.tokens.bob, path);
        expect(response.status).toBe(200);
        expect(response.text).not.toContain(ALICE_SESSION);
      });
    const { sessions } = await fixture.askJson(fixture.tokens.alice, `/v1/sessions?q=${SECRET}`);
    expect(sessions).toMatchObject([{ session_id: ALICE_SESSION }]);
    const { runs } = await fixture.askJson(fixture.tokens.alice, "/v1/runs?state=waiting");
    expect(runs).toMatchObject([{ session_id: ALICE_SESSION, state: "waiting" }]);
    expect(runs).not.toHaveProperty("0.owner");
  });

  testThreat("other-owners", "is not returned for a guessed idempotency key", async ({ attempt }) => {
    const headers = { "idempotency-key": "monday" };
    const examples: readonly Example[] = [
      { path: "/v1/sessions", method: "POST", body: { title: "Monday" }, headers },
      { path: "/v1/runs", method: "POST", body: { message: "Hi" }, headers },
      { path: "/api/chat", method: "POST", body: { content: "Hi" }, headers },
    ];
    for (const example of examples)
      await attempt(describeExample(example), async () => {
        const listOf = async (token: string) => JSON.stringify(await fixture.askJson(token, "/v1/sessions?limit=500"));
        expect((await askAs(fixture.tokens.alice, example)).status).toBeLessThan(300);
        const before = await listOf(fixture.tokens.alice);
        expect((await askAs(fixture.tokens.bob, example)).status).toBeLessThan(300);
        const idOf = (text: string) => /sess_[\w-]{22}/.exec(text)?.[0];
        const [own, other] = [idOf(before), idOf(await listOf(fixture.tokens.bob))];
        expect([typeof own, own === other]).toEqual(["string", false]);
      });
  });
});

describe("a session of another owner on sockets", () => {
  /** Removes generated IDs and timestamps from the messages. */
  const answersOf = (texts: readonly string[]): string =>
    texts
      .filter((text) => !/"(hello|heartbeat)"/.test(text))
      .map((text) => text.replaceAll(new RegExp(`${ALICE_SESSION}|${MISSING_SESSION}`, "g"), "<session>"))
      .map((text) => text.replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, "<name>").replaceAll(/\d{13}/g, "<time>"))
      .sort()
      .join("\n");

  testThreat("other-owners", "is refused by the control protocol like a missing session", async ({ attempt }) => {
    const before = await fixture.dumpSession(ALICE_SESSION);
    const examples: readonly ((session: string) => object)[] = [
      (session) => ({ type: "subscribe", id: "1", session }),
      (session) => ({ type: "subscribe", id: "1", session, after: ids.cursor }),
      (session) => ({ type: "subscribe", id: "1", session, dialect: "lumine", follow: false }),
      (session) => ({ type: "unsubscribe", id: "1", session }),
      (session) => ({ type: "cancel", id: "1", session, run_id: ids.run }),
      (session) => ({ type: "approve", id: "1", session, call_id: "call_rm", decision: "approved" }),
      (session) => ({ type: "approve", id: "1", session, call_id: "call_rm", run_id: ids.run, decision: "approved" }),
      (session) => ({ type: "todo", id: "1", session, list_id: "l", item_id: "i", completed: true }),
    ];
    const headers = { authorization: `Bearer ${fixture.tokens.bob}` };
    for (const example of examples)
      await attempt(JSON.stringify(example(ALICE_SESSION)), async () => {
        const [response, other] = await Promise.all(
          [ALICE_SESSION, MISSING_SESSION].map(
            async (session) => (await fixture.sendFrames("/v1/ws", [example(session)], headers)).texts,
          ),
        );
        expect(answersOf(response ?? [])).toMatch(/unknown_session|not_subscribed/);
        expect(answersOf(response ?? [])).toBe(answersOf(other ?? []));
      });
    await attempt("a message", async () => {
      const run = { type: "run", id: "1", session: ALICE_SESSION, message: "Hi", when_busy: "interrupt" };
      const { texts } = await fixture.sendFrames("/v1/ws", [run], headers);
      expect(texts.at(-1)).toContain("session_id_taken");
    });
    expect(await fixture.dumpSession(ALICE_SESSION)).toBe(before);
  });

  testThreat("other-owners", "is refused by the agentOS socket like a missing session", async ({ attempt }) => {
    const before = await fixture.dumpSession(ALICE_SESSION);
    const headers = { authorization: `Bearer ${fixture.tokens.bob}` };
    const cursor = encodeURIComponent(ids.cursor);
    const places = ["", `&after=${cursor}`, "&after=0", "&follow=true", `&after=${cursor}&follow=true`, "&skip=1"];
    for (const place of places)
      await attempt(`opened with ${place}`, async () => {
        const path = (session: string) => `/agentOS/v1/ws_stream?session_id=${session}${place}`;
        const [response, other] = await Promise.all([
          fixture.sendFrames(path(ALICE_SESSION), [], headers),
          fixture.sendFrames(path(MISSING_SESSION), [], headers),
        ]);
        expect(response.texts.join("")).not.toContain(SECRET);
        expect(answersOf(response.texts)).toBe(answersOf(other.texts));
      });
    const frames: readonly ((session: string) => object)[] = [
      (session_id) => ({ type: "tool_approval", session_id, tool_use_id: "call_rm", decision: "approved" }),
      (session_id) => ({ type: "todo_update", session_id, list_id: "l", item_id: "i", completed: true }),
    ];
    for (const frame of frames)
      await attempt(JSON.stringify(frame(ALICE_SESSION)), async () => {
        const talk = async (session: string) =>
          (await fixture.sendFrames("/agentOS/v1/ws_stream", [frame(session)], headers)).texts.slice(1);
        const [response, other] = [await talk(ALICE_SESSION), await talk(MISSING_SESSION)];
        expect(answersOf(response)).toContain("<session>");
        expect(answersOf(response)).toBe(answersOf(other));
      });
    await attempt("a message", async () => {
      const frame = { content: "Hi", session_id: ALICE_SESSION };
      const { texts } = await fixture.sendFrames("/agentOS/v1/ws_stream", [frame], headers);
      expect(texts.join("")).toContain(ALICE_SESSION);
      expect(texts.join("")).not.toContain(SECRET);
    });
    expect(await fixture.dumpSession(ALICE_SESSION)).toBe(before);
    expect(await fixture.log.getSession(MISSING_SESSION)).toBeUndefined();
    expect(fixture.ran).toEqual([]);
  });
});

describe("an administrator", () => {
  it("can read and change sessions of all owners, and owns the sessions it creates", async () => {
    const { admin } = fixture.tokens;
    expect((await fixture.ask(admin, `/v1/sessions/${ALICE_SESSION}`)).status).toBe(200);
    expect((await fixture.ask(admin, "/v1/sessions?limit=500")).text).toContain(ALICE_SESSION);
    const { runs } = await fixture.askJson(admin, "/v1/runs");
    expect(runs).toContainEqual(expect.objectContaining({ session_id: ALICE_SESSION, owner: "alice" }));
    const example = { method: "POST", body: { session_id: "of-the-admin" } };
    await fixture.askJson(admin, `/v1/sessions/${ALICE_SESSION}/fork`, example);
    expect((await fixture.log.getSession("of-the-admin"))?.owner).toBe("admin");
    expect((await fixture.ask(fixture.tokens.alice, "/v1/sessions/of-the-admin")).status).toBe(404);
    expect(
      await fixture.askJson(admin, "/v1/sessions", { method: "POST", body: { session_id: ALICE_SESSION } }),
    ).toMatchObject({
      session_id: ALICE_SESSION,
    });
    expect((await fixture.log.getSession(ALICE_SESSION))?.owner).toBe("alice");
  });
});
