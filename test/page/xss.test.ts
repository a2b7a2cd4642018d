/**
 * Hostile texts in every field that a model, a tool, a file or a document fills, in the whole page as it is built: nothing
 * runs, nothing is asked of anywhere else, nothing stands in the document that could do either, and the page goes on. The
 * whole corpus in every field in `npm run test:long`.
 */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "../browser/launch.ts";
import { PAGE_SAMPLES } from "../sampling.ts";
import {
  writeHostileAnswers,
  writeHostileQuestion,
  writeHostileSession,
  writeHostileThoughts,
} from "./hostile-session.ts";
import { type Look, type PageStage, setPageStage } from "./stage.ts";
import { XSS_CORPUS, XSS_KINDS } from "./xss-corpus.ts";

/** Of each kind all, or one. */
const TEXTS = [...XSS_KINDS.values()].flatMap((texts) => texts.slice(0, PAGE_SAMPLES.hostileOfKind));
/** Where there is one of each, the fields share them. */
const isMixed = PAGE_SAMPLES.hostileOfKind === 1;

/** As many as one run has room for. */
const AT_ONCE = isMixed ? TEXTS.length : 16;
/** In each of so many fields at least. */
const MIN_FIELDS = 5;
const GROUPS = Array.from({ length: Math.ceil(TEXTS.length / AT_ONCE) }, (_, index) =>
  TEXTS.slice(index * AT_ONCE, (index + 1) * AT_ONCE),
);

