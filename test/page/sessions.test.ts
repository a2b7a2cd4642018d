// The page around the conversation: session list, knowledge base, agent and model, language and theme.
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "../browser/launch.ts";
import { LONG, sampleCases } from "../sampling.ts";
import { findAnswer, findRun, openPage, PHONE, readEvents, readSessionId, sendMessage, waitForEnd } from "./journey.ts";
import { type PageFixture, createPageFixture } from "./page-fixture.ts";

describe.skipIf(!hasChromium)("sessions on the page (skipped without Chromium)", () => {
  let fixture: PageFixture;
  beforeAll(async () => {
    fixture = await createPageFixture();
  });
  afterAll(() => fixture.close());

  it("rates, copies and exports answers, and searches, renames, duplicates and deletes sessions", async () => {
    const { page, context, complaints, copies } = await openPage(fixture, { theme: "dark" });
    const list = page.getByRole("navigation", { name: "Sessions" });
    await sendMessage(page, "What is 6*7?");
    await waitForEnd(page);
    const run = findRun(page);
    await run.getByRole("button", { name: "Bad answer" }).click();
    await run.getByRole("textbox", { name: "Comment (optional)" }).fill("Show the steps");
    await run.getByRole("button", { name: "Send", exact: true }).click();
    await run.getByText("Thanks for your feedback.").waitFor();
    await page.reload();
    expect(await run.getByRole("button", { name: "Bad answer" }).getAttribute("aria-pressed")).toBe("true");
    await page.keyboard.press("Alt+i");
    await page.getByRole("region", { name: "Run inspector" }).getByText("Rated bad: Show the steps").waitFor();
    await page.keyboard.press("Alt+i");

    const chooseAction = async (item: string): Promise<void> => {
      await run.getByRole("button", { name: "More actions" }).click();
      await page.getByRole("menuitem", { name: item }).click();
    };
    await chooseAction("Copy question and answer");
    await expect.poll(() => copies.join("")).toMatch(/What is 6\\\*7\?[\s\S]*42/);
    const save = async (item: string): Promise<readonly [name: string, text: string]> => {
      const [download] = await Promise.all([page.waitForEvent("download"), chooseAction(item)]);
      return [download.suggestedFilename(), readFileSync(await download.path(), "utf8")];
    };
    expect(await save("Export as Markdown")).toEqual(["What is 6-7-.md", expect.stringContaining("42") as string]);
    const [name, html] = await save("Export as HTML");
    expect([name, html.includes("42"), /<script|<button/.test(html)]).toEqual(["What is 6-7-.html", true, false]);
    const events = await readEvents(fixture, readSessionId(page));
    expect(events.at(-1)).toMatchObject({ type: "feedback", rating: "bad", comment: "Show the steps" });

    await page.getByRole("button", { name: "New session" }).click();
    await sendMessage(page, "Make a to-do list: milk, bread");
    await waitForEnd(page);
    const link = (title: string | RegExp) => list.getByRole("link", { name: title });
    await link("What is 6*7?").waitFor();

    const search = page.getByRole("searchbox", { name: "Search sessions" });
    await search.fill("42");
    await list.getByText("Answer", { exact: true }).waitFor();
    await link(/^Make a to-do list/).waitFor({ state: "detached" });
    await link(/^What is 6\*7\?/).click();
    await findAnswer(page).getByText("6*7 = 42").waitFor();
    const readHighlights = () =>
      page.evaluate(() => [...(CSS.highlights.get("page-match") ?? [])].map((range) => (range as Range).toString()));
    await expect.poll(readHighlights).toContain("42");
    await search.fill("no such text");
    await list.getByText("No results").waitFor();
    await page.getByRole("button", { name: "Clear search" }).click();
    expect(await readHighlights()).toEqual([]);

    await list.getByRole("button", { name: "Actions for What is 6*7?" }).click();
    // With authentication off there is no sign-out.
    expect(await page.getByRole("menuitem").allInnerTexts()).toEqual([
      "Rename",
      "Pin",
      "Archive",
      "Duplicate",
      "Share session…",
      "Export session…",
      "Delete",
    ]);
    expect(await page.getByRole("button", { name: "Sign out" }).count()).toBe(0);
    await page.getByRole("menuitem", { name: "Rename" }).click();
    await list.getByRole("textbox", { name: "New title" }).fill("The answer");
    await page.keyboard.press("Enter");
    await link("The answer").waitFor();
    await page.getByRole("heading", { name: "The answer", level: 1 }).waitFor();
    expect(await page.title()).toBe("The answer – Loom");

    const before = readSessionId(page);
    await list.getByRole("button", { name: "Actions for The answer" }).click();
    await page.getByRole("menuitem", { name: "Duplicate" }).click();
    await link("Copy of The answer").waitFor();
    await page.getByRole("heading", { name: "Copy of The answer" }).waitFor();
    expect(readSessionId(page)).not.toBe(before);
    await findAnswer(page).getByText("6*7 = 42").waitFor();
    await sendMessage(page, "What is 1+1?");
    await waitForEnd(page, "en", 2);

    await list.getByRole("button", { name: "Actions for Copy of The answer" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    const question = page.getByRole("dialog", { name: "Delete session?" });
    await question.getByText("“Copy of The answer” and its files will be permanently deleted.").waitFor();
    await question.getByRole("button", { name: "Delete" }).click();
    await link("Copy of The answer").waitFor({ state: "detached" });
    await page.getByRole("heading", { name: "Watch an agent think" }).waitFor();

    // The original is unchanged, also after a reload.
    await page.reload();
    await link("The answer").click();
    await waitForEnd(page);
    expect(await page.getByRole("article").count()).toBe(1);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("keeps one entry per conversation, which can be pinned and archived, in every tab", async () => {
    const { page, context, complaints } = await openPage(fixture);
    await sendMessage(page, "What is 8*9?");
    await waitForEnd(page);
    const tab = await context.newPage();
    await tab.goto(page.url());
    const versionOf = (shown: Page, position: number, count: number) =>
      shown.getByRole("group", { name: `Version ${position} of ${count}`, exact: true });
    const listOf = (shown: Page) => shown.getByRole("navigation", { name: "Sessions" });
    const linksOf = (shown: Page) => listOf(shown).getByRole("link", { name: "What is 8*9?", exact: true });
    await findAnswer(tab).getByText("8*9 = 72").waitFor();
    for (const count of [2, 3]) {
      await page.getByRole("button", { name: "Retry" }).click();
      await versionOf(page, count, count).waitFor();
      await waitForEnd(page);
      // The other tab shows the first version.
      await versionOf(tab, 1, count).waitFor();
    }
    expect([await linksOf(page).count(), await linksOf(tab).count()]).toEqual([1, 1]);
    const newest = readSessionId(page);
    expect(await linksOf(page).getAttribute("href")).toBe(`#/s/${newest}`);
    // The entry opens the version that was used last.
    expect(await linksOf(tab).getAttribute("href")).toBe(`#/s/${readSessionId(tab)}`);

    const choose = async (action: string): Promise<void> => {
      // Newer browsers draw a hidden tab once per second.
      await page.bringToFront();
      await listOf(page).getByRole("button", { name: "Actions for What is 8*9?" }).click();
      await page.getByRole("menuitem", { name: action, exact: true }).click();
    };
    await choose("Pin");
    // The row has moved, and keeps the focus.
    await expect.poll(() => linksOf(page).evaluate((row) => row === document.activeElement)).toBe(true);
    for (const shown of [page, tab]) await listOf(shown).getByRole("heading", { name: "Pinned" }).waitFor();
    await choose("Archive");
    await linksOf(page).waitFor({ state: "detached" });
    await linksOf(tab).waitFor({ state: "detached" });
    await page.getByRole("heading", { name: "What is 8*9?", level: 1 }).waitFor();
    await listOf(tab).getByRole("button", { name: "Archived" }).click();
    await linksOf(tab).waitFor();
    await listOf(page).getByRole("button", { name: "Archived" }).click();
    await choose("Unarchive");
    // An empty archive is not shown.
    await listOf(page).getByRole("button", { name: "Archived" }).waitFor({ state: "detached" });
    await listOf(page).getByRole("heading", { name: "Pinned" }).waitFor();
    await page.reload();
    await listOf(page).getByRole("heading", { name: "Pinned" }).waitFor();

    await choose("Delete");
    const question = page.getByRole("dialog", { name: "Delete session?" });
    await question.getByText("“What is 8*9?”, all its versions and its files will be permanently deleted.").waitFor();
    await question.getByRole("button", { name: "Delete" }).click();
    await linksOf(page).waitFor({ state: "detached" });
    await linksOf(tab).waitFor({ state: "detached" });
    expect(await fixture.log.getSession(newest)).toBeUndefined();
    expect(complaints.filter((text) => !text.includes("404"))).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("uploads, opens, cites and deletes documents that agents can search", async () => {
    const { page, context, complaints } = await openPage(fixture, { language: "zh", ...PHONE });
    const open = async (): Promise<void> => {
      await page.getByRole("button", { name: "显示会话列表" }).click();
      await page.getByRole("button", { name: "知识库", exact: true }).click();
    };
    await open();
    const dialog = page.getByRole("dialog", { name: "知识库" });
    await dialog.getByText("暂无文档").waitFor();
    // Hold the upload until its progress was seen.
    let letGo = (): void => undefined;
    const isSeen = new Promise<void>((resolve) => (letGo = resolve));
    await page.route(/\/v1\/knowledge/, async (route) => {
      if (route.request().method() !== "GET") await isSeen;
      await route.continue();
    });
    const chooser = page.waitForEvent("filechooser");
    await dialog.getByRole("button", { name: "添加文件" }).click();
    await (
      await chooser
    ).setFiles([
      { name: "zoo.md", mimeType: "text/markdown", buffer: Buffer.from("# 动物园\n\n大象住在四号馆。\n") },
      { name: "film.mp4", mimeType: "video/mp4", buffer: Buffer.from([0, 1, 2, 3]) },
    ]);
    const uploads = dialog.getByRole("list", { name: "上传列表" }).getByRole("listitem");
    await dialog.getByRole("progressbar", { name: "正在添加 zoo.md" }).waitFor();
    letGo();
    await uploads.filter({ hasText: "zoo.md" }).getByText("已添加").waitFor();
    await uploads.filter({ hasText: "film.mp4" }).getByText("失败").waitFor();
    const again = page.waitForRequest((request) => request.url().includes("film.mp4"));
    await uploads.getByRole("button", { name: "重新上传 film.mp4" }).click();
    await again;
    await uploads.filter({ hasText: "film.mp4" }).getByText("失败").waitFor();
    await dialog.getByText(/^zoo\.md · \d+ B/).waitFor();

    const document = page.getByRole("dialog", { name: "动物园" });
    const title = dialog.getByRole("button", { name: "打开 动物园" });
    await title.click();
    await document.getByRole("heading", { name: "动物园", level: 2 }).nth(1).waitFor();
    await document.getByText("大象住在四号馆。").waitFor();
    await page.keyboard.press("Escape");
    await document.waitFor({ state: "detached" });
    expect(await title.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);

    await dialog.getByRole("searchbox", { name: "搜索文档" }).fill("大象");
    await dialog.getByText("1 个段落", { exact: true }).waitFor();
    await dialog.getByText(/大象住在四号馆/).waitFor();
    await dialog.getByRole("button", { name: "关闭" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.keyboard.press("Escape");

    await sendMessage(page, "大象住在哪里？请查知识库", "zh");
    await waitForEnd(page, "zh");
    const sources = findAnswer(page, "zh").getByRole("button", { name: /1 个来源/ });
    await sources.click();
    await findAnswer(page, "zh").getByText("动物园", { exact: true }).first().waitFor();
    await findAnswer(page, "zh")
      .getByText(/四号馆/)
      .first()
      .waitFor();

    // By pointer, and after a reload by keyboard.
    const citation = findAnswer(page, "zh").getByRole("button", { name: "来源 1：动物园" }).first();
    const passage = document.getByRole("region", { name: "引用的段落" });
    await citation.click();
    await passage.getByText("大象住在四号馆。").waitFor();
    await page.keyboard.press("Escape");
    await document.waitFor({ state: "detached" });
    await page.reload();
    await citation.focus();
    await page.keyboard.press("Enter");
    await passage.getByText("大象住在四号馆。").waitFor();
    expect(await passage.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    await page.keyboard.press("Escape");
    await document.waitFor({ state: "detached" });
    expect(await citation.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    const cited = findAnswer(page, "zh").getByRole("group", { name: "来源", exact: true }).getByRole("button");
    expect(await cited.allInnerTexts()).toEqual([expect.stringMatching(/^1\s*动物园\s*第 1–3 行$/)]);

    await open();
    await dialog.getByRole("button", { name: "删除 动物园" }).click();
    await dialog.getByRole("group", { name: "删除“动物园”？" }).getByRole("button", { name: "删除" }).click();
    await dialog.getByText("暂无文档").waitFor();
    await dialog.getByRole("button", { name: "关闭" }).click();
    await page.keyboard.press("Escape");
    await cited.click();
    await document.getByText("知识库中没有此文档，可能已被删除。").waitFor();
    await passage.getByText(/大象住在四号馆/).waitFor();
    expect(complaints.filter((text) => !/the server responded with a status of 4\d\d/.test(text))).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("shows the model, and how to use another", async () => {
    const { page, context, complaints } = await openPage(fixture);
    await page.getByRole("button", { name: "Model: Offline model" }).click();
    await page.getByText(/Rule-based demo model.*set one of these variables and restart the server/).waitFor();
    await page.getByText("OPENAI_API_KEY").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Agent: ReAct" }).click();
    const kinds = page.getByRole("menu").getByRole("menuitemradio");
    expect((await kinds.allInnerTexts()).map((text) => text.split("\n")[0])).toEqual([
      "ReAct",
      "Tree of thoughts",
      "Graph of thoughts",
      "Adaptive graph",
    ]);
    await kinds.nth(2).click();
    await page.getByRole("button", { name: "Agent: Graph of thoughts" }).waitFor();
    await sendMessage(page, "What is 2+3?");
    await waitForEnd(page);
    // A choice in a session is for that session, and used by its next message.
    await page.getByRole("button", { name: "Agent: Graph of thoughts" }).click();
    await kinds.nth(0).click();
    await sendMessage(page, "What is 3+4?");
    await waitForEnd(page, "en", 2);
    await page.reload();
    await page.getByRole("button", { name: "Agent: ReAct" }).waitFor();
    await page.getByRole("button", { name: "New session" }).click();
    await page.getByRole("button", { name: "Agent: Graph of thoughts" }).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG).each(
    sampleCases([
      ["en", "Keyboard shortcuts", "New line Shift Enter"],
      ["zh", "键盘快捷键", "换行 Shift Enter"],
    ] as const),
  )("lists the keyboard shortcuts, also while typing: %s", async (language, title, line) => {
    const { page, context, complaints } = await openPage(fixture, { language, ...PHONE });
    const box = page.getByRole("textbox", { name: language === "zh" ? "消息" : "Message", exact: true });
    await expect.poll(() => box.evaluate((element) => element === document.activeElement)).toBe(true);
    await page.keyboard.press("?");
    expect(await box.inputValue()).toBe("?");
    await page.keyboard.press("Alt+/");
    const rows = page.getByRole("dialog", { name: title }).locator("dl > div");
    await rows.first().waitFor();
    const texts = (await rows.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " "));
    expect(texts).toContain(line);
    for (const keys of ["Alt /", "?", "Ctrl Enter", "↑ ↓ ← →", "+ − 0"])
      expect(texts.filter((text) => text.endsWith(` ${keys}`))).toHaveLength(1);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("keeps the chosen language and theme", async () => {
    const { page, context, complaints } = await openPage(fixture, { language: "zh", theme: "light" });
    const ground = (shown: Page): Promise<number> =>
      shown.evaluate(() => {
        const [first = "0"] = getComputedStyle(document.body).backgroundColor.match(/\d+/) ?? [];
        return Number(first);
      });
    await page.getByRole("heading", { name: "看智能体如何思考" }).waitFor();
    expect(await page.evaluate(() => document.documentElement.lang)).toMatch(/^zh/);
    expect(await ground(page)).toBeGreaterThan(200);
    await page.getByRole("button", { name: "语言：中文" }).click();
    await page.getByRole("menuitemradio", { name: "English" }).click();
    await page.getByRole("heading", { name: "Watch an agent think" }).waitFor();
    await page.getByRole("button", { name: "Theme" }).click();
    await page.getByRole("menuitemradio", { name: "Dark" }).click();
    expect(await ground(page)).toBeLessThan(60);

    await page.reload();
    const another = await context.newPage();
    await another.goto(fixture.url);
    for (const opened of [page, another]) {
      await opened.getByRole("heading", { name: "Watch an agent think" }).waitFor();
      expect(await opened.evaluate(() => document.documentElement.lang)).toBe("en");
      expect(await ground(opened)).toBeLessThan(60);
    }
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("has settings and a command palette", async () => {
    const { page, context, complaints } = await openPage(fixture);
    const box = page.getByRole("textbox", { name: "Message", exact: true });
    await box.waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog", { name: "Command palette" }).waitFor();
    await page.keyboard.type("sett");
    await page.getByRole("option", { name: "Open settings", selected: true }).waitFor();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Settings" });
    await dialog.getByRole("combobox", { name: "Theme" }).selectOption("Dark");
    await dialog.getByRole("combobox", { name: "Send messages with" }).selectOption("ctrl-enter");
    await dialog.getByRole("switch", { name: "Reduce motion" }).check();
    await dialog.getByRole("textbox", { name: "System prompt" }).fill("Answer in one line.");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    const { theme, motion } = await page.evaluate(() =>
      structuredClone(Object.assign({}, document.documentElement.dataset)),
    );
    expect([theme, motion]).toEqual(["dark", "reduced"]);
    await page.reload();
    await box.fill("What is");
    await box.press("Enter");
    await page.keyboard.type("6*7?");
    expect(await box.inputValue()).toBe("What is\n6*7?");
    await page.keyboard.press("Control+Enter");
    await waitForEnd(page);
    const [start] = await readEvents(fixture, readSessionId(page));
    expect(start).toMatchObject({ type: "run_start", instructions: "Answer in one line." });
    // The prompt belongs to the session: another browser continues with it.
    const other = await openPage(fixture, { path: `#/s/${readSessionId(page)}` });
    await waitForEnd(other.page);
    await other.page.getByRole("button", { name: "Settings" }).click();
    const prompt = other.page.getByRole("textbox", { name: "System prompt" });
    expect(await prompt.inputValue()).toBe("Answer in one line.");
    await other.page.keyboard.press("Escape");
    await sendMessage(other.page, "What is 2*3?");
    await waitForEnd(other.page, "en", 2);
    const starts = (await readEvents(fixture, readSessionId(page))).filter(({ type }) => type === "run_start");
    expect(starts[1]).toMatchObject({ instructions: "Answer in one line." });
    await other.context.close();

    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search sessions, actions and agents" }).fill("tree");
    await page.getByRole("option", { name: "Tree of thoughts" }).click();
    await page.getByRole("button", { name: "Agent: Tree of thoughts" }).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });
});
