// Sharing and exporting a session on a server without authentication.
import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "../browser/launch.ts";
import { findFaults } from "./find-faults.ts";
import { findAnswer, openPage, readSessionId, sendMessage, waitForEnd } from "./journey.ts";
import { createPageFixture, type PageFixture } from "./page-fixture.ts";
import { LONG } from "../sampling.ts";

const PATIENT = { timeout: 120_000 };
const NETWORK = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .find(({ internal, family }) => !internal && family === "IPv4")?.address;

async function openDialog(page: Page, item = "Share session…") {
  await page
    .getByRole("button", { name: /^Actions for What is/ })
    .first()
    .click();
  await page.getByRole("menuitem", { name: item }).click();
  return page.getByRole("dialog", { name: item.replace("…", "") });
}

describe.skipIf(!hasChromium)("sharing without authentication", () => {
  let fixture: PageFixture;
  beforeAll(async () => {
    fixture = await createPageFixture({ reach: { host: "0.0.0.0", allowLinks: true } });
  }, 120_000);
  afterAll(() => fixture.close());

  it.runIf(LONG)("opens the conversation with its replay, until the link is revoked", PATIENT, async () => {
    const owner = await openPage(fixture);
    await sendMessage(owner.page, "What is 12 * 34?");
    await waitForEnd(owner.page);
    const dialog = await openDialog(owner.page);
    await dialog.getByText("No active links").waitFor();
    expect(await dialog.getByLabel("Expires after").inputValue()).toBe("week");
    await dialog.getByRole("button", { name: "Create link" }).click();
    await dialog.getByText("Copied. This link is shown only once.").waitFor();
    await dialog.getByText("Not opened yet").waitFor();
    const field = dialog.getByLabel("New link");
    expect(await field.evaluate((input) => input.scrollLeft)).toBe(0);
    const url = new URL(await field.inputValue());
    // The link has the address under which other machines reach the server.
    expect(url.hostname).toBe(NETWORK ?? "127.0.0.1");
    expect(await dialog.getByText("Links open on this machine only").count()).toBe(NETWORK === undefined ? 1 : 0);
    expect(await findFaults(owner.page, "dialog")).toEqual([]);

    // Another machine, if this one has a network.
    const context = await fixture.browser.newContext();
    const guest = await context.newPage();
    const loaded = await guest.goto(url.href);
    expect(loaded?.headers()["x-robots-tag"]).toBe("noindex");
    expect(await guest.locator('meta[name="robots"]').getAttribute("content")).toBe("noindex");
    await findAnswer(guest).getByText("408").first().waitFor();
    expect(await guest.locator(".page-composer, .page-sidebar").count()).toBe(0);
    await guest.getByRole("button", { name: "Replay", exact: true }).click();
    await guest.getByRole("tab", { name: "Replay", selected: true }).waitFor();
    await guest.locator(".page-inspector").getByText("408").first().waitFor();
    expect(await findFaults(guest)).toEqual([]);
    // Neither another session nor the list.
    const statuses = await guest.evaluate(async () => {
      const paths = ["./v1/sessions", "./v1/sessions/other", "./v1/agents", "./v1/knowledge"];
      return Promise.all(paths.map(async (path) => (await fetch(path)).status));
    });
    expect(statuses.filter((status) => status < 400)).toEqual(NETWORK === undefined ? statuses : []);

    await owner.page.keyboard.press("Escape");
    await findAnswer(owner.page).hover();
    await owner.page.getByRole("button", { name: "More actions" }).last().click();
    await owner.page.getByRole("menuitem", { name: "Share session…" }).click();
    await dialog.getByText(/^Opened once/).waitFor();
    expect(await dialog.getByLabel("New link").count()).toBe(0);
    await dialog.getByRole("button", { name: /^Revoke link created/ }).click();
    await dialog.getByText("No active links").waitFor();
    await guest.getByRole("heading", { name: "Invalid link" }).waitFor({ timeout: 5000 });
    expect(await guest.content()).not.toContain("408");
    await guest.getByRole("button", { name: "Go to my sessions" }).click();
    if (NETWORK !== undefined) await guest.getByRole("heading", { name: "Share links only" }).waitFor();
    await owner.page.keyboard.press("Escape");

    // The dialogs of the menu are outside of the answer, whose buttons have another look.
    await owner.page.getByRole("button", { name: "More actions" }).last().click();
    await owner.page.getByRole("menuitem", { name: "Export session…" }).click();
    const forms = owner.page
      .getByRole("dialog", { name: "Export session" })
      .getByRole("button", { name: /Markdown|HTML|Print/ });
    await forms.first().waitFor();
    for (const form of await forms.all())
      expect(
        await form.evaluate((button) => button.scrollWidth <= button.clientWidth + 1 && button.clientWidth > 100),
      ).toBe(true);
    await owner.page.keyboard.press("Escape");

    // From the palette, too.
    await owner.page.keyboard.press("ControlOrMeta+k");
    await owner.page.getByRole("combobox", { name: /^Search/ }).fill("share");
    await owner.page.keyboard.press("Enter");
    await dialog.getByText("No active links").waitFor();
    expect(owner.complaints).toEqual([]);
    await context.close();
    await owner.context.close();
  });

  it.runIf(LONG)("ends the page of a link on this machine too, and leaves the others", PATIENT, async () => {
    const { page, context } = await openPage(fixture);
    await sendMessage(page, "What is 5 * 5?");
    await waitForEnd(page);
    const session = readSessionId(page);
    const answer = await page.request.post(`${fixture.url}/v1/sessions/${session}/shares`, { data: {} });
    const { secret, share_id } = (await answer.json()) as { readonly secret: string; readonly share_id: string };
    const shared = await context.newPage();
    await shared.goto(`${fixture.url}/#share=${secret}`);
    await shared.getByText("Shared with you (read-only)").waitFor();
    await findAnswer(shared).getByText("25").first().waitFor();
    await page.request.delete(`${fixture.url}/v1/sessions/${session}/shares/${share_id}`);
    await shared.getByRole("heading", { name: "Invalid link" }).waitFor({ timeout: 5000 });
    await shared.getByRole("button", { name: "Go to my sessions" }).click();
    await shared.getByRole("textbox", { name: "Message" }).waitFor();
    await sendMessage(page, "What is 6 * 6?");
    await waitForEnd(page, "en", 2);
    await context.close();
  });

  it.runIf(LONG)("exports a session that is not open", PATIENT, async () => {
    const { page, context, complaints } = await openPage(fixture);
    await sendMessage(page, "What is 7 * 9?");
    await waitForEnd(page);
    await page.keyboard.press("Alt+n");
    await page.getByRole("heading", { name: "Watch an agent think" }).waitFor();
    const dialog = await openDialog(page, "Export session…");
    await dialog.getByRole("button", { name: "Print" }).waitFor();
    expect(await findFaults(page, "dialog")).toEqual([]);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      dialog.getByRole("button", { name: "Markdown", exact: true }).click(),
    ]);
    const text = readFileSync(await download.path(), "utf8");
    expect(text).toContain("# What is 7 \\* 9?");
    expect(text).toContain("63");
    await dialog.waitFor({ state: "hidden" });
    expect(complaints).toEqual([]);
    await context.close();
  });
});
