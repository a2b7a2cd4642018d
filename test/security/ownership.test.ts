/**
 * Another owner's session through every door: refused, and in nothing different from one that does not exist. The doors
 * come from the list that the server mounts, so that one that is added without an example fails here.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OPERATIONS } from "../../src/server/api/operations.ts";
import { ABOUT_NONE, BY_NAME, BY_PATH, type Example, MAKING } from "./endpoint-examples.ts";
import { itHolds } from "./it-holds.ts";
import {
  fillHers,
  type Hers,
  HERS,
  MISSING,
  type OwnersStage,
  SECRET,
  setOwnersStage,
  type Told,
} from "./owners-stage.ts";

let stage: OwnersStage;
let hers: Hers;

beforeAll(async () => {
  stage = await setOwnersStage();
  hers = await fillHers(stage);
  await stage.askJson(stage.tokens.bob, "/v1/sessions", { method: "POST", body: { session_id: "bobs-own" } });
});

afterAll(() => stage.close());

/** The names are of one length: what else differs is told by something else. */
function unname(told: Told): Told {
  const text = JSON.stringify(told).replaceAll(HERS, "<session>").replaceAll(MISSING, "<session>");
  return JSON.parse(text) as Told;
}

async function askAs(token: string | undefined, { path, ...asked }: Example): Promise<Told> {
  return stage.ask(token, path, asked);
}

const describeWay = ({ method = "GET", path, headers = {}, body }: Example): string =>
  [method, path, JSON.stringify(headers), JSON.stringify(body ?? "")].join(" ");

describe("the doors", () => {
  it("are all tried here", () => {
    const missing = OPERATIONS.filter(({ id, path }) => {
      const table = path.includes("/sessions/{id}") ? BY_PATH : { ...BY_NAME, ...MAKING, ...ABOUT_NONE };
      return !Object.hasOwn(table, id);
    });
    expect(missing.map(({ id }) => id)).toEqual([]);
    const known = new Set(OPERATIONS.map(({ id }) => id));
    for (const id of Object.keys({ ...BY_PATH, ...BY_NAME, ...MAKING, ...ABOUT_NONE })) expect(known).toContain(id);
    // What has no way among those that refuse has one among those that make.
    for (const [id, ways] of Object.entries(BY_PATH))
      if (ways("s", hers).length === 0) expect(MAKING).toHaveProperty(id);
  });
});

