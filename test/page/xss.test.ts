/**
 * Hostile texts in every field that a model, a tool, a file or a document fills, in the built page: nothing runs,
 * nothing is requested from another host, the document contains nothing that could do either, and the page keeps
 * working. `npm run test:long` tries the whole corpus in every field.
 */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "../browser/launch.ts";
import { LONG, PAGE_SAMPLES, sampleCases } from "../sampling.ts";
import {
  DRAWN_DIAGRAMS,
  writeHostileAnswers,
  writeHostileQuestion,
  writeHostileSession,
  writeHostileThoughts,
} from "./hostile-session.ts";
import { type OpenedPage, type PageFixture, createPageFixture } from "./page-fixture.ts";
import { XSS_KINDS } from "./xss-corpus.ts";

/** All texts of each kind, or one. */
const TEXTS = [...XSS_KINDS.values()].flatMap((texts) => texts.slice(0, PAGE_SAMPLES.hostileOfKind));
/** With one text per kind, each field gets another text. */
const isMixed = PAGE_SAMPLES.hostileOfKind === 1;

/** Texts per run. */
const AT_ONCE = isMixed ? TEXTS.length : 16;
/** Minimum number of fields per text. */
const MIN_FIELDS = 5;
const GROUPS = Array.from({ length: Math.ceil(TEXTS.length / AT_ONCE) }, (_, index) =>
  TEXTS.slice(index * AT_ONCE, (index + 1) * AT_ONCE),
);

/** Runs in the page: returns forbidden elements and attributes. */
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
    // Diagrams are drawn in a sandboxed frame and shown as images.
    const isSandbox = element.matches(
      'iframe[sandbox="allow-scripts"][src$="/assets/diagram-frame.html"]:not([srcdoc])',
    );
    const isDiagram = element.matches('.page-diagram img[src^="data:image/svg+xml,"]');
    if (refused.has(name) && !isSandbox) tell(name);
    const src = element.getAttribute("src") ?? (name === "link" ? element.getAttribute("href") : null);
    if (name === "script" || name === "link") {
      if (!/^(?:\.\/|http:\/\/127\.0\.0\.1:\d+\/)assets\/[\w-]+\.\w+$/.test(src ?? "")) tell(name);
      continue;
    }
    if (
      src !== null &&
      !isSandbox &&
      !isDiagram &&
      !/^(?:\.?\/v1\/|blob:|data:image\/(?:png|jpeg|gif|webp|avif);base64,[\w+/=]*$)/.test(src)
    )
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

