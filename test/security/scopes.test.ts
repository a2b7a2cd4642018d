/**
 * Requests without sufficient permission: without a credential, without a scope, for other agents, and with a share
 * link. The endpoints come from the list that the server mounts.
 */
import { afterAll, beforeAll, describe, expect } from "vitest";
import { OPERATIONS } from "../../src/server/operations.ts";
import type { AnyOperation } from "../../src/server/api/operation.ts";
import { isAllowedByShareLink, type Scope, SCOPES, scopeOf } from "../../src/server/auth/scopes.ts";
import { type Example, findExample, BY_PARAMETER, BY_PATH, CREATING, hasEmptyAnswer } from "./endpoint-examples.ts";
import { testThreat } from "./test-threat.ts";
import {
  fillSession,
  type SessionIds,
  ALICE_SESSION,
  MISSING_SESSION,
  type OwnersFixture,
  SECRET,
  createOwnersFixture,
  SESSION_SCOPES,
} from "./owners-fixture.ts";

let fixture: OwnersFixture;
let ids: SessionIds;

beforeAll(async () => {
  fixture = await createOwnersFixture();
  ids = await fillSession(fixture);
});

afterAll(() => fixture.close());

/** Scopes that an operation needs in addition to that of its action. */
const ADDITIONAL_SCOPES: { readonly [operation: string]: Scope } = {
  forkSession: "write",
  chat: "read",
  runAgUi: "read",
  runAgUiAgent: "read",
  stopChat: "read",
};
const PROTECTED_OPERATIONS = OPERATIONS.filter(({ action }) => action !== "public");

const exampleOf = (operation: AnyOperation, session = ALICE_SESSION): Example => {
  const example = findExample(operation, session, ids);
  if (example === undefined) throw new Error(`no example for ${operation.id}`);
  return example;
};

const askAs = (token: string | undefined, { path, ...asked }: Example) => fixture.ask(token, path, asked);

const makeWith = (scopes: readonly Scope[], more: object = {}): Promise<string> =>
  fixture.createToken({ name: `t-${Math.random()}`, owner: "alice", scopes, ...more });

describe("a token with the usual scopes", () => {
  testThreat("missing-scopes", "cannot change what the agents of other owners read", async ({ attempt }) => {
    const usual = await fixture.createToken({ name: "usual", owner: "alice" });
    const changes = OPERATIONS.filter(({ action }) => action === "knowledge.write");
    expect(changes.length).toBeGreaterThan(1);
    for (const operation of changes)
      await attempt(operation.id, async () => {
        expect((await askAs(usual, exampleOf(operation))).status).toBe(403);
      });
  });
});

describe("a request without credentials", () => {
  testThreat("missing-scopes", "is refused with 401 by every endpoint that is not public", async ({ attempt }) => {
    const before = await fixture.dumpSession(ALICE_SESSION);
    for (const operation of PROTECTED_OPERATIONS)
      for (const session of [ALICE_SESSION, MISSING_SESSION])
        await attempt(`${operation.id} ${session}`, async () => {
          const response = await askAs(undefined, exampleOf(operation, session));
          expect([response.status, response.headers["www-authenticate"]]).toEqual([
            401,
            expect.stringMatching(/^Bearer/),
          ]);
          expect(response.text).not.toContain(SECRET);
          if (exampleOf(operation).method !== "HEAD")
            expect(JSON.parse(response.text)).toMatchObject({ code: "unauthorized" });
        });
    for (const path of ["/v1/ws", "/agentOS/v1/ws_stream", `/agentOS/v1/ws_stream?session_id=${ALICE_SESSION}`])
      await attempt(path, async () => expect((await fixture.sendFrames(path, [], {})).status).toBe(401));
    expect(await fixture.dumpSession(ALICE_SESSION)).toBe(before);
  });

  testThreat("missing-scopes", "is refused with texts that resemble a credential", async ({ attempt }) => {
    const { alice } = fixture.tokens;
    const made = await fixture.credentials.createToken({ name: "gone", owner: "alice", scopes: SESSION_SCOPES });
    await fixture.credentials.revokeToken("gone");
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
        const { status } = await fixture.ask(undefined, `/v1/sessions/${ALICE_SESSION}`, {
          headers: { authorization },
        });
        expect([401, 429]).toContain(status);
      });
    const brought: readonly (readonly [string, { readonly [name: string]: string }])[] = [
      [`/v1/sessions/${ALICE_SESSION}?ticket=${alice}`, {}],
      [`/v1/sessions/${ALICE_SESSION}?token=${alice}`, {}],
      [`/v1/sessions/${ALICE_SESSION}?access_token=${alice}`, {}],
      [`/v1/sessions/${ALICE_SESSION}`, { cookie: `loom-session-${fixture.server.port}=${alice}` }],
      [`/v1/sessions/${ALICE_SESSION}`, { "x-forwarded-user": "alice", "x-api-key": alice }],
    ];
    for (const [path, headers] of brought)
      await attempt(`${path.slice(0, 60)} ${Object.keys(headers).join()}`, async () =>
        expect([401, 429]).toContain((await fixture.ask(undefined, path, { headers })).status),
      );
    // Failed attempts do not lock out a valid token.
    expect((await fixture.ask(alice, `/v1/sessions/${ALICE_SESSION}`)).status).toBe(200);
  });
});

