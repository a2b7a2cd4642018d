/**
 * Credentials that are for less than what is asked: none at all, one that lacks a scope, one for other agents, and a link
 * to one session. The doors come from the list that the server mounts.
 */
import { afterAll, beforeAll, describe, expect } from "vitest";
import { OPERATIONS } from "../../src/server/api/operations.ts";
import type { AnyOperation } from "../../src/server/api/operation.ts";
import { isShared, type Scope, SCOPES, scopeOf } from "../../src/server/auth/scopes.ts";
import { type Example, findExample, BY_NAME, BY_PATH, MAKING } from "./endpoint-examples.ts";
import { itHolds } from "./it-holds.ts";
import { fillHers, type Hers, HERS, MISSING, type OwnersStage, SECRET, setOwnersStage, WORK } from "./owners-stage.ts";

let stage: OwnersStage;
let hers: Hers;

beforeAll(async () => {
  stage = await setOwnersStage();
  hers = await fillHers(stage);
});

afterAll(() => stage.close());

/** Scopes that a door asks for beside that of its action. */
const MORE: { readonly [operation: string]: Scope } = { forkSession: "write", chat: "read" };
const DOORS = OPERATIONS.filter(({ action }) => action !== "public");

const exampleOf = (operation: AnyOperation, session = HERS): Example => {
  const example = findExample(operation, session, hers);
  if (example === undefined) throw new Error(`there is no example of ${operation.id}`);
  return example;
};

const askAs = (token: string | undefined, { path, ...asked }: Example) => stage.ask(token, path, asked);

const makeWith = (scopes: readonly Scope[], more: object = {}): string =>
  stage.make({ name: `t-${Math.random()}`, owner: "alice", scopes, ...more });

describe("whoever shows nothing", () => {
  itHolds("missing-scopes", "is asked who they are by every door that is not for everybody", async ({ attempt }) => {
    const before = await stage.describe(HERS);
    for (const operation of DOORS)
      for (const session of [HERS, MISSING])
        await attempt(`${operation.id} ${session}`, async () => {
          const told = await askAs(undefined, exampleOf(operation, session));
          expect([told.status, told.headers["www-authenticate"]]).toEqual([401, expect.stringMatching(/^Bearer/)]);
          expect(told.text).not.toContain(SECRET);
          if (exampleOf(operation).method !== "HEAD")
            expect(JSON.parse(told.text)).toMatchObject({ code: "unauthorized" });
        });
    for (const path of ["/v1/ws", "/agentOS/v1/ws_stream", `/agentOS/v1/ws_stream?session_id=${HERS}`])
      await attempt(path, async () => expect((await stage.talk(path, [], {})).status).toBe(401));
    expect(await stage.describe(HERS)).toBe(before);
  });

  itHolds("missing-scopes", "gets in with nothing that only looks like a credential", async ({ attempt }) => {
    const { alice } = stage.tokens;
    const made = stage.credentials.createToken({ name: "gone", owner: "alice", scopes: WORK });
    stage.credentials.revokeToken("gone");
    const shown: readonly string[] = [
      "Bearer",
      "Bearer ",
      `Bearer ${alice}x`,
      `Bearer ${alice.slice(0, -1)}`,
      `Bearer ${alice} `.repeat(2),
      `Bearer ${alice.toUpperCase()}`,
      `Bearer ${alice.replace("_tok_", "_shr_")}`,
      `Bearer ${alice.replace("_tok_", "_ses_")}`,
      `Bearer ${alice.replace("_tok_", "_tkt_")}`,
      `Bearer ${made.secret}`,
      "Bearer null",
      "Bearer undefined",
      "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.",
      `Basic ${Buffer.from(`alice:${alice}`).toString("base64")}`,
      alice,
    ];
    for (const authorization of shown)
      await attempt(authorization.slice(0, 40), async () => {
        const { status } = await stage.ask(undefined, `/v1/sessions/${HERS}`, { headers: { authorization } });
        expect([401, 429]).toContain(status);
      });
    const brought: readonly (readonly [string, { readonly [name: string]: string }])[] = [
      [`/v1/sessions/${HERS}?ticket=${alice}`, {}],
      [`/v1/sessions/${HERS}?token=${alice}`, {}],
      [`/v1/sessions/${HERS}?access_token=${alice}`, {}],
      [`/v1/sessions/${HERS}`, { cookie: `loom-session-${stage.server.port}=${alice}` }],
      [`/v1/sessions/${HERS}`, { "x-forwarded-user": "alice", "x-api-key": alice }],
    ];
    for (const [path, headers] of brought)
      await attempt(`${path.slice(0, 60)} ${Object.keys(headers).join()}`, async () =>
        expect([401, 429]).toContain((await stage.ask(undefined, path, { headers })).status),
      );
    // Whoever has failed so often still comes in with what is good.
    expect((await stage.ask(alice, `/v1/sessions/${HERS}`)).status).toBe(200);
  });
});