describe("a session of another owner", () => {
  itHolds("other-owners", "is refused by every door as if it were not there", async ({ attempt }) => {
    const before = await stage.describe(HERS);
    for (const [id, ways] of Object.entries({ ...BY_PATH, ...BY_NAME }))
      for (const [index, way] of ways(HERS, hers).entries()) {
        const other = ways(MISSING, hers)[index] as Example;
        await attempt(`${id}: ${describeWay(way)}`, async () => {
          const told = await askAs(stage.tokens.bob, way);
          expect([told.status, told.text.includes(SECRET)]).toEqual([id === "listSessions" ? 400 : 404, false]);
          expect(unname(told)).toEqual(unname(await askAs(stage.tokens.bob, other)));
          if (way.method !== "HEAD" && id !== "listSessions")
            expect(JSON.parse(told.text)).toMatchObject({ code: "unknown_session" });
        });
      }
    expect(await stage.describe(HERS)).toBe(before);
    expect(await stage.log.getSession(MISSING)).toBeUndefined();
    expect(stage.ran).toEqual([]);
  });

  itHolds("other-owners", "is left as it is by what makes sessions", async ({ attempt }) => {
    const before = await stage.describe(HERS);
    for (const [id, ways] of Object.entries(MAKING))
      for (const [index, way] of ways(HERS, hers).entries())
        await attempt(`${id}: ${describeWay(way)}`, async () => {
          const told = await askAs(stage.tokens.bob, way);
          expect([told.status, JSON.parse(told.text)]).toMatchObject([404, { code: "unknown_session" }]);
          expect(told.text).not.toContain(SECRET);
          // As it is read where there is none, to the letter.
          expect(unname(told).text).toBe(unname(await stage.ask(stage.tokens.bob, `/v1/sessions/${MISSING}`)).text);
          expect(await stage.describe(HERS)).toBe(before);
          // The same for a name that is free makes a session, and it is Bob's.
          const free = `${id}-${index}`.toLowerCase();
          const made = await askAs(stage.tokens.bob, ways(free, hers)[index] as Example);
          expect(made.status).toBeLessThan(300);
          expect((await stage.log.getSession(free))?.owner).toBe("bob");
        });
  });

  itHolds("other-owners", "is in no list and not found by what it holds", async ({ attempt }) => {
    for (const path of ["/v1/sessions", "/v1/sessions?limit=500", `/v1/sessions?q=${SECRET}`, "/v1/sessions?q=Tell"])
      await attempt(path, async () => {
        const told = await stage.ask(stage.tokens.bob, path);
        expect(told.status).toBe(200);
        expect(told.text).not.toContain(HERS);
      });
    const { sessions } = await stage.askJson(stage.tokens.alice, `/v1/sessions?q=${SECRET}`);
    expect(sessions).toMatchObject([{ session_id: HERS }]);
  });

  itHolds("other-owners", "is not met by a key that was guessed", async ({ attempt }) => {
    const headers = { "idempotency-key": "monday" };
    const ways: readonly Example[] = [
      { path: "/v1/sessions", method: "POST", body: { title: "Monday" }, headers },
      { path: "/v1/runs", method: "POST", body: { message: "Hi" }, headers },
      { path: "/api/chat", method: "POST", body: { content: "Hi" }, headers },
    ];
    for (const way of ways)
      await attempt(describeWay(way), async () => {
        const listOf = async (token: string) => JSON.stringify(await stage.askJson(token, "/v1/sessions?limit=500"));
        expect((await askAs(stage.tokens.alice, way)).status).toBeLessThan(300);
        const before = await listOf(stage.tokens.alice);
        expect((await askAs(stage.tokens.bob, way)).status).toBeLessThan(300);
        const idOf = (text: string) => /sess_[\w-]{22}/.exec(text)?.[0];
        const [own, other] = [idOf(before), idOf(await listOf(stage.tokens.bob))];
        expect([typeof own, own === other]).toEqual(["string", false]);
      });
  });
});