describe.skipIf(!hasChromium)("hostile texts (skipped without Chromium)", about, () => {
  let fixture: PageFixture;
  beforeAll(async () => {
    fixture = await createPageFixture();
    const { log } = fixture;
    for (const [index, texts] of GROUPS.entries()) {
      const given = await writeHostileSession(log, `fields-${index}`, texts, { isMixed });
      expect(texts.filter((text) => (given.get(text) ?? 0) < MIN_FIELDS)).toEqual([]);
    }
    await writeHostileAnswers(log, "answers", TEXTS);
    await writeHostileThoughts(log, "thoughts", TEXTS);
    await writeHostileQuestion(log, "question", TEXTS);
    // No more documents than a search returns.
    const perDocument = isMixed ? 5 : 1;
    for (let index = 0; index < TEXTS.length; index += perDocument) {
      const text = TEXTS.slice(index, index + perDocument).join(" ");
      const name = text.replaceAll("\0", "").slice(0, 500);
      await fixture.knowledge.addText({ uri: `${name} ${index}`, title: `${name} window`, text: `window ${text}` });
    }
    await fetch(`${fixture.url}/v1/sessions/thoughts`, {
      method: "PATCH",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ title: TEXTS.join(" ").slice(0, 150) }),
    });
  });
  afterAll(async () => {
    await fixture.close();
  });

  async function open(session: string): Promise<OpenedPage & { readonly dialogs: string[] }> {
    const opened = await fixture.open({ path: `#/s/${session}`, height: 3000 });
    const dialogs: string[] = [];
    opened.page.on("dialog", (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    opened.page.setDefaultTimeout(15_000);
    // Wait until everything is rendered.
    await opened.page
      .locator(session === "question" ? ".loom-approval" : ".loom-run-footer")
      .last()
      .waitFor();
    return { ...opened, dialogs };
  }

  /** Opens everything, also what opening reveals. */
  async function openAll(page: Page, within: string): Promise<void> {
    for (let round = 0; round < 8; round++) {
      const opened = await page.evaluate((root) => {
        const closed = document.querySelectorAll<HTMLElement>(
          [
            `${root} [aria-expanded="false"]:not([aria-haspopup])`,
            `${root} details:not([open]) > summary`,
            // More of a list. Long runs show one section at a time, so their buttons are left alone.
            `${root} :not(.loom-message-assistant) > .loom-more:not([aria-expanded])`,
          ].join(),
        );
        for (const element of closed) element.click();
        return closed.length;
      }, within);
      if (opened === 0) break;
    }
  }

  /** Triggers pointer and keyboard handlers, then checks the document. */
  async function expectHarmless(page: Page, within: string): Promise<void> {
    await page.evaluate((root) => {
      for (const element of document.querySelectorAll(`${root} *`))
        for (const type of ["mouseover", "focus", "toggle"]) element.dispatchEvent(new Event(type));
    }, within);
    expect(await page.evaluate(findForbidden)).toEqual([]);
  }

  /** Diagrams run nothing, not even in their frame, which cannot reach the page. */
  async function expectSandboxedDiagrams(page: Page): Promise<void> {
    await page
      .locator(".page-diagram img")
      .nth(DRAWN_DIAGRAMS - 1)
      .waitFor();
    await page.getByText(/^Diagram not drawn: /).waitFor();
    const [frame, ...others] = page.frames().filter((each) => each !== page.mainFrame());
    expect(others).toEqual([]);
    const seen = await frame?.evaluate(() => {
      const tryOut = (act: () => unknown): string => {
        try {
          return String(act());
        } catch (error) {
          return (error as Error).name;
        }
      };
      return [
        String("__ran" in globalThis),
        globalThis.origin,
        tryOut(() => parent.document),
        tryOut(() => localStorage.length),
      ];
    });
    expect(seen).toEqual(["false", "null", "SecurityError", "SecurityError"]);
  }

  async function leave({ page, context, complaints, dialogs }: Awaited<ReturnType<typeof open>>): Promise<void> {
    expect(await page.evaluate(() => "__ran" in globalThis)).toBe(false);
    expect(context.pages()).toHaveLength(1);
    expect(new URL(page.url()).origin).toBe(fixture.url);
    // Missing blobs and broken images are expected. Newer browsers also report the handlers of documents that are only
    // parsed, where nothing can run; the page itself has none (`findForbidden`).
    const isExpected =
      /^Failed to load resource: (?:.* status of (?:4\d\d|502)|net::ERR_INVALID_URL)|^Executing inline event handler violates/;
    expect(complaints.filter((text) => !isExpected.test(text))).toEqual([]);
    expect(dialogs).toEqual([]);
    await context.close();
  }

  it.for(GROUPS.map((_, index) => index))("do nothing in any field or frame (%i)", async (group, { task }) => {
    const texts = GROUPS[group] ?? [];
    task.meta.tried = texts.length;
    const opened = await open(`fields-${group}`);
    const { page } = opened;
    // A very long run shows its end first.
    const earlier = page.locator(".loom-message-assistant > .loom-more");
    while ((await earlier.count()) > 0) await earlier.click();
    await openAll(page, "[data-turn]");
    await page.waitForFunction(() => document.querySelector(".loom-chart-drawing .loom-spinner") === null);
    // Everything is rendered, so that an empty page does not pass.
    expect(await page.locator(".loom-part").count()).toBeGreaterThan(texts.length * (isMixed ? 2 : 10));
    expect(await page.getByText(/events? not shown/).count()).toBe(0);
    await expectHarmless(page, "[data-turn]");
    await page.getByRole("button", { name: "Inspect" }).last().click();
    const tabs = page.getByRole("region", { name: "Run inspector" }).getByRole("tab");
    await tabs.first().waitFor();
    expect(await tabs.count()).toBe(5);
    for (const tab of sampleCases(await tabs.all(), { perKind: 2 })) {
      await tab.click();
      await openAll(page, ".page-inspector");
      await expectHarmless(page, ".page-inspector");
    }
    await leave(opened);
  });

  it("do nothing in an answer of any format", async () => {
    const opened = await open("answers");
    const { page } = opened;
    const seen = new Set<string>();
    for (const top of [1e9, 0]) {
      await page.evaluate((to) => document.querySelector(".loom-conversation-scroller")?.scrollTo(0, to), top);
      await page.locator(`[data-turn="run-${top === 0 ? "markdown" : "application/x-unknown"}"]`).waitFor();
      if (top === 0) await expectSandboxedDiagrams(page);
      await expectHarmless(page, "[data-turn]");
      const shown = await page
        .locator("[data-turn]")
        .evaluateAll((all) => all.map((turn) => turn.getAttribute("data-turn")));
      for (const turn of shown) seen.add(turn ?? "");
    }
    expect(seen.size).toBe(4);
    await leave(opened);
  });

  it.runIf(LONG)("do nothing in thoughts or the title", async () => {
    const opened = await open("thoughts");
    const { page } = opened;
    // Drawings are loaded on demand.
    await page.locator(".loom-thoughts").nth(1).waitFor();
    await openAll(page, "[data-turn]");
    await expectHarmless(page, "[data-turn]");
    expect(await page.getByText(/events? not shown/).count()).toBe(0);
    for (const role of ["treeitem", "option"] as const)
      for (const index of [0, 1, 2]) {
        await page.getByRole(role).nth(index).click();
        await expectHarmless(page, ".loom-drawing");
      }
    await leave(opened);
  });

  it.runIf(LONG)("do nothing in approvals, files or search results", async () => {
    const opened = await open("question");
    const { page } = opened;
    await openAll(page, "[data-turn]");
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    await page.locator(".loom-approval-fields").waitFor();
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
    await page.getByRole("searchbox", { name: "Search documents" }).fill("window");
    await page.locator(".page-hits li").first().waitFor();
    await expectHarmless(page, "dialog");
    await page.locator(".page-hits .page-document-open").first().click();
    await page.locator(".loom-highlight").waitFor();
    await expectHarmless(page, "dialog:has(.page-document)");
    await leave(opened);
  });
});