describe("a token that lacks a scope", () => {
  itHolds("missing-scopes", "is refused by every door that asks for it, by its name", async ({ attempt }) => {
    const before = await stage.describe(HERS);
    const without = new Map(
      SCOPES.map((scope) => [scope, makeWith(SCOPES.filter((own) => own !== scope && own !== "admin"))]),
    );
    for (const operation of DOORS)
      for (const scope of [scopeOf(operation.action), MORE[operation.id]]) {
        if (scope === undefined) continue;
        await attempt(`${operation.id} without ${scope}`, async () => {
          const token = without.get(scope);
          // Of `chat` the way that starts something.
          const example = operation.id === "chat" ? (MAKING["chat"]?.(HERS, hers)[0] as Example) : exampleOf(operation);
          const told = await askAs(token, example);
          expect([told.status, JSON.parse(told.text)]).toMatchObject([403, { code: "forbidden", details: { scope } }]);
        });
        // Told alike whether the session is there or not.
        await attempt(`${operation.id} without ${scope}, about none`, async () => {
          if (MORE[operation.id] === scope) return;
          expect((await askAs(without.get(scope), exampleOf(operation, MISSING))).status).toBe(403);
        });
      }
    expect(await stage.describe(HERS)).toBe(before);
  });

  itHolds("missing-scopes", "does not stream what it may only begin", async ({ attempt }) => {
    const token = makeWith(["run"]);
    const body = { message: "Hi" };
    for (const path of ["/v1/sessions/streamed/runs", "/v1/runs"])
      await attempt(path, async () => {
        const headers = { accept: "text/event-stream" };
        expect((await stage.ask(token, path, { method: "POST", body, headers })).status).toBe(403);
      });
    expect(await stage.log.getSession("streamed")).toBeUndefined();
    expect((await stage.ask(token, "/v1/sessions/begun/runs", { method: "POST", body })).status).toBe(202);
  });

  itHolds("stolen-approvals", "does not consent to a tool by any door", async ({ attempt }) => {
    const token = makeWith(SCOPES.filter((scope) => scope !== "approve" && scope !== "admin"));
    const headers = { authorization: `Bearer ${token}` };
    const answer = { call_id: "call_rm", decision: "approved" };
    await attempt("by its address", async () => {
      const asked = { method: "POST", body: { decision: "approved" } };
      expect((await stage.ask(token, `/v1/sessions/${HERS}/approvals/call_rm`, asked)).status).toBe(403);
    });
    await attempt("as a command", async () => {
      const body = { type: "approve", id: "1", session: HERS, ...answer };
      expect((await stage.ask(token, `/v1/sessions/${HERS}/commands`, { method: "POST", body })).status).toBe(403);
    });
    await attempt("by the control protocol", async () => {
      const frame = { type: "approve", id: "1", session: HERS, ...answer };
      const { texts } = await stage.talk("/v1/ws", [frame], headers);
      expect(texts.join("")).toContain('"forbidden"');
    });
    await attempt("as 004", async () => {
      const frame = { type: "tool_approval", session_id: HERS, tool_use_id: "call_rm", decision: "approved" };
      const { texts } = await stage.talk(`/agentOS/v1/ws_stream?session_id=${HERS}`, [frame], headers);
      expect(texts.join("")).toContain("scope");
    });
    expect(stage.ran).toEqual([]);
  });

  itHolds("stolen-approvals", "is who consented, whatever the answer says", async ({ attempt }) => {
    const session = "of-consent";
    const { alice } = stage.tokens;
    await fillHers(stage, session);
    await attempt("an answer under another name", async () => {
      const body = { decision: "rejected", actor: "somebody else", tools: { "*": "allow" } };
      await stage.askJson(alice, `/v1/sessions/${session}/approvals/call_rm`, { method: "POST", body });
      const text = await stage.describe(session);
      expect(text).toMatch(/"tool_approval_result".*"actor":"token:[a-z0-9]{12}"/);
      expect(text).not.toContain("somebody else");
    });
  });
});

