// Who may see the page, and what of it: signing in and out, links to one session, and what is not offered.
import axe from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Credentials, openCredentials, type Scope } from "../../src/server/index.ts";
import { hasChromium } from "../browser/launch.ts";
import { HeldModel } from "./held-model.ts";
import { findAnswer, findRun, lookAt, PHONE, readSession, say, waitForEnd } from "./journey.ts";
import { type LookOptions, type PageStage, setPageStage } from "./stage.ts";
import { XSS_CORPUS } from "./xss-corpus.ts";

type Tested = typeof globalThis & { readonly axe: typeof axe };

const REVOKED = { meta: { threat: "revoked-credentials" } };
const SCOPES = { meta: { threat: "missing-scopes" } };
const FORGERY = { meta: { threat: "csrf" } };
const XSS = { meta: { threat: "stored-xss" } };

/** Of `…loom_tok_ID_SECRET`; a secret may have the sign in it that comes before it. */
const readSecret = (text: string): string => text.split("_").slice(3).join("_");

/** What a browser says by itself of an answer that is no. */
const SAID_401 = "Failed to load resource: the server responded with a status of 401 (Unauthorized)";

describe.skipIf(!hasChromium)("who may see the page (skipped where there is no Chromium)", () => {
  const model = new HeldModel();
  let credentials: Credentials;
  let stage: PageStage;
  beforeAll(async () => {
    credentials = openCredentials(":memory:");
    stage = await setPageStage({ model, auth: { credentials } });
    const answer = await fetch(`${stage.url}/v1/sessions/earlier/runs`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/x-ndjson",
        authorization: `Bearer ${makeToken("script")}`,
      },
      body: JSON.stringify({ message: "What is 2+3?" }),
    });
    await answer.text();
  });
  afterAll(async () => {
    await stage.close();
    credentials.close();
  });
  afterEach(() => model.goOn());

  const makeToken = (name: string, scopes?: readonly Scope[]): string =>
    credentials.createToken({ name, scopes, owner: "ann" }).secret;

  async function enter(page: Page, token: string): Promise<void> {
    await page.getByLabel(/^(Token|令牌)$/).fill(token);
    await page.keyboard.press("Enter");
    await page.locator(".page-shell").waitFor();
  }

  /** What axe finds that is more than a trifle. */
  async function findFaults(page: Page, where = "html"): Promise<readonly string[]> {
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate(
      (place) => (globalThis as Tested).axe.run(place, { resultTypes: ["violations"] }),
      where,
    );
    return violations
      .filter(({ impact }) => impact !== "minor")
      .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
  }

  /** Everything that scripts of the page could find again. */
  const readKept = (page: Page): Promise<string> =>
    page.evaluate(() =>
      JSON.stringify([
        ...Object.entries(localStorage),
        ...Object.entries(sessionStorage),
        document.cookie,
        location.href,
      ]),
    );

  it("asks for a token, says what is wrong with one, and lets nobody see anything before", async () => {
    const { page, context, complaints } = await lookAt(stage, { path: "#/s/some" });
    const field = page.getByLabel("Token");
    await field.waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("page-token");
    expect(await field.getAttribute("type")).toBe("password");
    await page.getByText("loom token create NAME").waitFor();
    expect(await page.locator(".page-shell, .page-prompt, .page-composer").count()).toBe(0);
    expect(await findFaults(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("Paste your token first.").waitFor();
    await field.fill("loom_tok_aaaaaaaaaaaa_no");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText("This token is not good").waitFor();
    expect(await field.getAttribute("aria-invalid")).toBe("true");
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("page-token");

    const token = makeToken("Ann’s laptop");
    await enter(page, token);
    await page.getByText("This session is not here").waitFor();
    await page.locator(".page-account").getByText("Ann’s laptop", { exact: true }).waitFor();
    const secret = readSecret(token);
    expect(await readKept(page)).not.toContain(secret);
    expect(await page.content()).not.toContain(secret);
    // Scripts do not see the cookie; the browser brings it, also after a reload and with sockets.
    expect(await page.evaluate(() => document.cookie)).toBe("");
    await page.reload();
    await page.getByRole("button", { name: "Start a new session" }).click();
    await say(page, "What is 6*7?");
    await waitForEnd(page);
    await page.getByRole("textbox", { name: "Message", exact: true }).fill("a secret plan");

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    expect(await page.content()).not.toContain("6*7");
    expect(await readKept(page)).not.toContain("a secret plan");
    await enter(page, token);
    await page.getByRole("link", { name: "What is 6*7?" }).waitFor();
    expect(await page.getByRole("textbox", { name: "Message", exact: true }).inputValue()).toBe("");
    // Also of what was asked for in the moment of signing out.
    expect([...new Set(complaints)]).toEqual([SAID_401]);
    await context.close();
  });

  it("shows the way in when a token is revoked while a run goes, and goes on where it was", REVOKED, async () => {
    const { page, context } = await lookAt(stage, { language: "zh", theme: "dark", ...PHONE });
    await enter(page, makeToken("电话"));
    model.goUntil("text-delta", 3);
    await say(page, "你能做什么？", "zh");
    await findAnswer(page, "zh").waitFor();
    const session = readSession(page);
    await page.getByRole("textbox", { name: "消息" }).fill("写到一半");
    expect(credentials.revokeToken("电话")).toBe(true);
    await page.getByRole("heading", { name: "登录" }).waitFor();
    await page.getByText("登录凭据已被撤销").waitFor();
    expect(await page.locator(".page-shell").count()).toBe(0);
    expect(await findFaults(page)).toEqual([]);

    model.goOn();
    await enter(page, makeToken("新电话"));
    await waitForEnd(page, "zh");
    expect(readSession(page)).toBe(session);
    expect(await page.getByRole("textbox", { name: "消息" }).inputValue()).toBe("写到一半");
    // Somebody else begins with nothing of that.
    credentials.revokeToken("新电话");
    await page.getByRole("heading", { name: "登录" }).waitFor();
    const other = credentials.createToken({ name: "bob", owner: "bob" }).secret;
    await page.getByLabel("令牌").fill(other);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "看智能体如何思考" }).waitFor();
    expect(await page.getByRole("textbox", { name: "消息" }).inputValue()).toBe("");
    await page.getByRole("button", { name: "显示会话列表" }).click();
    await page.getByText("还没有会话").waitFor();
    await context.close();
  });

  it("shares one session to be read, live, until the link is taken back", REVOKED, async () => {
    const owner = await lookAt(stage);
    await enter(owner.page, makeToken("desk"));
    await say(owner.page, "Ask me for approval, then calculate 1234 * 5678");
    await owner.page.getByRole("button", { name: "Approve" }).waitFor();
    await owner.page.getByRole("button", { name: /^Actions for Ask me/ }).click();
    await owner.page.getByRole("menuitem", { name: "Share…" }).click();
    const dialog = owner.page.getByRole("dialog", { name: "Share this session" });
    await dialog.getByText("There are none.").waitFor();
    await dialog.getByLabel("The link works for").selectOption("1 day");
    await dialog.getByRole("button", { name: "Create link" }).click();
    await dialog.getByText("Copied. The link is shown only now.").waitFor();
    const url = await dialog.getByLabel("The new link").inputValue();
    expect(owner.copies).toEqual([url]);
    expect(url.startsWith(`${stage.url}/#share=`)).toBe(true);
    expect(await findFaults(owner.page, "dialog")).toEqual([]);

    const addresses: string[] = [];
    const prepare: LookOptions["prepare"] = async (context) =>
      context.on("request", (request) => {
        addresses.push(request.url());
        // It is out of the address before anybody is asked whether it is good.
        if (request.url().endsWith("/sign-in")) addresses.push(request.frame().url());
      });
    const guest = await lookAt(stage, { ...PHONE, path: url.slice(stage.url.length + 1), prepare });
    const { page } = guest;
    await page.getByText("Shared with you, read-only").waitFor();
    await page.getByText("Waiting for an answer by somebody who may approve this.").waitFor();
    const secret = readSecret(url);
    expect(await readKept(page)).not.toContain(secret);
    expect(addresses.filter((address) => address.includes(secret) || address.includes("share="))).toEqual([]);
    expect(await findFaults(page)).toEqual([]);
    await page.reload();
    await page.getByText("Shared with you, read-only").waitFor();
    await findRun(page).waitFor();
    expect(await page.locator(".page-composer, .page-sidebar, .loom-approval button").count()).toBe(0);
    for (const name of ["Show sessions", "Edit and send again", "Attach files", "Stop", "Approve", "Sign out"])
      expect(await page.getByRole("button", { name }).count(), name).toBe(0);
    // Keys lead nowhere that buttons do not, and Escape stops nothing.
    for (const key of ["Alt+n", "Alt+b", "Alt+k", "Escape"]) await page.keyboard.press(key);
    expect(await page.locator("dialog").count()).toBe(0);

    await owner.page.keyboard.press("Escape");
    await owner.page.getByRole("button", { name: "Approve" }).click();
    await waitForEnd(page);
    await findAnswer(page).getByText("7006652").first().waitFor();
    await owner.page.getByRole("button", { name: /^Actions for Ask me/ }).click();
    await owner.page.getByRole("menuitem", { name: "Share…" }).click();
    expect(await dialog.getByLabel("The new link").count()).toBe(0);
    expect([...owner.complaints, ...guest.complaints]).toEqual([]);
    await dialog.getByRole("button", { name: /^Take back the link made/ }).click();
    await dialog.getByText("There are none.").waitFor();
    await page.getByRole("heading", { name: "This link does not work" }).waitFor();
    expect(await page.content()).not.toContain("7006652");
    await page.getByRole("button", { name: "Go to your own sessions" }).click();
    await page.getByLabel("Token").waitFor();
    // What the guest had under way is refused, and browsers say so by themselves.
    const told = guest.complaints.filter((complaint) => !complaint.includes("status of 401"));
    expect([...owner.complaints, ...told]).toEqual([]);
    // As an address it is worth nothing any more, and it does not stay there either.
    await page.goto(url);
    await page.getByRole("heading", { name: "This link does not work" }).waitFor();
    expect(page.url()).not.toContain("share=");
    await owner.context.close();
    await guest.context.close();
  });

  it("offers nobody what they may not do", SCOPES, async () => {
    const { page, context, complaints } = await lookAt(stage, { theme: "dark" });
    await enter(page, makeToken("reader", ["read"]));
    const list = page.getByRole("navigation", { name: "Sessions" });
    await list.getByRole("link", { name: "What is 2+3?" }).click();
    await waitForEnd(page);
    await page.getByText("You may read here; your token does not let you send messages.").waitFor();
    for (const name of [/^Actions for/, "New session", "Edit and send again", "Send the same message again", "Send"])
      expect(await page.getByRole("button", { name, exact: true }).count(), String(name)).toBe(0);
    await page.getByRole("button", { name: "Knowledge base" }).click();
    const dialog = page.getByRole("dialog", { name: "Knowledge base" });
    await dialog.getByText("No documents yet.").waitFor();
    expect(await dialog.getByRole("button", { name: "Add files" }).count()).toBe(0);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Sign out" }).click();

    await enter(page, makeToken("runner", ["read", "run"]));
    await say(page, "Ask me for approval, then calculate 1+1");
    await page.getByText("Waiting for an answer by somebody who may approve this.").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await findRun(page).getByText("Cancelled", { exact: true }).first().waitFor();
    await page.getByRole("button", { name: "Send the same message again" }).waitFor();
    for (const name of [/^Actions for/, "Attach files", "Edit and send again"])
      expect(await page.getByRole("button", { name }).count(), String(name)).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("signs nobody in by an address", FORGERY, async () => {
    const { page, context, complaints } = await lookAt(stage, { path: `#share=${makeToken("stranger")}` });
    await page.getByRole("heading", { name: "This link does not work" }).waitFor();
    expect(page.url()).not.toContain("share=");
    expect(await context.cookies()).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("shows the name of a token as it is written, whatever is written", XSS, async ({ task }) => {
    const { page, context, complaints } = await lookAt(stage);
    const hostile = XSS_CORPUS.map((text) => text.replaceAll(/\s+/g, " ").trim().slice(0, 100));
    const names = hostile.filter((name) => /<|javascript:/i.test(name)).slice(0, 2);
    expect(names.length).toBe(2);
    task.meta.tried = names.length;
    for (const name of names) {
      const token = makeToken(name);
      await enter(page, token);
      await expect.poll(() => page.locator(".page-account-name").textContent()).toBe(name);
      expect(await page.locator(".page-account-name *").count()).toBe(0);
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByLabel("Token").waitFor();
    }
    // What was asked for in the moment of signing out is refused.
    expect(complaints.filter((text) => text !== SAID_401)).toEqual([]);
    await context.close();
  });
});
