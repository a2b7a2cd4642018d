/**
 * Attacks from pages of other sites in a real browser: WebSockets, requests, forms, frames, windows and DNS rebinding.
 * The user is signed in to one server; the other has no authentication. The pages read nothing and change nothing.
 */
import type { Frame, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, vi } from "vitest";
import { hasChromium } from "../browser/launch.ts";
import { ABUSE_SAMPLES, type SampleOptions } from "../sampling.ts";
import {
  type AttackResults,
  type AttackInput,
  tryForms,
  tryLoads,
  tryRequests,
  trySockets,
} from "./browser-attacks.ts";
import {
  type BrowserFixture,
  type SeenRequest,
  createBrowserFixture,
  EVIL_HOSTS,
  type Target,
} from "./browser-fixture.ts";
import { canReachWindow, openWindow, embedInFrames, attackWindow } from "./browser-windows.ts";
import { type Attempts, testSlowThreat, testThreat } from "./test-threat.ts";

type AttackPage = readonly [name: string, path: string];

/** Same site as the servers, on another port: the browser sends cookies. */
const SAME_SITE_HOST = "localhost";
const OTHER_SITE: AttackPage = ["evil.example", "/"];
const SAME_SITE: AttackPage = [SAME_SITE_HOST, "/"];
const SANDBOXED: AttackPage = [SAME_SITE_HOST, "/sandboxed"];
const NO_REFERRER: AttackPage = [SAME_SITE_HOST, "/no-referrer"];
const PAGES = [OTHER_SITE, SAME_SITE, SANDBOXED, NO_REFERRER];
/** A refused page may read the refusal. */
const REFUSED =
  /^(?:read 403 (?:\{"type":"urn:loom:problem:forbidden","title":"[^"]*","status":403,.*|This host name is not allowed.*))?$/;
const ALL_HOSTS: readonly AttackPage[] = EVIL_HOSTS.map((site) => [site, "/"]);

describe.skipIf(!hasChromium)("pages of other sites (skipped without Chromium)", () => {
  let fixture: BrowserFixture;
  beforeAll(async () => {
    fixture = await createBrowserFixture();
  });
  afterAll(async () => {
    await fixture.close();
  });
  const listTargets = (): readonly Target[] => [fixture.open, fixture.guarded];
  /** The short run attacks one of the servers, in turn. */
  const chooseTargets = (index: number): readonly Target[] =>
    listTargets().filter((_, at) => ABUSE_SAMPLES.isWhole || at === index % 2);

  /** Expects that the page read nothing, that the server refused every request, and that nothing changed. */
  async function tryHere(
    { attempt }: Attempts,
    target: Target,
    [where, frame]: readonly [string, Frame],
    act: (input: AttackInput) => Promise<AttackResults>,
    /** What the page may read (default: nothing). */
    nothing = /^$/,
  ): Promise<readonly SeenRequest[]> {
    const before = await target.dumpState();
    const mark = target.seen.length;
    const got = await frame.evaluate(act, target.attackInput);
    for (const [tried, what] of Object.entries(got))
      await attempt(`${where}, ${target.name}: ${tried}`, () => expect(what).toMatch(nothing));
    await settle(target);
    const requests = target.seen.slice(mark);
    await attempt(`${where}, ${target.name}: every request was refused`, () =>
      expect(listAdmitted(requests)).toEqual([]),
    );
    await attempt(`${where}, ${target.name}: nothing changed`, async () =>
      expect(await target.dumpState()).toBe(before),
    );
    return requests;
  }

  async function tryEverywhere(
    attempts: Attempts,
    pages: readonly AttackPage[],
    act: (input: AttackInput) => Promise<AttackResults>,
    look: (requests: readonly SeenRequest[], target: Target, page: AttackPage) => void = () => undefined,
    options: SampleOptions<AttackPage> = {},
  ): Promise<void> {
    // The short run tries some pages, each with one of the servers.
    for (const page of attempts.sample(pages, options)) {
      const frame = await fixture.visit(...page);
      await Promise.all(
        chooseTargets(pages.indexOf(page)).map(async (target) =>
          look(await tryHere(attempts, target, [page.join(""), frame], act), target, page),
        ),
      );
      await frame.page().close();
    }
  }

  testThreat("socket-hijack", "cannot open a WebSocket under any host name", (attempts) =>
    tryEverywhere(attempts, [SANDBOXED, NO_REFERRER, ...ALL_HOSTS], trySockets),
  );

  testThreat("csrf", "cannot change anything or read a response with any kind of request", (attempts) =>
    tryEverywhere(
      attempts,
      PAGES,
      tryRequests,
      (requests, target, [name, path]) => {
        // The requests did arrive, and those of the same site carried the cookie of the signed-in user.
        expect(requests.length).toBeGreaterThan(50);
        const cookies = requests.filter(({ headers }) => headers.cookie?.includes(`loom-session-${target.port}`));
        expect(cookies.length > 20).toBe(
          target === fixture.guarded && name === SAME_SITE_HOST && path !== "/sandboxed",
        );
      },
      // The page whose requests carry the cookie, and another one.
      { kindOf: (page) => String(page === SAME_SITE) },
    ),
  );

  testSlowThreat("csrf", "cannot change anything with forms", (attempts) =>
    tryEverywhere(attempts, [OTHER_SITE, SAME_SITE, NO_REFERRER], tryForms, (requests) =>
      expect(requests.length).toBeGreaterThan(16),
    ),
  );

  testThreat("foreign-origins", "cannot load responses as images, scripts, styles, streams or workers", (attempts) =>
    tryEverywhere(attempts, [OTHER_SITE, SAME_SITE, SANDBOXED], tryLoads, (requests) =>
      expect(requests.length).toBeGreaterThan(20),
    ),
  );

  testSlowThreat("foreign-origins", "can do all of this if the server allows their origin", async ({ attempt }) => {
    const { permissive } = fixture;
    const frame = await fixture.visit("evil.example");
    const before = await permissive.dumpState();
    const find = async (act: (input: AttackInput) => Promise<AttackResults>): Promise<readonly string[]> => {
      const got = await frame.evaluate(act, permissive.attackInput);
      return Object.entries(got).flatMap(([tried, what]) => (what === "" ? [] : [tried]));
    };
    await attempt("sockets", async () => expect(await find(trySockets)).toHaveLength(5));
    await attempt("requests", async () => {
      expect((await find(tryRequests)).length).toBeGreaterThan(20);
      await vi.waitFor(async () => expect(await permissive.dumpState()).not.toBe(before));
      expect(permissive.ran).not.toEqual([]);
    });
    await attempt("streams", async () => {
      expect(await find(tryLoads)).toEqual(expect.arrayContaining(["fetch in a worker", "XMLHttpRequest"]));
    });
    await frame.page().close();
  });

  testSlowThreat("dns-rebinding", "cannot use host names that resolve to the server", async (attempts) => {
    // In a rebinding attack, the page comes from the attacker's server, and then its host name resolves to ours. Here
    // our refusal takes the role of that page: it has the same origin, and its CSP is bypassed.
    const context = await fixture.browser.newContext({ bypassCSP: true });
    const tryName = async (target: Target, name: string): Promise<void> => {
      const page = await context.newPage();
      const base = `http://${name}:${target.port}`;
      for (const path of [`/v1/sessions/${target.attackInput.session}/export`, "/v1/sessions", "/"])
        await attempts.attempt(`${name}, ${target.name}: ${path} as a page`, async () =>
          expect((await page.goto(base + path))?.status()).toBe(403),
        );
      const moved = { ...target, attackInput: { ...target.attackInput, base } };
      const at = [`${name}, rebound`, page.mainFrame()] as const;
      await tryHere(attempts, moved, at, trySockets);
      if (name === "evil.example" || name === "evil.localhost")
        expect((await tryHere(attempts, moved, at, tryRequests, REFUSED)).length).toBeGreaterThan(50);
      await page.close();
    };
    const kindOf = (name: string): string => String(name.startsWith("evil."));
    const names = ["evil.example", "localhost.evil.example", "evil-localhost", "evil.localhost"];
    for (const [index, name] of attempts.sample(names, { kindOf }).entries())
      await Promise.all(chooseTargets(index).map((target) => tryName(target, name)));
    await context.close();
  });

  testThreat("clickjacking", "cannot embed the server in a frame", async ({ attempt, sample }) => {
    const pages = sample([OTHER_SITE, SAME_SITE, SANDBOXED]);
    for (const [index, [name, path]] of pages.entries()) {
      const frame = await fixture.visit(name, path);
      const mine = `http://${name}:${fixture.evil.port}/`;
      for (const target of chooseTargets(index)) {
        const { base, session, blob } = target.attackInput;
        const paths = ["/", "/v1/auth", `/v1/sessions/${session}/blobs/${blob}`];
        const shown = await embedInFrames(frame, [mine, ...paths.map((each) => base + each)]);
        for (const { tag, address, url } of shown)
          await attempt(`${name}${path}, ${target.name}: ${tag} of ${address}`, () => {
            // The attacker's own page is shown, which proves that the check works.
            if (address === mine) expect(url).toBe(mine);
            else expect(url).toMatch(/^(?:chrome-error:|about:blank$|$)/);
          });
      }
      await frame.page().close();
    }
  });

  testSlowThreat("clickjacking", "cannot control a window of the server", async ({ attempt, sample }) => {
    for (const [index, name] of sample([SAME_SITE_HOST, "evil.example"]).entries())
      for (const target of chooseTargets(index + 1)) {
        const frame = await fixture.visit(name);
        const { base, session } = target.attackInput;
        const before = await target.dumpState();
        const mark = target.seen.length;
        for (const path of ["/", `/v1/sessions/${session}/export`]) {
          const opened = await openWindow(frame, base + path);
          await attempt(`${name}, ${target.name}: a window of ${path}`, async () => {
            // The browser needs a moment to separate the windows.
            await vi.waitFor(async () => expect(await frame.evaluate(canReachWindow)).toBe(false), { timeout: 3000 });
            const found = await frame.evaluate(attackWindow, base);
            expect(found).toEqual({ isClosed: true, frames: 0, read: "" });
            expect(await opened.evaluate(() => globalThis.opener === null)).toBe(true);
            expect(await opened.evaluate(() => "moved" in globalThis || document.title === "moved")).toBe(false);
          });
          await opened.close();
        }
        // The attacker's own window stays reachable, which proves that the check works.
        const mine = await openWindow(frame, `http://${name}:${fixture.evil.port}/`);
        expect(await frame.evaluate(attackWindow, base)).toMatchObject({ isClosed: false });
        await mine.close();
        await attempt(`${name}, ${target.name}: only the page was served`, async () => {
          const foreign = target.seen.slice(mark).filter(({ headers }) => headers["sec-fetch-site"] !== "same-origin");
          expect(listAdmitted(foreign)).toEqual([expect.stringMatching(/^GET \/ (?:200|304)$/)]);
          expect(await target.dumpState()).toBe(before);
        });
        await frame.page().close();
      }
  });

  testThreat("csrf", "cannot read or replace the session cookie", async ({ attempt }) => {
    const { guarded, context } = fixture;
    const { base, credential } = guarded.attackInput;
    const own = await context.newPage();
    await own.goto(`${base}/`);
    const readCookies = async (page: Page): Promise<readonly string[]> =>
      page.evaluate(async () => [document.cookie, JSON.stringify(await globalThis.cookieStore?.getAll())]);
    const readAuth = (): Promise<{ readonly owner?: string }> =>
      own.evaluate(async () => (await fetch("/v1/auth")).json() as Promise<{ readonly owner?: string }>);
    expect(await readAuth()).toMatchObject({ owner: "ann" });
    await attempt("the server's own page", async () => expect(await readCookies(own)).toEqual(["", "[]"]));
    const frame = await fixture.visit(SAME_SITE_HOST);
    await attempt("a page of the same site", async () => expect(await readCookies(frame.page())).toEqual(["", "[]"]));
    const [mine] = await context.cookies(base);
    expect(mine).toMatchObject({ name: `loom-session-${guarded.port}`, httpOnly: true, sameSite: "Strict" });
    // A valid cookie of the attacker, with which the user would work in the attacker's account.
    const response = await fetch(`http://127.0.0.1:${guarded.port}/v1/auth/sign-in`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ credential }),
    });
    const theirs = response.headers.getSetCookie()[0]?.split(";")[0]?.split("=")[1] ?? "";
    expect(theirs).toMatch(/^loom_ses_/);
    for (const rest of ["path=/", "path=/v1", "path=/v1/auth", "path=/v1; domain=localhost", "path=/; max-age=0"])
      await attempt(`a cookie set by a page of the same site: ${rest}`, async () => {
        await frame.evaluate((text) => void (document.cookie = text), `${mine?.name}=${theirs}; ${rest}`);
        expect((await readAuth()).owner).not.toBe("eve");
      });
    // The foreign cookie may hide the real one, but it is never accepted.
    await context.clearCookies();
    await context.addCookies([mine!]);
    expect(await readAuth()).toMatchObject({ owner: "ann" });
    await own.close();
    await frame.page().close();
  });

  testSlowThreat(
    "secrets-in-logs",
    "cannot find the secret of an opened share link in URLs, referrers or storage",
    async (attempts) => {
      const { guarded, browser } = fixture;
      const { session } = guarded.attackInput;
      const { secret, url } = await guarded.ask(`/v1/sessions/${session}/shares`, {});
      const context = await browser.newContext();
      const page = await context.newPage();
      const mark = guarded.seen.length;
      await page.goto((url as string).replace("127.0.0.1", "localhost"));
      await page.locator("[data-turn]").first().waitFor();
      const held = await page.evaluate(() => ({
        URL: document.URL,
        "history state": JSON.stringify(history.state),
        "document.cookie": document.cookie,
        "browser storage": JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)]),
      }));
      const requests = guarded.seen.slice(mark);
      expect(requests.some(({ line }) => line.includes("/sign-in"))).toBe(true);
      const bare = (secret as string).slice(22);
      const pages: { readonly [name: string]: string } = {
        ...held,
        "requested URLs": requests.map(({ line }) => line).join(" "),
        Referer: requests.map(({ headers }) => headers.referer ?? "").join(" "),
      };
      for (const [name, text] of Object.entries(pages))
        await attempts.attempt(name, () => expect(text).not.toContain(bare));
      await attempts.attempt("history entry before the current page", async () => {
        await page.goto(`http://${SAME_SITE_HOST}:${fixture.evil.port}/`);
        expect(await page.evaluate(() => document.referrer)).toBe("");
        await page.goBack();
        expect(page.url()).not.toContain(bare);
      });
      await context.close();
    },
  );

  testSlowThreat("csrf", "do not affect what the server's own page can do", async ({ attempt }) => {
    for (const target of listTargets())
      await attempt(target.name, async () => {
        const { base, session, call } = target.attackInput;
        expect(target.ran).toEqual([]);
        const page = await fixture.context.newPage();
        await page.goto(`${base}/`);
        const status = await page.evaluate(async (path) => {
          const headers = { "content-type": "application/json" };
          const response = await fetch(path, { method: "POST", headers, body: '{"decision":"approved"}' });
          return response.status;
        }, `/v1/sessions/${session}/approvals/${call}`);
        expect(status).toBeLessThan(300);
        await vi.waitFor(() => expect(target.ran).toEqual([["remove", { path: "everything" }]]));
        await page.close();
      });
  });
});

function listAdmitted(requests: readonly SeenRequest[]): readonly string[] {
  return requests.filter(({ status }) => status < 400).map(({ line, status }) => `${line} ${status}`);
}

/** Waits until no more requests arrive. Beacons and keepalive requests arrive later. */
async function settle({ seen }: Target): Promise<void> {
  let count = -1;
  while (count !== seen.length) {
    count = seen.length;
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
}
