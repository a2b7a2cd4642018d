/**
 * Takes screenshots of the page in its main states into `docs/gallery/`, with a real server and the offline model. Live
 * runs are paused at fixed points, so that screenshots of two builds differ only in their times.
 */
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { shareChromium } from "../test/browser/launch.ts";
import { type Language, PHONE, sendMessage, waitForEnd } from "../test/page/journey.ts";
import { createPageFixture, type OpenPageOptions, type PageFixture } from "../test/page/page-fixture.ts";
import { PausableModel } from "../test/page/pausable-model.ts";
import { packageRoot } from "../test/source-files.ts";

const FOLDER = join(packageRoot, "docs", "gallery");
/** The README shows these images, so they must load fast. */
const MAX_BYTES = 150_000;
const STEP_TIMEOUT_MS = 15_000;
const WIDE = { width: 1280, height: 800 } as const;

/** Titles of the suggested prompts. */
const PROMPTS = {
  en: { plan: "Plan a launch", tree: "Search with backtracking", graph: "Go deeper", ask: "Ask before acting" },
  zh: { plan: "策划产品发布", tree: "搜索与回溯", graph: "逐层深入", ask: "先确认再执行" },
} as const;
const CITIES =
  "Make a table: city, country, people in millions; Tokyo, Japan, 37; Delhi, India, 34; Shanghai, China, 30; Dhaka, Bangladesh, 24; Cairo, Egypt, 23; São Paulo, Brazil, 23; Mexico City, Mexico, 22; Beijing, China, 22; Mumbai, India, 22; Chongqing, China, 18";

interface Studio {
  readonly fixture: PageFixture;
  readonly model: PausableModel;
  readonly language: Language;
}

/** Opens the page, prepares its state and takes a screenshot. */
async function take(
  { fixture, model, language }: Studio,
  name: string,
  options: OpenPageOptions,
  prepare: (page: Page) => Promise<unknown>,
): Promise<void> {
  const { page, context, complaints } = await fixture.open({ language, ...options });
  page.setDefaultTimeout(STEP_TIMEOUT_MS);
  await prepare(page);
  await page.mouse.move(0, 0);
  await settle(page);
  const path = join(FOLDER, `${name}.png`);
  await page.screenshot({ path });
  model.resume();
  await context.close();
  const { size } = statSync(path);
  console.log(`${name}.png: ${Math.round(size / 1000)} kB`);
  if (size > MAX_BYTES) throw new Error(`${name}.png has ${size} bytes, at most ${MAX_BYTES} are allowed`);
  if (complaints.length > 0) throw new Error(`${name}.png: ${complaints.join("; ")}`);
}

/** Waits until the number of elements is stable. */
async function settle(page: Page): Promise<void> {
  for (let last = -1, stable = 0; stable < 4;) {
    await page.waitForTimeout(150);
    const count = await page.evaluate(() => document.querySelectorAll("*").length);
    stable = count === last ? stable + 1 : 0;
    last = count;
  }
}

const press = (page: Page, language: Language, prompt: keyof (typeof PROMPTS)["en"]): Promise<void> =>
  page.getByRole("button", { name: PROMPTS[language][prompt] }).click();

async function openStudio(language: Language): Promise<Studio> {
  const model = new PausableModel();
  return { fixture: await createPageFixture({ model }), model, language };
}