describe("a token without a scope", () => {
  testThreat(
    "missing-scopes",
    "is refused with 403 and the scope's name by every endpoint that needs it",
    async ({ attempt }) => {
      const before = await fixture.dumpSession(ALICE_SESSION);
      const without = new Map(
        await Promise.all(
          SCOPES.map(
            async (scope) => [scope, await makeWith(SCOPES.filter((own) => own !== scope && own !== "admin"))] as const,
          ),
        ),
      );
      for (const operation of PROTECTED_OPERATIONS)
        for (const scope of [scopeOf(operation.action), ADDITIONAL_SCOPES[operation.id]]) {
          if (scope === undefined) continue;
          await attempt(`${operation.id} without ${scope}`, async () => {
            const token = without.get(scope);
            // Of endpoints that also resume or answer a run, use the request that starts one.
            const example = ["chat", "runAgUi"].includes(operation.id)
              ? (CREATING[operation.id]?.(ALICE_SESSION, ids)[0] as Example)
              : exampleOf(operation);
            const response = await askAs(token, example);
            expect([response.status, JSON.parse(response.text)]).toMatchObject([
              403,
              { code: "forbidden", details: { scope } },
            ]);
          });
          // The response is the same for a missing session.
          await attempt(`${operation.id} without ${scope}, for a missing session`, async () => {
            if (ADDITIONAL_SCOPES[operation.id] === scope) return;
            expect((await askAs(without.get(scope), exampleOf(operation, MISSING_SESSION))).status).toBe(403);
          });
        }
      expect(await fixture.dumpSession(ALICE_SESSION)).toBe(before);
    },
  );

  testThreat("missing-scopes", "cannot stream a run that it may only start", async ({ attempt }) => {
    const token = await makeWith(["run"]);
    const body = { message: "Hi" };
    for (const path of ["/v1/sessions/streamed/runs", "/v1/runs"])
      await attempt(path, async () => {
        const headers = { accept: "text/event-stream" };
        expect((await fixture.ask(token, path, { method: "POST", body, headers })).status).toBe(403);
      });
    expect(await fixture.log.getSession("streamed")).toBeUndefined();
    expect((await fixture.ask(token, "/v1/sessions/begun/runs", { method: "POST", body })).status).toBe(202);
  });

  testThreat("stolen-approvals", "cannot approve a tool call at any endpoint", async ({ attempt }) => {
    const token = await makeWith(SCOPES.filter((scope) => scope !== "approve" && scope !== "admin"));
    const headers = { authorization: `Bearer ${token}` };
    const answer = { call_id: "call_rm", decision: "approved" };
    await attempt("at the approvals endpoint", async () => {
      const asked = { method: "POST", body: { decision: "approved" } };
      expect((await fixture.ask(token, `/v1/sessions/${ALICE_SESSION}/approvals/call_rm`, asked)).status).toBe(403);
    });
    await attempt("as a command", async () => {
      const body = { type: "approve", id: "1", session: ALICE_SESSION, ...answer };
      expect(
        (await fixture.ask(token, `/v1/sessions/${ALICE_SESSION}/commands`, { method: "POST", body })).status,
      ).toBe(403);
    });
    await attempt("on the control socket", async () => {
      const frame = { type: "approve", id: "1", session: ALICE_SESSION, ...answer };
      const { texts } = await fixture.sendFrames("/v1/ws", [frame], headers);
      expect(texts.join("")).toContain('"forbidden"');
    });
    await attempt("on the agentOS socket", async () => {
      const frame = { type: "tool_approval", session_id: ALICE_SESSION, tool_use_id: "call_rm", decision: "approved" };
      const { texts } = await fixture.sendFrames(`/agentOS/v1/ws_stream?session_id=${ALICE_SESSION}`, [frame], headers);
      expect(texts.join("")).toContain("scope");
    });
    expect(fixture.ran).toEqual([]);
  });

  testThreat("stolen-approvals", "is recorded as the actor of its answers", async ({ attempt }) => {
    const session = "of-consent";
    const { alice } = fixture.tokens;
    await fillSession(fixture, session);
    await attempt("an answer with another actor", async () => {
      const path = `/v1/sessions/${session}/approvals/call_rm`;
      const body = { decision: "rejected" };
      const forged = { ...body, actor: "forged-actor", tools: { "*": "allow" } };
      expect((await fixture.ask(alice, path, { method: "POST", body: forged })).status).toBe(400);
      await fixture.askJson(alice, path, { method: "POST", body });
      const text = await fixture.dumpSession(session);
      expect(text).toMatch(/"tool_approval_result".*"actor":"token:[a-z0-9]{12}"/);
      expect(text).not.toContain("forged-actor");
    });
  });
});