describe("sockets about a session of another owner", () => {
  /** Without the names of frames, which are made up or follow from the session's, and the time. */
  const answersOf = (texts: readonly string[]): string =>
    texts
      .filter((text) => !/"(hello|heartbeat)"/.test(text))
      .map((text) => text.replaceAll(new RegExp(`${HERS}|${MISSING}`, "g"), "<session>"))
      .map((text) => text.replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, "<name>").replaceAll(/\d{13}/g, "<time>"))
      .sort()
      .join("\n");

  itHolds("other-owners", "say of the control protocol what they say of one that is not there", async ({ attempt }) => {
    const before = await stage.describe(HERS);
    const ways: readonly ((session: string) => object)[] = [
      (session) => ({ type: "subscribe", id: "1", session }),
      (session) => ({ type: "subscribe", id: "1", session, after: hers.cursor }),
      (session) => ({ type: "subscribe", id: "1", session, dialect: "lumine", follow: false }),
      (session) => ({ type: "unsubscribe", id: "1", session }),
      (session) => ({ type: "cancel", id: "1", session, run_id: hers.run }),
      (session) => ({ type: "approve", id: "1", session, call_id: "call_rm", decision: "approved" }),
      (session) => ({ type: "approve", id: "1", session, call_id: "call_rm", run_id: hers.run, decision: "approved" }),
      (session) => ({ type: "todo", id: "1", session, list_id: "l", item_id: "i", completed: true }),
    ];
    const headers = { authorization: `Bearer ${stage.tokens.bob}` };
    for (const way of ways)
      await attempt(JSON.stringify(way(HERS)), async () => {
        const [told, other] = await Promise.all(
          [HERS, MISSING].map(async (session) => (await stage.talk("/v1/ws", [way(session)], headers)).texts),
        );
        expect(answersOf(told ?? [])).toMatch(/unknown_session|not_subscribed/);
        expect(answersOf(told ?? [])).toBe(answersOf(other ?? []));
      });
    await attempt("a message", async () => {
      const run = { type: "run", id: "1", session: HERS, message: "Hi", when_busy: "interrupt" };
      const { texts } = await stage.talk("/v1/ws", [run], headers);
      expect(texts.at(-1)).toContain("unknown_session");
    });
    expect(await stage.describe(HERS)).toBe(before);
  });

  itHolds("other-owners", "say nothing of it as 004 either", async ({ attempt }) => {
    const before = await stage.describe(HERS);
    const headers = { authorization: `Bearer ${stage.tokens.bob}` };
    const cursor = encodeURIComponent(hers.cursor);
    const places = ["", `&after=${cursor}`, "&after=0", "&follow=true", `&after=${cursor}&follow=true`, "&skip=1"];
    for (const place of places)
      await attempt(`opened with ${place}`, async () => {
        const path = (session: string) => `/agentOS/v1/ws_stream?session_id=${session}${place}`;
        const [told, other] = await Promise.all([
          stage.talk(path(HERS), [], headers),
          stage.talk(path(MISSING), [], headers),
        ]);
        expect(told.texts.join("")).not.toContain(SECRET);
        expect(answersOf(told.texts)).toBe(answersOf(other.texts));
      });
    const frames: readonly ((session: string) => object)[] = [
      (session_id) => ({ type: "tool_approval", session_id, tool_use_id: "call_rm", decision: "approved" }),
      (session_id) => ({ type: "todo_update", session_id, list_id: "l", item_id: "i", completed: true }),
    ];
    for (const frame of frames)
      await attempt(JSON.stringify(frame(HERS)), async () => {
        const talk = async (session: string) =>
          (await stage.talk("/agentOS/v1/ws_stream", [frame(session)], headers)).texts.slice(1);
        const [told, other] = [await talk(HERS), await talk(MISSING)];
        expect(answersOf(told)).toContain("<session>");
        expect(answersOf(told)).toBe(answersOf(other));
      });
    await attempt("a message", async () => {
      const frame = { content: "Hi", session_id: HERS };
      const { texts } = await stage.talk("/agentOS/v1/ws_stream", [frame], headers);
      expect(texts.join("")).toContain(HERS);
      expect(texts.join("")).not.toContain(SECRET);
    });
    expect(await stage.describe(HERS)).toBe(before);
    expect(await stage.log.getSession(MISSING)).toBeUndefined();
    expect(stage.ran).toEqual([]);
  });
});

describe("an administrator", () => {
  it("sees the sessions of everybody, works in them, and makes their own", async () => {
    const { admin } = stage.tokens;
    expect((await stage.ask(admin, `/v1/sessions/${HERS}`)).status).toBe(200);
    expect((await stage.ask(admin, "/v1/sessions?limit=500")).text).toContain(HERS);
    const way = { method: "POST", body: { session_id: "of-the-admin" } };
    await stage.askJson(admin, `/v1/sessions/${HERS}/fork`, way);
    expect((await stage.log.getSession("of-the-admin"))?.owner).toBe("admin");
    expect((await stage.ask(stage.tokens.alice, "/v1/sessions/of-the-admin")).status).toBe(404);
    expect(await stage.askJson(admin, "/v1/sessions", { method: "POST", body: { session_id: HERS } })).toMatchObject({
      session_id: HERS,
    });
    expect((await stage.log.getSession(HERS))?.owner).toBe("alice");
  });
});
