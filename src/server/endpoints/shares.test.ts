import { describe, expect, it } from "vitest";
import {
  codeOf,
  SERVER_ORIGIN,
  createAuthFixture,
  createClock,
  takeCookie,
} from "../../../test/server/auth-fixture.ts";
import { createEntry } from "../../log/entry.ts";
import type { LoomEvent } from "../../protocol/index.ts";
import type { NewShare, Shares } from "../api/shapes.generated.ts";

async function createFixture() {
  const fixture = createAuthFixture();
  const { credentials, log, ask } = fixture;
  await log.createSession("s", { owner: "ann", title: "Ann's" });
  await log.createSession("other", { owner: "ann" });
  const ann = (await credentials.createToken({ name: "ann", owner: "ann" })).secret;
  const bob = (await credentials.createToken({ name: "bob", owner: "bob" })).secret;
  const share = async (body: object = {}): Promise<NewShare> => {
    const response = await ask("/v1/sessions/s/shares", { bearer: ann, body });
    expect(response.status).toBe(201);
    return (await response.json()) as NewShare;
  };
  const list = async (): Promise<Shares["shares"]> =>
    ((await (await ask("/v1/sessions/s/shares", { bearer: ann })).json()) as Shares).shares;
  return { ...fixture, ann, bob, share, list };
}