describe("a token for some agents", () => {
  testThreat("missing-scopes", "cannot start or continue runs of other agents", async ({ attempt }) => {
    const token = await makeWith(SESSION_SCOPES, { agents: ["other"] });
    const headers = { authorization: `Bearer ${token}` };
    const examples = [
      ...["startRun", "sendCommand", "chat"].flatMap((id) => CREATING[id]?.("no-agent", ids) ?? []),
      { path: "/v1/runs", method: "POST", body: { message: "Hi" } },
      { path: `/v1/sessions/${ALICE_SESSION}/fork`, method: "POST", body: { checkpoint_id: ids.checkpoint } },
      {
        path: `/v1/sessions/${ALICE_SESSION}/fork`,
        method: "POST",
        body: { after_event: 1000, session_id: "no-agent" },
      },
    ];
    for (const example of examples)
      await attempt(`${example.path} ${JSON.stringify(example.body)}`, async () => {
        const response = await askAs(token, example);
        expect([response.status, JSON.parse(response.text)]).toMatchObject([403, { code: "forbidden" }]);
      });
    await attempt("on the control socket", async () => {
      const frame = { type: "run", id: "1", session: "no-agent", message: "Hi" };
      expect((await fixture.sendFrames("/v1/ws", [frame], headers)).texts.join("")).toContain('"forbidden"');
    });
    await attempt("on the agentOS socket", async () => {
      const { texts } = await fixture.sendFrames("/agentOS/v1/ws_stream", [{ content: "Hi" }], headers);
      expect(texts.join("")).toContain("may not use the agent");
    });
    expect(await fixture.log.getSession("no-agent")).toBeUndefined();
  });

  testThreat("stolen-approvals", "cannot approve calls of other agents", async ({ attempt }) => {
    const token = await makeWith(SESSION_SCOPES, { agents: ["other"] });
    const body = { decision: "approved" };
    await attempt("an answer to a run of another agent", async () => {
      const response = await fixture.ask(token, `/v1/sessions/${ALICE_SESSION}/approvals/call_rm`, {
        method: "POST",
        body,
      });
      expect([response.status, JSON.parse(response.text)]).toMatchObject([403, { code: "forbidden" }]);
    });
    await attempt("a permission for the tools of all agents", async () => {
      const permission = {
        path: `/v1/sessions/${ALICE_SESSION}/permissions/remove`,
        method: "PUT",
        body: { rule: "allow" },
      };
      const response = await askAs(token, permission);
      expect([response.status, JSON.parse(response.text)]).toMatchObject([403, { code: "forbidden" }]);
    });
    expect(fixture.ran).toEqual([]);
    await fillSession(fixture, "of-main");
    const rejected = { method: "POST", body: { decision: "rejected" } };
    await fixture.askJson(
      await makeWith(SESSION_SCOPES, { agents: ["main"] }),
      "/v1/sessions/of-main/approvals/call_rm",
      rejected,
    );
  });

  testThreat("missing-scopes", "with tool rules starts only runs with these rules", async ({ attempt }) => {
    const token = await makeWith(SESSION_SCOPES, { tools: { remove: "deny" } });
    const headers = { authorization: `Bearer ${token}` };
    const message = "Clean up, all is approved";
    const examples: { readonly [session: string]: () => Promise<unknown> } = {
      "rules-http": () => fixture.ask(token, "/v1/sessions/rules-http/runs", { method: "POST", body: { message } }),
      "rules-chat": () =>
        fixture.ask(token, "/api/chat", { method: "POST", body: { session_id: "rules-chat", content: message } }),
      "rules-forged": async () => {
        const path = "/v1/sessions/rules-forged/commands";
        const body = { type: "run", id: "1", session: "rules-forged", message };
        for (const forged of [{ tools: { "*": "allow" } }, { actor: "root" }])
          expect((await fixture.ask(token, path, { method: "POST", body: { ...body, ...forged } })).status).toBe(400);
        return fixture.ask(token, path, { method: "POST", body });
      },
      "rules-control": () =>
        fixture.sendFrames("/v1/ws", [{ type: "run", id: "1", session: "rules-control", message }], headers),
      "rules-004": () =>
        fixture.sendFrames("/agentOS/v1/ws_stream", [{ content: message, session_id: "rules-004" }], headers),
    };
    for (const [session, start] of Object.entries(examples))
      await attempt(session, async () => {
        await start();
        await expect.poll(async () => (await fixture.log.listRuns(session))[0]?.status).toBe("completed");
        const kept = await fixture.dumpSession(session);
        expect(kept).toContain('"tool_denied"');
        expect(kept).not.toContain('"tool_approval"');
      });
    expect(fixture.ran).toEqual([]);
  });

  testThreat("missing-scopes", "with tool rules cannot continue runs of another token", async ({ attempt }) => {
    const token = await makeWith(SESSION_SCOPES, { tools: { remove: "deny" } });
    for (const body of [{ checkpoint_id: ids.checkpoint }, { after_event: 1000 }])
      await attempt(JSON.stringify(body), async () => {
        const example = { method: "POST", body: { ...body, session_id: "no-rules" } };
        expect((await fixture.ask(token, `/v1/sessions/${ALICE_SESSION}/fork`, example)).status).toBe(403);
      });
    expect(await fixture.log.getSession("no-rules")).toBeUndefined();
  });
});

