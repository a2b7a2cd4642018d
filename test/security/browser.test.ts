/**
 * What pages of other sites try from a real browser, in which somebody is signed in to one server, and which reaches
 * another that asks nobody: sockets, requests, forms, frames, windows, names that lead astray. None of it reads anything,
 * and none of it changes anything.
 */
import type { Frame, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, vi } from "vitest";
import { hasChromium } from "../browser/launch.ts";
import { ABUSE_SAMPLES } from "../sampling.ts";
import { type Got, type Prey, tryForms, tryLoads, tryRequests, trySockets } from "./browser-attacks.ts";
import { type BrowserStage, type Seen, setBrowserStage, SITES, type Target } from "./browser-stage.ts";
import { isHeld, openWindow, showFrames, tryWindow } from "./browser-windows.ts";
import { type Attempts, itHolds } from "./it-holds.ts";

type Place = readonly [name: string, path: string];

/** Of the same site as the servers: browsers send it the cookies. */
const NEIGHBOUR = "localhost";
const STRANGER: Place = ["evil.example", "/"];
const BESIDE: Place = [NEIGHBOUR, "/"];
const BOXED: Place = [NEIGHBOUR, "/boxed"];
const QUIET: Place = [NEIGHBOUR, "/quiet"];
const PLACES = [STRANGER, BESIDE, BOXED, QUIET];
/** A page that was refused may read that. */
const REFUSED = /^(?:it read 403 \{"type":"urn:loom:problem:forbidden","title":"[^"]*","status":403,.*)?$/;
/** In the short run, of those that are tried. */
const MOST_PLACES = 2;
const NAMED: readonly Place[] = SITES.map((site) => [site, "/"]);

describe.skipIf(!hasChromium)("pages of others (skipped where there is no Chromium)", () => {
  let stage: BrowserStage;
  beforeAll(async () => {
    stage = await setBrowserStage();
  });
  afterAll(async () => {
    await stage.close();
  });
  const listTargets = (): readonly Target[] => [stage.open, stage.guarded];

  /** Nothing was read in the page, all that came was refused, and nothing is otherwise than it was. */
  async function tryHere(
    { attempt }: Attempts,
    target: Target,
    [where, frame]: readonly [string, Frame],
    act: (prey: Prey) => Promise<Got>,
    /** What they may learn: nothing, unless they are asked under their own name. */
    nothing = /^$/,
  ): Promise<readonly Seen[]> {
    const before = await target.describe();
    const mark = target.seen.length;
    const got = await frame.evaluate(act, target.prey);
    for (const [tried, what] of Object.entries(got))
      await attempt(`${where}, ${target.name}: ${tried}`, () => expect(what).toMatch(nothing));
    await settle(target);
    const came = target.seen.slice(mark);
    await attempt(`${where}, ${target.name}: what came was refused`, () => expect(listAdmitted(came)).toEqual([]));
    await attempt(`${where}, ${target.name}: nothing has changed`, async () =>
      expect(await target.describe()).toBe(before),
    );
    return came;
  }

  async function tryEverywhere(
    attempts: Attempts,
    places: readonly Place[],
    act: (prey: Prey) => Promise<Got>,
    look: (came: readonly Seen[], target: Target, place: Place) => void = () => undefined,
  ): Promise<void> {
    // In the short run only some places, each with one of the servers.
    const chosen = ABUSE_SAMPLES.isWhole ? places : places.slice(0, MOST_PLACES);
    for (const [index, place] of chosen.entries()) {
      const frame = await stage.visit(...place);
      const targets = listTargets().filter((_, at) => ABUSE_SAMPLES.isWhole || at === index % 2);
      await Promise.all(
        targets.map(async (target) =>
          look(await tryHere(attempts, target, [place.join(""), frame], act), target, place),
        ),
      );
      await frame.page().close();
    }
  }

  itHolds("socket-hijack", "open no socket, whatever their name is", (attempts) =>
    tryEverywhere(attempts, [BOXED, QUIET, ...NAMED], trySockets),
  );

  itHolds("csrf", "change nothing by requests of any kind, and read no answer", (attempts) =>
    tryEverywhere(attempts, PLACES, tryRequests, (came, target, [name, path]) => {
      // They did come; what the neighbour makes the browser send has the cookie of whoever is signed in.
      expect(came.length).toBeGreaterThan(50);
      const cookies = came.filter(({ headers }) => headers.cookie?.includes(`loom-session-${target.port}`));
      expect(cookies.length > 20).toBe(target === stage.guarded && name === NEIGHBOUR && path !== "/boxed");
    }),
  );

  itHolds("csrf", "change nothing by forms", (attempts) =>
    tryEverywhere(attempts, [STRANGER, BESIDE, QUIET], tryForms, (came) => expect(came.length).toBeGreaterThan(16)),
  );

  itHolds("foreign-origins", "load nothing, as a picture, a script, a style, a stream or a worker", (attempts) =>
    tryEverywhere(attempts, [STRANGER, BESIDE, BOXED], tryLoads, (came) => expect(came.length).toBeGreaterThan(20)),
  );

  itHolds("foreign-origins", "would do all that where they were let in", async ({ attempt }) => {
    const { careless } = stage;
    const frame = await stage.visit("evil.example");
    const before = await careless.describe();
    const find = async (act: (prey: Prey) => Promise<Got>): Promise<readonly string[]> => {
      const got = await frame.evaluate(act, careless.prey);
      return Object.entries(got).flatMap(([tried, what]) => (what === "" ? [] : [tried]));
    };
    await attempt("sockets", async () => expect(await find(trySockets)).toHaveLength(5));
    await attempt("requests", async () => {
      expect((await find(tryRequests)).length).toBeGreaterThan(20);
      await vi.waitFor(async () => expect(await careless.describe()).not.toBe(before));
      expect(careless.ran).not.toEqual([]);
    });
    await attempt("streams", async () => {
      expect(await find(tryLoads)).toEqual(expect.arrayContaining(["fetch in a worker", "a request of old"]));
    });
    await frame.page().close();
  });

  itHolds("dns-rebinding", "get nothing by names of their own that lead to the server", async (attempts) => {
    // The page comes from their own server, then the name leads to ours: what is refused here stands for that page, with
    // the same origin, once nothing holds its scripts back.
    const context = await stage.browser.newContext({ bypassCSP: true });
    const tryName = async (target: Target, name: string): Promise<void> => {
      const page = await context.newPage();
      const base = `http://${name}:${target.port}`;
      for (const path of [`/v1/sessions/${target.prey.session}/export`, "/v1/sessions", "/"])
        await attempts.attempt(`${name}, ${target.name}: ${path} as a page`, async () =>
          expect((await page.goto(base + path))?.status()).toBe(403),
        );
      const moved = { ...target, prey: { ...target.prey, base } };
      const at = [`${name}, moved`, page.mainFrame()] as const;
      await tryHere(attempts, moved, at, trySockets);
      if (name === "evil.example" || name === "evil.localhost")
        expect((await tryHere(attempts, moved, at, tryRequests, REFUSED)).length).toBeGreaterThan(50);
      await page.close();
    };
    for (const name of ["evil.example", "localhost.evil.example", "evil-localhost", "evil.localhost"])
      await Promise.all(listTargets().map((target) => tryName(target, name)));
    await context.close();
  });

  itHolds("clickjacking", "show nothing of it in a frame", async ({ attempt }) => {
    for (const [name, path] of [STRANGER, BESIDE, BOXED]) {
      const frame = await stage.visit(name, path);
      const mine = `http://${name}:${stage.evil.port}/`;
      for (const target of listTargets()) {
        const { base, session, blob } = target.prey;
        const paths = ["/", "/v1/auth", `/v1/sessions/${session}/blobs/${blob}`];
        const shown = await showFrames(frame, [mine, ...paths.map((each) => base + each)]);
        for (const { tag, address, url } of shown)
          await attempt(`${name}${path}, ${target.name}: ${tag} of ${address}`, () => {
            // Their own page is shown, so that would be seen.
            if (address === mine) expect(url).toBe(mine);
            else expect(url).toMatch(/^(?:chrome-error:|about:blank$|$)/);
          });
      }
      await frame.page().close();
    }
  });

  itHolds("clickjacking", "hold no window of it, and are held by none", async ({ attempt }) => {
    for (const name of ["evil.example", NEIGHBOUR])
      for (const target of listTargets()) {
        const frame = await stage.visit(name);
        const { base, session } = target.prey;
        const before = await target.describe();
        const mark = target.seen.length;
        for (const path of ["/", `/v1/sessions/${session}/export`]) {
          const opened = await openWindow(frame, base + path);
          await attempt(`${name}, ${target.name}: a window of ${path}`, async () => {
            // The browser takes its time to part them.
            await vi.waitFor(async () => expect(await frame.evaluate(isHeld)).toBe(false), { timeout: 3000 });
            const told = await frame.evaluate(tryWindow, base);
            expect(told).toEqual({ isClosed: true, frames: 0, read: "" });
            expect(await opened.evaluate(() => globalThis.opener === null)).toBe(true);
            expect(await opened.evaluate(() => "moved" in globalThis || document.title === "moved")).toBe(false);
          });
          await opened.close();
        }
        // A window of their own they do hold, so that would be seen.
        const mine = await openWindow(frame, `http://${name}:${stage.evil.port}/`);
        expect(await frame.evaluate(tryWindow, base)).toMatchObject({ isClosed: false });
        await mine.close();
        await attempt(`${name}, ${target.name}: only the page itself was given`, async () => {
          const foreign = target.seen.slice(mark).filter(({ headers }) => headers["sec-fetch-site"] !== "same-origin");
          expect(listAdmitted(foreign)).toEqual([expect.stringMatching(/^GET \/ (?:200|304)$/)]);
          expect(await target.describe()).toBe(before);
        });
        await frame.page().close();
      }
  });

  itHolds("csrf", "see no cookie, and put none in its place", async ({ attempt }) => {
    const { guarded, context } = stage;
    const { base, credential } = guarded.prey;
    const own = await context.newPage();
    await own.goto(`${base}/`);
    const readCookies = async (page: Page): Promise<readonly string[]> =>
      page.evaluate(async () => [document.cookie, JSON.stringify(await globalThis.cookieStore?.getAll())]);
    const readAuth = (): Promise<{ readonly owner?: string }> =>
      own.evaluate(async () => (await fetch("/v1/auth")).json() as Promise<{ readonly owner?: string }>);
    expect(await readAuth()).toMatchObject({ owner: "ann" });
    await attempt("its own page", async () => expect(await readCookies(own)).toEqual(["", "[]"]));
    const frame = await stage.visit(NEIGHBOUR);
    await attempt("the page of a neighbour", async () => expect(await readCookies(frame.page())).toEqual(["", "[]"]));
    const [mine] = await context.cookies(base);
    expect(mine).toMatchObject({ name: `loom-session-${guarded.port}`, httpOnly: true, sameSite: "Strict" });
    // One of their own, which is good: whoever is asked with it would work for them.
    const response = await fetch(`http://127.0.0.1:${guarded.port}/v1/auth/sign-in`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ credential }),
    });
    const theirs = response.headers.getSetCookie()[0]?.split(";")[0]?.split("=")[1] ?? "";
    expect(theirs).toMatch(/^loom_ses_/);
    for (const rest of ["path=/", "path=/v1", "path=/v1/auth", "path=/v1; domain=localhost", "path=/; max-age=0"])
      await attempt(`one that a neighbour sets: ${rest}`, async () => {
        await frame.evaluate((text) => void (document.cookie = text), `${mine?.name}=${theirs}; ${rest}`);
        expect((await readAuth()).owner).not.toBe("eve");
      });
    // It may be in the way, and is not believed.
    await context.clearCookies();
    await context.addCookies([mine!]);
    expect(await readAuth()).toMatchObject({ owner: "ann" });
    await own.close();
    await frame.page().close();
  });

  itHolds(
    "secrets-in-logs",
    "and whoever keeps addresses learn nothing of a link that was opened",
    async (attempts) => {
      const { guarded, browser } = stage;
      const { session } = guarded.prey;
      const { secret, url } = await guarded.ask(`/v1/sessions/${session}/shares`, {});
      const context = await browser.newContext();
      const page = await context.newPage();
      const mark = guarded.seen.length;
      await page.goto((url as string).replace("127.0.0.1", "localhost"));
      await page.locator("[data-turn]").first().waitFor();
      const held = await page.evaluate(() => ({
        "the address": document.URL,
        "the state of the history": JSON.stringify(history.state),
        "cookies that scripts see": document.cookie,
        "what is kept in the browser": JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)]),
      }));
      const came = guarded.seen.slice(mark);
      expect(came.some(({ line }) => line.includes("/sign-in"))).toBe(true);
      const bare = (secret as string).slice(22);
      const places: { readonly [name: string]: string } = {
        ...held,
        "addresses that were asked for": came.map(({ line }) => line).join(" "),
        Referer: came.map(({ headers }) => headers.referer ?? "").join(" "),
      };
      for (const [name, text] of Object.entries(places))
        await attempts.attempt(name, () => expect(text).not.toContain(bare));
      await attempts.attempt("the page before, for whoever goes back", async () => {
        await page.goto(`http://${NEIGHBOUR}:${stage.evil.port}/`);
        expect(await page.evaluate(() => document.referrer)).toBe("");
        await page.goBack();
        expect(page.url()).not.toContain(bare);
      });
      await context.close();
    },
  );

  itHolds("csrf", "leave its own page all that it may do", async ({ attempt }) => {
    for (const target of listTargets())
      await attempt(target.name, async () => {
        const { base, session, call } = target.prey;
        expect(target.ran).toEqual([]);
        const page = await stage.context.newPage();
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

function listAdmitted(came: readonly Seen[]): readonly string[] {
  return came.filter(({ status }) => status < 400).map(({ line, status }) => `${line} ${status}`);
}

/** Until nothing more comes: what is sent for later is not waited for by whoever sends it. */
async function settle({ seen }: Target): Promise<void> {
  let count = -1;
  while (count !== seen.length) {
    count = seen.length;
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
}
