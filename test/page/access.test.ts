// Access to the page: sign-in, sign-out, share links, and what is hidden without a scope.
import axe from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Credentials, openCredentials, type Scope } from "../../src/server/index.ts";
import { hasChromium } from "../browser/launch.ts";
import { PausableModel } from "./pausable-model.ts";
import { findAnswer, findRun, openPage, PHONE, readSessionId, sendMessage, waitForEnd } from "./journey.ts";
import { type OpenPageOptions, type PageFixture, createPageFixture } from "./page-fixture.ts";
import { LONG, sampleCases } from "../sampling.ts";
import { XSS_CORPUS } from "./xss-corpus.ts";

/** States of the page whose accessibility is checked. */
const STATES = ["sign-in", "signed out", "link dialog", "guest"] as const;
type State = (typeof STATES)[number];
const CHECKED_STATES = sampleCases(STATES);

type Tested = typeof globalThis & { readonly axe: typeof axe };

const REVOKED = { meta: { threat: "revoked-credentials" } };
const SCOPES = { meta: { threat: "missing-scopes" } };
const FORGERY = { meta: { threat: "csrf" } };
const XSS = { meta: { threat: "stored-xss" } };

/** Reads the secret of `…loom_tok_ID_SECRET`. A secret may contain underscores. */
const readSecret = (text: string): string => text.split("_").slice(3).join("_");

/** Logged by the browser for every 401 response. */
const SAID_401 = "Failed to load resource: the server responded with a status of 401 (Unauthorized)";