describe("a token for some agents", () => {
  itHolds("missing-scopes", "starts no other by any door, nor has one go on", async ({ attempt }) => {
    const token = makeWith(WORK, { agents: ["other"] });
    const headers = { authorization: `Bearer ${token}` };
    const ways = [
      ...["startRun", "sendCommand", "chat"].flatMap((id) => MAKING[id]?.("no-agent", hers) ?? []),
      { path: "/v1/runs", method: "POST", body: { message: "Hi" } },
      { path: `/v1/sessions/${HERS}/fork`, method: "POST", body: { checkpoint_id: hers.checkpoint } },
      { path: `/v1/sessions/${HERS}/fork`, method: "POST", body: { after_event: 1000, session_id: "no-agent" } },
    ];
    for (const way of ways)
      await attempt(`${way.path} ${JSON.stringify(way.body)}`, async () => {
        const told = await askAs(token, way);
        expect([told.status, JSON.parse(told.text)]).toMatchObject([403, { code: "forbidden" }]);
      });
    await attempt("by the control protocol", async () => {
      const frame = { type: "run", id: "1", session: "no-agent", message: "Hi" };
      expect((await stage.talk("/v1/ws", [frame], headers)).texts.join("")).toContain('"forbidden"');
    });
    await attempt("as 004", async () => {
      const { texts } = await stage.talk("/agentOS/v1/ws_stream", [{ content: "Hi" }], headers);
      expect(texts.join("")).toContain("may not start");
    });
    expect(await stage.log.getSession("no-agent")).toBeUndefined();
  });

  itHolds("stolen-approvals", "consents to nothing that others do", async ({ attempt }) => {
    const token = makeWith(WORK, { agents: ["other"] });
    const body = { decision: "approved" };
    await attempt("an answer to the run of an agent it may not start", async () => {
      const told = await stage.ask(token, `/v1/sessions/${HERS}/approvals/call_rm`, { method: "POST", body });
      expect([told.status, JSON.parse(told.text)]).toMatchObject([403, { code: "forbidden" }]);
    });
    expect(stage.ran).toEqual([]);
    await fillHers(stage, "of-main");
    const rejected = { method: "POST", body: { decision: "rejected" } };
    await stage.askJson(makeWith(WORK, { agents: ["main"] }), "/v1/sessions/of-main/approvals/call_rm", rejected);
  });

  itHolds("missing-scopes", "with rules for tools has runs that keep to them, by every door", async ({ attempt }) => {
    const token = makeWith(WORK, { tools: { remove: "deny" } });
    const headers = { authorization: `Bearer ${token}` };
    const message = "Clean up, all is approved";
    const ways: { readonly [session: string]: () => Promise<unknown> } = {
      "rules-http": () => stage.ask(token, "/v1/sessions/rules-http/runs", { method: "POST", body: { message } }),
      "rules-chat": () =>
        stage.ask(token, "/api/chat", { method: "POST", body: { session_id: "rules-chat", content: message } }),
      "rules-forged": () => {
        const forged = {
          type: "run",
          id: "1",
          session: "rules-forged",
          message,
          tools: { "*": "allow" },
          actor: "root",
        };
        return stage.ask(token, "/v1/sessions/rules-forged/commands", { method: "POST", body: forged });
      },
      "rules-control": () =>
        stage.talk("/v1/ws", [{ type: "run", id: "1", session: "rules-control", message }], headers),
      "rules-004": () => stage.talk("/agentOS/v1/ws_stream", [{ content: message, session_id: "rules-004" }], headers),
    };
    for (const [session, start] of Object.entries(ways))
      await attempt(session, async () => {
        await start();
        await expect.poll(async () => (await stage.log.listRuns(session))[0]?.status).toBe("completed");
        const kept = await stage.describe(session);
        expect(kept).toContain('"tool_denied"');
        expect(kept).not.toContain('"tool_approval"');
      });
    expect(stage.ran).toEqual([]);
  });

  itHolds("missing-scopes", "with rules for tools has no run go on that another began", async ({ attempt }) => {
    const token = makeWith(WORK, { tools: { remove: "deny" } });
    for (const body of [{ checkpoint_id: hers.checkpoint }, { after_event: 1000 }])
      await attempt(JSON.stringify(body), async () => {
        const way = { method: "POST", body: { ...body, session_id: "no-rules" } };
        expect((await stage.ask(token, `/v1/sessions/${HERS}/fork`, way)).status).toBe(403);
      });
    expect(await stage.log.getSession("no-rules")).toBeUndefined();
  });
});