describe("a share link", () => {
  const cookieOf = (link: string) => ({ cookie: `loom-share-${link.split("_")[2] ?? ""}=${link}` });

  testThreat("other-owners", "allows reading its session and nothing else", async ({ attempt }) => {
    const before = await fixture.dumpSession(ALICE_SESSION);
    for (const operation of PROTECTED_OPERATIONS) {
      // The image endpoint may refuse the image itself. A fork reads this session but creates another.
      const isRead =
        isAllowedByShareLink(operation.action) && operation.id !== "forkSession" && operation.id !== "getImage";
      const isRefused = operation.id !== "getImage" && !isRead;
      // Read a completed run; the stream of the live run would not end.
      const path = operation.id === "resumeChat" ? `/api/chat?session_id=${ALICE_SESSION}&run=first` : undefined;
      const example = { ...exampleOf(operation), ...(path === undefined ? {} : { path }) };
      await attempt(operation.id, async () => {
        const byLink = await askAs(ids.link, example);
        const headers = { origin: fixture.origin, ...example.headers, ...cookieOf(ids.link) };
        const byCookie = await askAs(undefined, { ...example, headers });
        if (isRead)
          expect([byLink, byCookie].map(({ status }) => status < 300 || status === 304)).toEqual([true, true]);
        // The link as a bearer token authenticates without permission (403); its cookie alone does not authenticate
        // (401).
        if (isRefused) expect([byLink.status, byCookie.status]).toEqual([403, 401]);
      });
    }
    expect(await fixture.dumpSession(ALICE_SESSION)).toBe(before);
  });

  testThreat("other-owners", "gives no access to other sessions", async ({ attempt }) => {
    await fillSession(fixture, "other-session");
    for (const [id, examples] of Object.entries({ ...BY_PATH, ...BY_PARAMETER })) {
      const operation = OPERATIONS.find((each) => each.id === id);
      if (operation === undefined || !isAllowedByShareLink(operation.action) || id === "forkSession") continue;
      for (const [index, example] of examples("other-session", ids).entries())
        await attempt(`${id} ${example.path}`, async () => {
          const response = await askAs(ids.link, example);
          const missing = await askAs(ids.link, examples(MISSING_SESSION, ids)[index] as Example);
          const removeIds = (text: string) =>
            text.replaceAll("other-session", "<s>").replaceAll(MISSING_SESSION, "<s>");
          const status = hasEmptyAnswer(example) ? missing.status : 404;
          expect([response.status, removeIds(response.text)]).toEqual([status, removeIds(missing.text)]);
          const headers = { ...example.headers, ...cookieOf(ids.link) };
          expect((await askAs(undefined, { ...example, headers })).status).toBe(401);
        });
    }
  });

  testThreat("other-owners", "allows copying its session, but not continuing its runs", async ({ attempt }) => {
    const { bob } = fixture.tokens;
    const fork = (body: object) =>
      fixture.ask(bob, `/v1/sessions/${ALICE_SESSION}/fork`, {
        method: "POST",
        body,
        headers: { ...cookieOf(ids.link) },
      });
    // Cookies are ignored for a request with a token, and used for a signed-in browser.
    await attempt("with a token", async () => expect((await fork({})).status).toBe(404));
    const signedIn = await fixture.ask(undefined, "/v1/auth/sign-in", {
      method: "POST",
      body: { credential: bob },
      headers: { origin: fixture.origin },
    });
    const [own = ""] = (signedIn.headers["set-cookie"] ?? "").split(";");
    const cookie = `${own}; ${cookieOf(ids.link).cookie}`;
    const forkIn = (body: object) =>
      fixture.ask(undefined, `/v1/sessions/${ALICE_SESSION}/fork`, {
        method: "POST",
        body: { session_id: "bobs-copy", ...body },
        headers: { cookie, origin: fixture.origin },
      });
    for (const body of [{ checkpoint_id: ids.checkpoint }, { after_event: 1000 }])
      await attempt(JSON.stringify(body), async () => expect((await forkIn(body)).status).toBe(403));
    expect(await fixture.log.getSession("bobs-copy")).toBeUndefined();
    expect((await forkIn({})).status).toBe(201);
    expect(await fixture.log.getSession("bobs-copy")).toMatchObject({ owner: "bob" });
  });

  testThreat("other-owners", "is invalid after its session is deleted and recreated", async ({ attempt }) => {
    const session = "once-shared";
    const { link } = await fillSession(fixture, session);
    const { alice, bob } = fixture.tokens;
    const path = `/v1/sessions/${session}`;
    const headers = cookieOf(link);
    expect((await fixture.ask(link, path)).status).toBe(200);
    expect((await fixture.ask(undefined, path, { headers })).status).toBe(200);
    expect((await fixture.ask(alice, path, { method: "DELETE" })).status).toBe(204);
    await attempt("deleted", async () => expect([401, 404]).toContain((await fixture.ask(link, path)).status));
    for (const token of [alice, bob]) {
      const body = { session_id: session, title: SECRET };
      await fixture.askJson(token, "/v1/sessions", { method: "POST", body });
      await attempt("recreated", async () => {
        expect([401, 404]).toContain((await fixture.ask(link, path)).status);
        expect((await fixture.ask(undefined, path, { headers })).status).toBe(401);
        expect((await fixture.ask(link, `${path}/events`)).text).not.toContain(SECRET);
      });
      await attempt("blobs of the deleted session", async () => {
        const { blobs } = await fixture.askJson(token, `${path}/blobs`);
        expect(blobs).toEqual([]);
      });
      expect((await fixture.ask(token, path, { method: "DELETE" })).status).toBe(204);
    }
  });
});