/** Runs in the page: what stands in it that must not. */
function findForbidden(): readonly string[] {
  const found: string[] = [];
  const refused = new Set(
    "iframe frame frameset object embed applet base style template portal marquee foreignobject use animate set image video audio source track param noembed xmp plaintext".split(
      " ",
    ),
  );
  const addresses =
    /^(?:srcset|srcdoc|action|formaction|background|poster|ping|data|cite|manifest|xlink:href|lowsrc|dynsrc|itemtype|is|slot|part|contenteditable|http-equiv)$/;
  const ids = new Map<string, Element>();
  for (const element of document.querySelectorAll("*")) {
    const name = element.localName.toLowerCase();
    const tell = (what: string): void => void found.push(`${what} in ${element.outerHTML.slice(0, 120)}`);
    if (refused.has(name)) tell(name);
    const src = element.getAttribute("src") ?? (name === "link" ? element.getAttribute("href") : null);
    if (name === "script" || name === "link") {
      if (!/^(?:\.\/|http:\/\/127\.0\.0\.1:\d+\/)assets\/[\w-]+\.\w+$/.test(src ?? "")) tell(name);
      continue;
    }
    if (src !== null && !/^(?:\.?\/v1\/|blob:|data:image\/(?:png|jpeg|gif|webp|avif);base64,[\w+/=]*$)/.test(src))
      tell(`src ${src}`);
    const href = element.getAttribute("href");
    if (href !== null && !/^(?:https?:\/\/|mailto:|#|\.?\/v1\/sessions\/)/.test(href)) tell(`href ${href}`);
    if (href !== null && /^https?:/.test(href) && !(element.getAttribute("rel") ?? "").includes("noopener"))
      tell("rel");
    for (const { name: attribute, value } of element.attributes) {
      if (attribute.startsWith("on") || addresses.test(attribute)) tell(attribute);
      if (attribute === "style" && /url\(|expression|javascript/i.test(value)) tell(`style ${value}`);
      if (attribute !== "id" || value === "") continue;
      if (ids.has(value)) tell(`a second id ${value}`);
      ids.set(value, element);
    }
  }
  return found;
}

const about = { meta: { threat: "stored-xss" } };

describe.skipIf(!hasChromium)("hostile texts (skipped where there is no Chromium)", about, () => {
  let stage: PageStage;
  beforeAll(async () => {
    stage = await setPageStage();
    const { log } = stage;
    for (const [index, texts] of GROUPS.entries()) {
      const given = await writeHostileSession(log, `fields-${index}`, texts, { isMixed });
      expect(texts.filter((text) => (given.get(text) ?? 0) < MIN_FIELDS)).toEqual([]);
    }
    await writeHostileAnswers(log, "answers", XSS_CORPUS);
    await writeHostileThoughts(log, "thoughts", TEXTS);
    await writeHostileQuestion(log, "question", TEXTS);
    // No more documents than are shown when they are found.
    const perDocument = isMixed ? 5 : 1;
    for (let index = 0; index < TEXTS.length; index += perDocument) {
      const text = TEXTS.slice(index, index + perDocument).join(" ");
      const name = text.replaceAll("\0", "").slice(0, 500);
      await stage.knowledge.addText({ uri: `${name} ${index}`, title: `${name} window`, text: `window ${text}` });
    }
    await fetch(`${stage.url}/v1/sessions/thoughts`, {
      method: "PATCH",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ title: TEXTS.join(" ").slice(0, 150) }),
    });
  });
  afterAll(async () => {
    await stage.close();
  });

  async function look(session: string): Promise<Look & { readonly dialogs: string[] }> {
    const made = await stage.look({ path: `#/s/${session}`, height: 3000 });
    const dialogs: string[] = [];
    made.page.on("dialog", (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    made.page.setDefaultTimeout(15_000);
    // All of it is there.
    await made.page
      .locator(session === "question" ? ".loom-approval" : ".loom-run-footer")
      .last()
      .waitFor();
    return { ...made, dialogs };
  }

  /** What is closed is opened, as often as there is something to open. */
  async function openAll(page: Page, within: string): Promise<void> {
    for (let round = 0; round < 8; round++) {
      const opened = await page.evaluate((root) => {
        const closed = document.querySelectorAll<HTMLElement>(
          [
            `${root} [aria-expanded="false"]:not([aria-haspopup])`,
            `${root} details:not([open]) > summary`,
            // More of a list. Of a run that is too long for the page, one part is shown or another.
            `${root} :not(.loom-message-assistant) > .loom-more:not([aria-expanded])`,
          ].join(),
        );
        for (const element of closed) element.click();
        return closed.length;
      }, within);
      if (opened === 0) break;
    }
  }

  /** What waits for a pointer or the keyboard is touched; then the document is gone through. */
  async function expectHarmless(page: Page, within: string): Promise<void> {
    await page.evaluate((root) => {
      for (const element of document.querySelectorAll(`${root} *`))
        for (const type of ["mouseover", "focus", "toggle"]) element.dispatchEvent(new Event(type));
    }, within);
    expect(await page.evaluate(findForbidden)).toEqual([]);
  }

  async function leave({ page, context, complaints, dialogs }: Awaited<ReturnType<typeof look>>): Promise<void> {
    expect(await page.evaluate(() => "__ran" in globalThis)).toBe(false);
    expect(context.pages()).toHaveLength(1);
    expect(new URL(page.url()).origin).toBe(stage.url);
    // Blobs that are not there, and pictures that are none, are no matter here.
    const noImage = /^Failed to load resource: (?:.* status of (?:4\d\d|502)|net::ERR_INVALID_URL)/;
    expect(complaints.filter((text) => !noImage.test(text))).toEqual([]);
    expect(dialogs).toEqual([]);
    await context.close();
  }

  it.for(GROUPS.map((_, index) => index))(
    "do nothing in any field, nor where the frames are looked at (%i)",
    async (group, { task }) => {
      const texts = GROUPS[group] ?? [];
      task.meta.tried = texts.length;
      const made = await look(`fields-${group}`);
      const { page } = made;
      // Of a very long run the end is shown first.
      const earlier = page.locator(".loom-message-assistant > .loom-more");
      while ((await earlier.count()) > 0) await earlier.click();
      await openAll(page, "[data-turn]");
      await page.waitForFunction(() => document.querySelector(".loom-chart-drawing .loom-spinner") === null);
      // All that was said is there to be read, so that an empty page does not pass.
      expect(await page.locator(".loom-part").count()).toBeGreaterThan(texts.length * (isMixed ? 2 : 10));
      expect(await page.getByText(/events? (?:is|are) not shown/).count()).toBe(0);
      await expectHarmless(page, "[data-turn]");
      await page.getByRole("button", { name: "Inspect" }).last().click();
      const tabs = page.getByRole("region", { name: "Run inspector" }).getByRole("tab");
      await tabs.first().waitFor();
      expect(await tabs.count()).toBe(5);
      for (const tab of await tabs.all()) {
        await tab.click();
        await openAll(page, ".page-inspector");
        await expectHarmless(page, ".page-inspector");
      }
      await leave(made);
    },
  );

  it("do nothing in an answer of any format", async () => {
    const made = await look("answers");
    const { page } = made;
    const seen = new Set<string>();
    for (const top of [1e9, 0]) {
      await page.evaluate((to) => document.querySelector(".loom-conversation-scroller")?.scrollTo(0, to), top);
      await page.locator(`[data-turn="run-${top === 0 ? "markdown" : "application/x-unknown"}"]`).waitFor();
      await expectHarmless(page, "[data-turn]");
      const shown = await page
        .locator("[data-turn]")
        .evaluateAll((all) => all.map((turn) => turn.getAttribute("data-turn")));
      for (const turn of shown) seen.add(turn ?? "");
    }
    expect(seen.size).toBe(4);
    await leave(made);
  });

  it("do nothing in thoughts, nor in the title", async () => {
    const made = await look("thoughts");
    const { page } = made;
    await openAll(page, "[data-turn]");
    await expectHarmless(page, "[data-turn]");
    expect(await page.getByText(/events? (?:is|are) not shown/).count()).toBe(0);
    for (const role of ["treeitem", "option"] as const)
      for (const index of [0, 1, 2]) {
        await page.getByRole(role).nth(index).click();
        await expectHarmless(page, ".loom-drawing");
      }
    await leave(made);
  });

  it("do nothing in what is asked, in files, in what is found", async () => {
    const made = await look("question");
    const { page } = made;
    await openAll(page, "[data-turn]");
    await page.getByRole("button", { name: "Edit arguments" }).click();
    await expectHarmless(page, "[data-turn]");
    await page
      .locator('input[type="file"]')
      .first()
      .setInputFiles(
        TEXTS.slice(0, 5).map((text) => ({ name: `${text}.png`, mimeType: "image/png", buffer: Buffer.from("x") })),
      );
    await page.getByRole("searchbox", { name: "Search sessions" }).fill("window");
    await page.locator(".page-session-snippet").first().waitFor();
    await expectHarmless(page, ".page-sidebar");
    await page.getByRole("button", { name: "Knowledge base" }).click();
    await page.getByRole("searchbox", { name: "Search the documents" }).fill("window");
    await page.locator(".page-hits li").first().waitFor();
    await expectHarmless(page, "dialog");
    await leave(made);
  });
});