describe.skipIf(!hasChromium)("access to the page (skipped without Chromium)", () => {
  const model = new PausableModel();
  let credentials: Credentials;
  let fixture: PageFixture;
  beforeAll(async () => {
    credentials = openCredentials(":memory:");
    fixture = await createPageFixture({ model, auth: { credentials } });
    const answer = await fetch(`${fixture.url}/v1/sessions/earlier/runs`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/x-ndjson",
        authorization: `Bearer ${await makeToken("script")}`,
      },
      body: JSON.stringify({ message: "What is 2+3?" }),
    });
    await answer.text();
  });
  afterAll(async () => {
    await fixture.close();
    await credentials.close();
  });
  afterEach(() => model.resume());

  const makeToken = async (name: string, scopes?: readonly Scope[]): Promise<string> =>
    (await credentials.createToken({ name, scopes, owner: "ann" })).secret;

  async function enter(page: Page, token: string): Promise<void> {
    await page.getByLabel(/^(Token|令牌)$/).fill(token);
    await page.keyboard.press("Enter");
    await page.locator(".page-shell").waitFor();
  }

  /** Violations that axe finds, except minor ones. The short run looks at some of the states. */
  async function findFaults(state: State, page: Page, where = "html"): Promise<readonly string[]> {
    if (!CHECKED_STATES.includes(state)) return [];
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate(
      (place) => (globalThis as Tested).axe.run(place, { resultTypes: ["violations"] }),
      where,
    );
    return violations
      .filter(({ impact }) => impact !== "minor")
      .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
  }

  /** Everything that scripts of the page can read later. */
  const readKept = (page: Page): Promise<string> =>
    page.evaluate(() =>
      JSON.stringify([
        ...Object.entries(localStorage),
        ...Object.entries(sessionStorage),
        document.cookie,
        location.href,
      ]),
    );

  it("asks for a token, reports an invalid one, and shows nothing before sign-in", async () => {
    const { page, context, complaints } = await openPage(fixture, { path: "#/s/some" });
    const field = page.getByLabel("Token");
    await field.waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("page-token");
    expect(await field.getAttribute("type")).toBe("password");
    await page.getByText("loom token create NAME").waitFor();
    expect(await page.locator(".page-shell, .page-prompt, .loom-composer").count()).toBe(0);
    expect(await findFaults("sign-in", page)).toEqual([]);
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("Enter a token.").waitFor();
    await field.fill("loom_tok_aaaaaaaaaaaa_no");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText("Invalid, revoked or expired token.").waitFor();
    expect(await field.getAttribute("aria-invalid")).toBe("true");
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("page-token");

    const token = await makeToken("Ann’s laptop");
    await enter(page, token);
    await page.getByText("Session not found").waitFor();
    await page.locator(".page-account").getByText("Ann’s laptop", { exact: true }).waitFor();
    const secret = readSecret(token);
    expect(await readKept(page)).not.toContain(secret);
    expect(await page.content()).not.toContain(secret);
    // The cookie is HttpOnly. The browser sends it after a reload and with sockets too.
    expect(await page.evaluate(() => document.cookie)).toBe("");
    await page.reload();
    await page.getByRole("button", { name: "Start new session" }).click();
    await sendMessage(page, "What is 6*7?");
    await waitForEnd(page);
    await page.getByRole("textbox", { name: "Message", exact: true }).fill("a secret plan");
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByRole("textbox", { name: "System prompt" }).fill("Answer as a spy.");
    await page.keyboard.press("Escape");
    expect(await readKept(page)).toContain("as a spy");

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    expect(await page.content()).not.toContain("6*7");
    const kept = await readKept(page);
    expect([kept.includes("a secret plan"), kept.includes("as a spy")]).toEqual([false, false]);
    await enter(page, token);
    await page.getByRole("link", { name: "What is 6*7?" }).waitFor();
    expect(await page.getByRole("textbox", { name: "Message", exact: true }).inputValue()).toBe("");
    // Requests in flight during sign-out are refused too.
    expect([...new Set(complaints)]).toEqual([SAID_401]);
    await context.close();
  });

  it.runIf(LONG)(
    "asks to sign in when a token is revoked during a run, and continues afterwards",
    REVOKED,
    async () => {
      const { page, context } = await openPage(fixture, { language: "zh", theme: "dark", ...PHONE });
      await enter(page, await makeToken("电话"));
      model.pauseAt("text-delta", 3);
      await sendMessage(page, "你能做什么？", "zh");
      await findAnswer(page, "zh").waitFor();
      const session = readSessionId(page);
      await page.getByRole("textbox", { name: "消息" }).fill("写到一半");
      expect(await credentials.revokeToken("电话")).toBe(true);
      await page.getByRole("heading", { name: "登录" }).waitFor();
      await page.getByText("你已退出登录").waitFor();
      expect(await page.locator(".page-shell").count()).toBe(0);
      expect(await findFaults("signed out", page)).toEqual([]);

      model.resume();
      await enter(page, await makeToken("新电话"));
      await waitForEnd(page, "zh");
      expect(readSessionId(page)).toBe(session);
      expect(await page.getByRole("textbox", { name: "消息" }).inputValue()).toBe("写到一半");
      // Another user starts without any of it.
      await credentials.revokeToken("新电话");
      await page.getByRole("heading", { name: "登录" }).waitFor();
      const other = (await credentials.createToken({ name: "bob", owner: "bob" })).secret;
      await page.getByLabel("令牌").fill(other);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "看智能体如何思考" }).waitFor();
      expect(await page.getByRole("textbox", { name: "消息" }).inputValue()).toBe("");
      await page.getByRole("button", { name: "显示会话列表" }).click();
      await page.getByText("暂无会话").waitFor();
      await context.close();
    },
  );

  it.runIf(LONG)("shares one session live and read-only, until the link is revoked", REVOKED, async () => {
    const owner = await openPage(fixture);
    await enter(owner.page, await makeToken("desk"));
    await sendMessage(owner.page, "Ask me for approval, then calculate 1234 * 5678");
    await owner.page.getByRole("button", { name: "Allow", exact: true }).waitFor();
    await owner.page.getByRole("button", { name: /^Actions for Ask me/ }).click();
    await owner.page.getByRole("menuitem", { name: "Share session…" }).click();
    const dialog = owner.page.getByRole("dialog", { name: "Share session" });
    await dialog.getByText("No active links").waitFor();
    await dialog.getByLabel("Expires after").selectOption("1 day");
    await dialog.getByRole("button", { name: "Create link" }).click();
    await dialog.getByText("Copied. This link is shown only once.").waitFor();
    const url = await dialog.getByLabel("New link").inputValue();
    expect(owner.copies).toEqual([url]);
    expect(url.startsWith(`${fixture.url}/#share=`)).toBe(true);
    expect(await findFaults("link dialog", owner.page, "dialog")).toEqual([]);

    const addresses: string[] = [];
    const prepare: OpenPageOptions["prepare"] = async (context) =>
      context.on("request", (request) => {
        addresses.push(request.url());
        // The secret is out of the URL before the sign-in request.
        if (request.url().endsWith("/sign-in")) addresses.push(request.frame().url());
      });
    const guest = await openPage(fixture, { ...PHONE, path: url.slice(fixture.url.length + 1), prepare });
    const { page } = guest;
    await page.getByText("Shared with you (read-only)").waitFor();
    await page.getByText("Waiting for approval from another user.").waitFor();
    const secret = readSecret(url);
    expect(await readKept(page)).not.toContain(secret);
    expect(addresses.filter((address) => address.includes(secret) || address.includes("share="))).toEqual([]);
    expect(await findFaults("guest", page)).toEqual([]);
    await page.reload();
    await page.getByText("Shared with you (read-only)").waitFor();
    await findRun(page).waitFor();
    expect(await page.locator(".loom-composer, .page-sidebar, .loom-approval button").count()).toBe(0);
    for (const name of ["Show sessions", "Edit message", "Attach files", "Stop", "Allow", "Sign out"])
      expect(await page.getByRole("button", { name }).count(), name).toBe(0);
    // Shortcuts without a button do nothing, and Escape does not stop the run.
    for (const key of ["Alt+n", "Alt+b", "Alt+k", "Escape"]) await page.keyboard.press(key);
    expect(await page.locator("dialog").count()).toBe(0);

    await owner.page.keyboard.press("Escape");
    await owner.page.getByRole("button", { name: "Allow", exact: true }).click();
    await waitForEnd(page);
    await findAnswer(page).getByText("7006652").first().waitFor();
    // A cited passage is part of the session, its document is not.
    await fixture.knowledge.addText({ uri: "tides.md", text: "# Tides\n\nThe moon pulls the sea." });
    await sendMessage(owner.page, "What pulls the sea?");
    await findAnswer(page).getByRole("button", { name: "Source 1: Tides" }).click();
    const source = page.getByRole("dialog", { name: "Tides" });
    await source.getByText("You don't have permission to open this document.").waitFor();
    await source.getByRole("region", { name: "Cited passage" }).getByText("The moon pulls the sea.").waitFor();
    await page.keyboard.press("Escape");
    await waitForEnd(owner.page, "en", 2);
    await fixture.knowledge.remove("tides.md");
    await owner.page.getByRole("button", { name: /^Actions for Ask me/ }).click();
    await owner.page.getByRole("menuitem", { name: "Share session…" }).click();
    expect(await dialog.getByLabel("New link").count()).toBe(0);
    expect([...owner.complaints, ...guest.complaints]).toEqual([]);
    await dialog.getByRole("button", { name: /^Revoke link created/ }).click();
    await dialog.getByText("No active links").waitFor();
    await page.getByRole("heading", { name: "Invalid link" }).waitFor();
    expect(await page.content()).not.toContain("7006652");
    await page.getByRole("button", { name: "Go to my sessions" }).click();
    await page.getByLabel("Token").waitFor();
    // Requests of the guest that are in flight are refused, which the browser logs.
    const told = guest.complaints.filter((complaint) => !complaint.includes("status of 401"));
    expect([...owner.complaints, ...told]).toEqual([]);
    // The URL no longer works, and the secret does not stay in it.
    await page.goto(url);
    await page.getByRole("heading", { name: "Invalid link" }).waitFor();
    expect(page.url()).not.toContain("share=");
    await owner.context.close();
    await guest.context.close();
  });

  it.runIf(LONG)("hides actions that the scopes do not allow", SCOPES, async () => {
    const { page, context, complaints } = await openPage(fixture, { theme: "dark" });
    await enter(page, await makeToken("reader", ["read"]));
    const list = page.getByRole("navigation", { name: "Sessions" });
    await list.getByRole("link", { name: "What is 2+3?" }).click();
    await waitForEnd(page);
    await page.getByText("Read-only access").waitFor();
    for (const name of [/^Actions for What/, "New session", "Edit message", "Retry", "Send"])
      expect(await page.getByRole("button", { name, exact: true }).count(), String(name)).toBe(0);
    await page.getByRole("button", { name: "Knowledge base" }).click();
    const dialog = page.getByRole("dialog", { name: "Knowledge base" });
    await dialog.getByText("No documents yet").waitFor();
    expect(await dialog.getByRole("button", { name: "Add files" }).count()).toBe(0);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Sign out" }).click();

    await enter(page, await makeToken("runner", ["read", "run"]));
    await sendMessage(page, "Ask me for approval, then calculate 1+1");
    await page.getByText("Waiting for approval from another user.").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await findRun(page).getByText("Cancelled", { exact: true }).first().waitFor();
    await page.getByRole("button", { name: "Retry" }).waitFor();
    for (const name of [/^Actions for What/, "Attach files", "Edit message"])
      expect(await page.getByRole("button", { name }).count(), String(name)).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("does not sign in by URL", FORGERY, async () => {
    const { page, context, complaints } = await openPage(fixture, { path: `#share=${await makeToken("attacker")}` });
    await page.getByRole("heading", { name: "Invalid link" }).waitFor();
    expect(page.url()).not.toContain("share=");
    expect(await context.cookies()).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("shows any token name as plain text", XSS, async ({ task }) => {
    const { page, context, complaints } = await openPage(fixture);
    const hostile = XSS_CORPUS.map((text) => text.replaceAll(/\s+/g, " ").trim().slice(0, 100));
    const names = hostile.filter((name) => /<|javascript:/i.test(name)).slice(0, 2);
    expect(names.length).toBe(2);
    const tried = sampleCases(names);
    Object.assign(task.meta, { tried: tried.length, omitted: names.length - tried.length });
    for (const name of tried) {
      const token = await makeToken(name);
      await enter(page, token);
      await expect.poll(() => page.locator(".page-account-name").textContent()).toBe(name);
      expect(await page.locator(".page-account-name *").count()).toBe(0);
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByLabel("Token").waitFor();
    }
    // Requests in flight during sign-out are refused.
    expect(complaints.filter((text) => text !== SAID_401)).toEqual([]);
    await context.close();
  });
});