async function takeEnglish(studio: Studio): Promise<void> {
  const { fixture, model } = studio;
  await take(studio, "answer", { width: 1280, height: 1240 }, async (page) => {
    await press(page, "en", "plan");
    await waitForEnd(page);
    await page.getByRole("checkbox").first().check();
    await page.getByRole("checkbox").nth(1).check();
    await page.getByText("2 of 6").waitFor();
    await page.getByRole("figure").getByRole("img").locator("svg").waitFor();
  });
  await take(studio, "tree", { ...WIDE, theme: "dark" }, async (page) => {
    model.pauseAt("stream-start", 72);
    await press(page, "en", "tree");
    await page.getByText(/\d backtracks/).waitFor();
  });
  await take(studio, "approval", PHONE, async (page) => {
    await press(page, "en", "ask");
    await page.getByRole("button", { name: "Allow", exact: true }).waitFor();
  });
  await take(studio, "search-ended", PHONE, async (page) => {
    await press(page, "en", "tree");
    await waitForEnd(page);
  });
  await take(studio, "versions", WIDE, async (page) => {
    await press(page, "en", "plan");
    await waitForEnd(page);
    await page.getByRole("button", { name: "Edit message" }).first().click();
    await page
      .getByRole("textbox", { name: "Edited message" })
      .fill("Make a to-do list: write the release notes, release, tell everyone; and calculate 8 + 20");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("group", { name: "Version 2 of 2" }).waitFor();
    await waitForEnd(page);
    await page.getByRole("article").last().hover();
  });
  await take(studio, "palette", { ...WIDE, theme: "dark" }, async (page) => {
    await page.getByRole("button", { name: PROMPTS.en.plan }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").getByRole("option").first().waitFor();
  });
  await take(studio, "inspector", { width: 1440, height: 860 }, async (page) => {
    await press(page, "en", "plan");
    await waitForEnd(page);
    await page.getByRole("button", { name: "Inspector", exact: true }).click();
    await page.getByRole("slider", { name: "Position in run" }).fill("60");
    await page.getByRole("tab", { name: "Replay" }).click();
  });
  await take(studio, "model-call", { width: 1440, height: 860 }, async (page) => {
    await sendMessage(page, "What is 17*23?");
    await waitForEnd(page);
    await page.getByRole("button", { name: "Inspector", exact: true }).click();
    await page.getByRole("tab", { name: "Models" }).click();
    await page.getByRole("region", { name: "Run inspector" }).getByRole("button", { name: "Parameters" }).waitFor();
  });
  await take(studio, "activity", { ...WIDE, theme: "dark" }, async (page) => {
    await press(page, "en", "ask");
    await page.getByRole("button", { name: "Allow", exact: true }).waitFor();
    await page.getByRole("button", { name: /^Activity/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Allow", exact: true }).first().waitFor();
  });
  await take(studio, "table", WIDE, async (page) => {
    await sendMessage(page, CITIES);
    await waitForEnd(page);
    await page.getByRole("searchbox", { name: "Filter rows" }).fill("china");
  });
  await fixture.knowledge.add(join(packageRoot, "docs", "handbook", "en"));
  await take(studio, "knowledge", WIDE, async (page) => {
    await page.getByRole("button", { name: "Knowledge base" }).click();
    await page.getByRole("dialog").getByRole("searchbox").fill("resume");
  });
  await take(studio, "citation", PHONE, async (page) => {
    await sendMessage(page, "How do I resume a stream?");
    await waitForEnd(page);
    await page
      .getByRole("button", { name: /^Source 1/ })
      .first()
      .click();
    await page.getByRole("region", { name: "Cited passage" }).waitFor();
  });
}

async function takeChinese(studio: Studio): Promise<void> {
  const { model } = studio;
  await take(studio, "start", WIDE, (page) => page.getByRole("button", { name: PROMPTS.zh.plan }).waitFor());
  await take(studio, "answer-phone", { width: PHONE.width, height: 1400, theme: "dark" }, async (page) => {
    await press(page, "zh", "plan");
    await waitForEnd(page, "zh");
    await page.getByRole("figure").getByRole("img").locator("svg").waitFor();
  });
  await take(studio, "graph", WIDE, async (page) => {
    model.pauseAt("stream-start", 15);
    await press(page, "zh", "graph");
    await page.getByText(/扩展 1 次/).waitFor();
  });
}

mkdirSync(FOLDER, { recursive: true });
const only = process.argv.slice(2);
for (const [language, takeAll] of [
  ["en", takeEnglish],
  ["zh", takeChinese],
] as const) {
  if (only.length > 0 && !only.includes(language)) continue;
  const studio = await openStudio(language);
  try {
    await takeAll(studio);
  } finally {
    studio.model.resume();
    await studio.fixture.close();
  }
}
const browser = await shareChromium();
await browser.close();