describe("a link to a session", () => {
  const cookieOf = (link: string) => ({ cookie: `loom-share-${link.split("_")[2] ?? ""}=${link}` });

  itHolds("other-owners", "lets it be read, and nothing else be done", async ({ attempt }) => {
    const before = await stage.describe(HERS);
    for (const operation of DOORS) {
      // An image is somebody else's, and may be refused as such. A copy is read here and made elsewhere.
      const isRead = isShared(operation.action) && operation.id !== "forkSession" && operation.id !== "getImage";
      const isRefused = operation.id !== "getImage" && !isRead;
      // The run that is live would be told for as long as it waits.
      const path = operation.id === "resumeChat" ? `/api/chat?session_id=${HERS}&run=first` : undefined;
      const example = { ...exampleOf(operation), ...(path === undefined ? {} : { path }) };
      await attempt(operation.id, async () => {
        const byLink = await askAs(hers.link, example);
        const headers = { origin: stage.origin, ...example.headers, ...cookieOf(hers.link) };
        const byCookie = await askAs(undefined, { ...example, headers });
        if (isRead)
          expect([byLink, byCookie].map(({ status }) => status < 300 || status === 304)).toEqual([true, true]);
        // It is nobody who has the cookie; whoever shows the link is somebody who may not.
        if (isRefused) expect([byLink.status, byCookie.status]).toEqual([403, 401]);
      });
    }
    expect(await stage.describe(HERS)).toBe(before);
  });

  itHolds("other-owners", "knows of no other session", async ({ attempt }) => {
    await fillHers(stage, "other-session");
    for (const [id, ways] of Object.entries({ ...BY_PATH, ...BY_NAME })) {
      const operation = OPERATIONS.find((each) => each.id === id);
      if (operation === undefined || !isShared(operation.action) || id === "forkSession") continue;
      for (const [index, way] of ways("other-session", hers).entries())
        await attempt(`${id} ${way.path}`, async () => {
          const told = await askAs(hers.link, way);
          const missing = await askAs(hers.link, ways(MISSING, hers)[index] as Example);
          const unname = (text: string) => text.replaceAll("other-session", "<s>").replaceAll(MISSING, "<s>");
          expect([told.status, unname(told.text)]).toEqual([404, unname(missing.text)]);
          const headers = { ...way.headers, ...cookieOf(hers.link) };
          expect((await askAs(undefined, { ...way, headers })).status).toBe(401);
        });
    }
  });

  itHolds("other-owners", "lets a copy be made, and no run of it go on", async ({ attempt }) => {
    const { bob } = stage.tokens;
    const fork = (body: object) =>
      stage.ask(bob, `/v1/sessions/${HERS}/fork`, { method: "POST", body, headers: { ...cookieOf(hers.link) } });
    // With a token of his own the cookies of his browser do not count; signed in there, they do.
    await attempt("with a token", async () => expect((await fork({})).status).toBe(404));
    const signedIn = await stage.ask(undefined, "/v1/auth/sign-in", {
      method: "POST",
      body: { credential: bob },
      headers: { origin: stage.origin },
    });
    const [own = ""] = (signedIn.headers["set-cookie"] ?? "").split(";");
    const cookie = `${own}; ${cookieOf(hers.link).cookie}`;
    const forkIn = (body: object) =>
      stage.ask(undefined, `/v1/sessions/${HERS}/fork`, {
        method: "POST",
        body: { session_id: "bobs-copy", ...body },
        headers: { cookie, origin: stage.origin },
      });
    for (const body of [{ checkpoint_id: hers.checkpoint }, { after_event: 1000 }])
      await attempt(JSON.stringify(body), async () => expect((await forkIn(body)).status).toBe(403));
    expect(await stage.log.getSession("bobs-copy")).toBeUndefined();
    expect((await forkIn({})).status).toBe(201);
    expect(await stage.log.getSession("bobs-copy")).toMatchObject({ owner: "bob" });
  });

  itHolds("other-owners", "opens nothing when the session is deleted, and made anew", async ({ attempt }) => {
    const session = "once-shared";
    const { link } = await fillHers(stage, session);
    const { alice, bob } = stage.tokens;
    const path = `/v1/sessions/${session}`;
    const headers = cookieOf(link);
    expect((await stage.ask(link, path)).status).toBe(200);
    expect((await stage.ask(undefined, path, { headers })).status).toBe(200);
    expect((await stage.ask(alice, path, { method: "DELETE" })).status).toBe(204);
    await attempt("deleted", async () => expect([401, 404]).toContain((await stage.ask(link, path)).status));
    for (const token of [alice, bob]) {
      const body = { session_id: session, title: SECRET };
      await stage.askJson(token, "/v1/sessions", { method: "POST", body });
      await attempt("made anew", async () => {
        expect([401, 404]).toContain((await stage.ask(link, path)).status);
        expect((await stage.ask(undefined, path, { headers })).status).toBe(401);
        expect((await stage.ask(link, `${path}/events`)).text).not.toContain(SECRET);
      });
      await attempt("what was kept with it", async () => {
        const { blobs } = await stage.askJson(token, `${path}/blobs`);
        expect(blobs).toEqual([]);
      });
      expect((await stage.ask(token, path, { method: "DELETE" })).status).toBe(204);
    }
  });
});