describe("a share link", () => {
  it("grants read access to its session only", async () => {
    const { ask, getAuth, share, list } = await createFixture();
    const { share_id, created_at, secret, url, expires_at = 0 } = await share();
    expect(url).toBe(`${SERVER_ORIGIN}/#share=${secret}`);
    expect(await list()).toEqual([{ share_id, created_at, expires_at, opened: 0 }]);
    expect((await ask("/v1/sessions/s", { bearer: secret })).status).toBe(200);
    expect((await ask("/v1/sessions/s/events", { bearer: secret })).status).toBe(200);
    expect(await codeOf(await ask("/v1/sessions/other", { bearer: secret }))).toEqual([404, "unknown_session"]);
    for (const [path, asked] of [
      ["/v1/sessions", {}],
      ["/v1/sessions/s", { method: "DELETE" }],
      ["/v1/sessions/s/shares", {}],
      ["/v1/sessions/s/shares", { body: {} }],
      ["/v1/sessions/s/commands", { body: { type: "cancel", id: "c", session: "s", run_id: "r" } }],
      ["/v1/sessions/s/fork", { body: {} }],
    ] as const)
      expect((await ask(path, { ...asked, bearer: secret })).status, path).toBeGreaterThanOrEqual(403);
    const who = await getAuth({ bearer: secret });
    expect(who).toEqual({
      mode: "required",
      signed_in: false,
      kind: "share",
      scopes: ["read"],
      session_id: "s",
      shared_session_ids: [],
      expires_at,
    });
  });

  it("does not reveal other versions of the conversation", async () => {
    const { ask, share, log, ann, bob, signIn } = await createFixture();
    await log.deleteSession("s");
    const origin = { sessionId: "other", runId: "r", eventId: 0 };
    await log.createSession("s", { owner: "ann", forkedFrom: origin, rootId: "other" });
    const forked_from = { session_id: "other", run_id: "r", event_id: 0 };
    const read = async (asked: object): Promise<unknown> => (await ask("/v1/sessions/s", asked)).json();
    expect(await read({ bearer: ann })).toMatchObject({ forked_from, root_id: "other" });
    const { secret } = await share();
    const signedIn = takeCookie(await signIn(bob));
    const opened = takeCookie(await signIn(secret, { cookie: signedIn }));
    for (const asked of [{ bearer: secret }, { cookie: `${signedIn}; ${opened}` }]) {
      const shown = await read(asked);
      expect(shown).toMatchObject({ session_id: "s", root_id: "s" });
      expect(JSON.stringify(shown)).not.toContain("other");
      expect((await ask("/v1/sessions/s/branches", asked)).status).toBeGreaterThanOrEqual(403);
    }
    expect((await ask("/v1/sessions/s/branches", { bearer: ann })).status).toBe(200);
  });

  it("does not show what models were sent", async () => {
    const { ask, log, ann, bob, credentials } = await createFixture();
    const prompt = { role: "user", content: [{ type: "text", text: "A prompt for the owner" }] };
    const events: readonly LoomEvent[] = [
      { type: "run_start", run_id: "r", message: "Hi" },
      { type: "llm_start", llm_call_id: "c" },
      {
        type: "llm_content",
        llm_call_id: "c",
        role: "request",
        parts: [{ value: {} }, { value: [] }, { value: prompt }],
      },
      {
        type: "llm_content",
        llm_call_id: "c",
        role: "response",
        parts: [{ value: { role: "assistant", content: [] } }],
      },
      { type: "llm_end", llm_call_id: "c" },
      { type: "reply", reply: "Hello" },
      { type: "run_end", status: "completed" },
    ];
    const entries = events.map((event, index) =>
      createEntry({ envelope: { session_id: "p", run_id: "r", event_id: index + 1, ts: 1 }, event }),
    );
    await log.createSession("p", { owner: "ann", entries });
    const link = (await (await ask("/v1/sessions/p/shares", { bearer: ann, body: {} })).json()) as NewShare;
    const { secret: writer } = await credentials.createToken({ name: "w", owner: "ann", scopes: ["write"] });
    const calls = "/v1/sessions/p/runs/r/model-calls";
    const own: unknown = await (await ask(`${calls}/c`, { bearer: ann })).json();
    expect(own).toMatchObject({ llm_call_id: "c", messages: [prompt], response: { role: "assistant" } });
    expect(await (await ask(calls, { bearer: ann })).json()).toMatchObject({
      model_calls: [{ llm_call_id: "c", has_request: true, has_response: true }],
    });
    expect(await codeOf(await ask(`${calls}/none`, { bearer: ann }))).toEqual([404, "unknown_call"]);
    for (const path of [calls, `${calls}/c`]) {
      expect(await codeOf(await ask(path, { bearer: link.secret }))).toEqual([403, "forbidden"]);
      expect(await codeOf(await ask(path, { bearer: bob }))).toEqual([404, "unknown_session"]);
      expect(await codeOf(await ask(path, { bearer: writer }))).toEqual([403, "forbidden"]);
    }
    for (const path of ["export", "events", "events?modes=all", "events?modes=messages,custom&strict=true"]) {
      const response = await ask(`/v1/sessions/p/${path}`, { bearer: link.secret });
      expect(response.status, path).toBe(200);
      const text = await response.text();
      expect(text, path).toContain("Hello");
      expect(text, path).not.toContain("for the owner");
    }
    expect(await (await ask("/v1/sessions/p/export", { bearer: ann })).text()).toContain("for the owner");
  });

  it("expires after 7 days unless the request says otherwise", async () => {
    const week = 7 * 86_400_000;
    const { share, ask, ann } = await createFixture();
    const [one, two] = [await share(), await share({ never_expires: true })];
    expect(Math.abs((one.expires_at ?? 0) - one.created_at - week)).toBeLessThan(1000);
    expect(two.expires_at).toBeUndefined();
    const both = { never_expires: true, expires_in_ms: 1000 };
    const refused = await ask("/v1/sessions/s/shares", { bearer: ann, body: both });
    expect(await codeOf(refused)).toEqual([400, "invalid_request"]);
  });

  it("says how often it was opened: by a browser, and by a program at most once a minute", async () => {
    const wait = createClock();
    const { ask, share, list, signIn } = await createFixture();
    const { secret } = await share();
    expect((await list())[0]).toMatchObject({ opened: 0 });
    const cookie = takeCookie(await signIn(secret));
    await signIn(secret);
    await ask("/v1/sessions/s", { cookie });
    expect((await list())[0]).toMatchObject({ opened: 2 });
    for (let at = 0; at < 3; at++) await ask("/v1/sessions/s", { bearer: secret });
    expect((await list())[0]).toMatchObject({ opened: 3 });
    wait(61_000);
    await ask("/v1/sessions/s", { bearer: secret });
    const [{ opened, opened_at = 0, created_at } = { opened: 0, created_at: 0 }] = await list();
    expect([opened, opened_at - created_at >= 61_000]).toEqual([4, true]);
  });

  it("expires", async () => {
    const wait = createClock();
    const { ask, share, list } = await createFixture();
    const { secret, expires_at, created_at } = await share({ expires_in_ms: 60_000 });
    expect((expires_at ?? 0) - created_at).toBeLessThanOrEqual(60_000);
    expect(await list()).toHaveLength(1);
    wait(60_000);
    expect(await codeOf(await ask("/v1/sessions/s", { bearer: secret }))).toEqual([401, "unauthorized"]);
    expect(await list()).toEqual([]);
  });

  it.each([0, 999, -1, 1.5, 10 * 366 * 86_400_000, "1000"])(
    "is rejected for a lifetime of %j ms",
    async (expires_in_ms) => {
      const { ask, ann } = await createFixture();
      const response = await ask("/v1/sessions/s/shares", { bearer: ann, body: { expires_in_ms } });
      expect(await codeOf(response)).toEqual([400, "invalid_request"]);
    },
  );

  it("grants nothing after it is revoked, as a header or as a cookie", async () => {
    const { ask, share, list, ann, signIn } = await createFixture();
    const { share_id, secret } = await share();
    const cookie = takeCookie(await signIn(secret));
    expect((await ask("/v1/sessions/s", { cookie })).status).toBe(200);
    const drop = { method: "DELETE", bearer: ann };
    // The link belongs to another session.
    expect(await codeOf(await ask(`/v1/sessions/other/shares/${share_id}`, drop))).toEqual([404, "not_found"]);
    expect((await ask(`/v1/sessions/s/shares/${share_id}`, drop)).status).toBe(204);
    expect(await codeOf(await ask(`/v1/sessions/s/shares/${share_id}`, drop))).toEqual([404, "not_found"]);
    expect(await codeOf(await ask("/v1/sessions/s", { bearer: secret }))).toEqual([401, "unauthorized"]);
    expect(await codeOf(await ask("/v1/sessions/s", { cookie }))).toEqual([401, "unauthorized"]);
    expect(await list()).toEqual([]);
  });

  it("is not valid for a later session with the same id", async () => {
    const { ask, share, list, log, signIn } = await createFixture();
    const { secret } = await share();
    const cookie = takeCookie(await signIn(secret));
    await log.deleteSession("s");
    expect(await codeOf(await ask("/v1/sessions/s", { bearer: secret }))).toEqual([404, "unknown_session"]);
    await log.createSession("s", { owner: "ann" });
    expect(await codeOf(await ask("/v1/sessions/s", { bearer: secret }))).toEqual([404, "unknown_session"]);
    expect(await codeOf(await ask("/v1/sessions/s", { cookie }))).toEqual([401, "unauthorized"]);
    expect(await list()).toEqual([]);
  });

  it("is managed only by the owner with write permission", async () => {
    const { ask, share, bob, credentials } = await createFixture();
    const { share_id } = await share();
    const reader = (await credentials.createToken({ name: "reader", owner: "ann", scopes: ["read"] })).secret;
    for (const [path, asked] of [
      ["/v1/sessions/s/shares", { body: {} }],
      ["/v1/sessions/s/shares", {}],
      [`/v1/sessions/s/shares/${share_id}`, { method: "DELETE" }],
    ] as const) {
      expect(await codeOf(await ask(path, { ...asked, bearer: bob }))).toEqual([404, "unknown_session"]);
      expect(await codeOf(await ask(path, { ...asked, bearer: reader }))).toEqual([403, "forbidden"]);
      expect(await codeOf(await ask(path, asked))).toEqual([401, "unauthorized"]);
    }
  });

  it("works on a server without authentication, and confines a request that uses it", async () => {
    const { ask, log, signIn, getAuth } = createAuthFixture("open");
    for (const id of ["s", "other"]) await log.createSession(id);
    expect(await (await ask("/v1/sessions/s/shares")).json()).toEqual({ shares: [], this_machine_only: true });
    expect(await codeOf(await ask("/v1/sessions/s/shares/x", { method: "DELETE" }))).toEqual([404, "not_found"]);
    expect(await codeOf(await signIn("loom_shr_guessed"))).toEqual([401, "unauthorized"]);
    const { secret, share_id, url, this_machine_only } = (await (
      await ask("/v1/sessions/s/shares", { body: {} })
    ).json()) as NewShare;
    expect([url, this_machine_only]).toEqual([`${SERVER_ORIGIN}/#share=${secret}`, true]);
    const opened = await signIn(secret);
    expect(await opened.clone().json()).toMatchObject({ mode: "open", session_id: "s", shared_session_ids: ["s"] });
    const cookie = takeCookie(opened);
    // The page of the link uses nothing but the link; other pages of the browser keep their access.
    for (const [path, asked, status] of [
      ["/v1/sessions/s?access=link", { cookie }, 200],
      ["/v1/sessions/other?access=link", { cookie }, 401],
      ["/v1/sessions?access=link", { cookie }, 401],
      ["/v1/sessions", { bearer: secret }, 403],
      ["/v1/sessions/s?access=link", {}, 401],
      ["/v1/sessions/s", { bearer: secret }, 200],
      ["/v1/sessions/other", { bearer: secret }, 404],
      ["/v1/sessions/other", { cookie }, 200],
    ] as const)
      expect((await ask(path, asked)).status, path).toBe(status);
    expect(await getAuth({ cookie })).toMatchObject({ mode: "open", shared_session_ids: [] });
    expect((await ask(`/v1/sessions/s/shares/${share_id}`, { method: "DELETE" })).status).toBe(204);
    expect(await codeOf(await ask("/v1/sessions/s?access=link", { cookie }))).toEqual([401, "unauthorized"]);
    for (const credential of ["loom_tok_abcdefghijkl_x", "x"])
      expect(await codeOf(await signIn(credential))).toEqual([400, "unsupported"]);
    expect(await codeOf(await ask("/v1/auth/tickets", { body: {} }))).toEqual([400, "unsupported"]);
  });
});
