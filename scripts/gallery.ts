/**
 * Pictures of the page in its main states, of a real server with the offline model, into `docs/gallery/`. What is live
 * is halted where it is worth a look, so that the pictures differ from time to time only in the times they tell.
 */
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { HeldModel } from "../test/page/held-model.ts";
import { type Language, PHONE, say, waitForEnd } from "../test/page/journey.ts";
import { type LookOptions, type PageStage, setPageStage } from "../test/page/stage.ts";
import { packageRoot } from "../test/source-files.ts";

const FOLDER = join(packageRoot, "docs", "gallery");
/** They are loaded by whoever reads the README. */
const MAX_BYTES = 150_000;
const PATIENCE_MS = 15_000;
const WIDE = { width: 1280, height: 800 } as const;

/** As the prompts are called that the page offers. */
const PROMPTS = {
  en: { plan: "Plan a launch", tree: "Search, and turn back", graph: "Go deeper", ask: "Ask before acting" },
  zh: { plan: "策划一次发布", tree: "搜索与回溯", graph: "逐层深入", ask: "先问再做" },
} as const;
const CITIES =
  "Make a table: city, country, people in millions; Tokyo, Japan, 37; Delhi, India, 34; Shanghai, China, 30; Dhaka, Bangladesh, 24; Cairo, Egypt, 23; São Paulo, Brazil, 23; Mexico City, Mexico, 22; Beijing, China, 22; Mumbai, India, 22; Chongqing, China, 18";

interface Stand {
  readonly stage: PageStage;
  readonly model: HeldModel;
  readonly language: Language;
}

/** Opens the page, brings it into its state, takes the picture. */
async function take(
  { stage, model, language }: Stand,
  name: string,
  options: LookOptions,
  prepare: (page: Page) => Promise<unknown>,
): Promise<void> {
  const { page, context, complaints } = await stage.look({ language, ...options });
  page.setDefaultTimeout(PATIENCE_MS);
  await prepare(page);
  await page.mouse.move(0, 0);
  await settle(page);
  const path = join(FOLDER, `${name}.png`);
  await page.screenshot({ path });
  model.goOn();
  await context.close();
  const { size } = statSync(path);
  console.log(`${name}.png: ${Math.round(size / 1000)} kB`);
  if (size > MAX_BYTES) throw new Error(`${name}.png has ${size} bytes`);
  if (complaints.length > 0) throw new Error(`${name}.png: ${complaints.join("; ")}`);
}

/** Nothing has come to the page for a while: what was to be loaded is there, and what goes on waits. */
async function settle(page: Page): Promise<void> {
  for (let last = -1, calm = 0; calm < 4;) {
    await page.waitForTimeout(150);
    const count = await page.evaluate(() => document.querySelectorAll("*").length);
    calm = count === last ? calm + 1 : 0;
    last = count;
  }
}

const press = (page: Page, language: Language, prompt: keyof (typeof PROMPTS)["en"]): Promise<void> =>
  page.getByRole("button", { name: PROMPTS[language][prompt] }).click();

async function setStand(language: Language): Promise<Stand> {
  const model = new HeldModel();
  return { stage: await setPageStage({ model }), model, language };
}

async function showEnglish(stand: Stand): Promise<void> {
  const { stage, model } = stand;
  await take(stand, "answer", { width: 1280, height: 1240 }, async (page) => {
    await press(page, "en", "plan");
    await waitForEnd(page);
    await page.getByRole("checkbox").first().check();
    await page.getByRole("checkbox").nth(1).check();
    await page.getByText("2 of 6").waitFor();
    await page.getByRole("figure").getByRole("img").locator("svg").waitFor();
  });
  await take(stand, "tree", { ...WIDE, theme: "dark" }, async (page) => {
    model.goUntil("stream-start", 72);
    await press(page, "en", "tree");
    await page.getByText(/\d backtracks/).waitFor();
  });
  await take(stand, "approval", PHONE, async (page) => {
    await press(page, "en", "ask");
    await page.getByRole("button", { name: "Approve" }).waitFor();
  });
  await take(stand, "inspector", { width: 1440, height: 860 }, async (page) => {
    await press(page, "en", "plan");
    await waitForEnd(page);
    await page.getByRole("button", { name: "Inspector", exact: true }).click();
    await page.getByRole("slider", { name: "Place in the run" }).fill("60");
    await page.getByRole("tab", { name: "Replay" }).click();
  });
  await take(stand, "table", WIDE, async (page) => {
    await say(page, CITIES);
    await waitForEnd(page);
    await page.getByRole("searchbox", { name: "Filter the rows" }).fill("china");
  });
  await stage.knowledge.add(join(packageRoot, "docs", "handbook", "en"));
  await take(stand, "knowledge", WIDE, async (page) => {
    await page.getByRole("button", { name: "Knowledge base" }).click();
    await page.getByRole("dialog").getByRole("searchbox").fill("resume");
  });
}

async function showChinese(stand: Stand): Promise<void> {
  const { model } = stand;
  await take(stand, "start", WIDE, (page) => page.getByRole("button", { name: PROMPTS.zh.plan }).waitFor());
  await take(stand, "answer-phone", { width: PHONE.width, height: 1400, theme: "dark" }, async (page) => {
    await press(page, "zh", "plan");
    await waitForEnd(page, "zh");
    await page.getByRole("figure").getByRole("img").locator("svg").waitFor();
  });
  await take(stand, "graph", WIDE, async (page) => {
    model.goUntil("stream-start", 15);
    await press(page, "zh", "graph");
    await page.getByText(/扩展 1 次/).waitFor();
  });
}

mkdirSync(FOLDER, { recursive: true });
const only = process.argv.slice(2);
for (const [language, show] of [
  ["en", showEnglish],
  ["zh", showChinese],
] as const) {
  if (only.length > 0 && !only.includes(language)) continue;
  const stand = await setStand(language);
  try {
    await show(stand);
  } finally {
    stand.model.goOn();
    await stand.stage.close();
  }
}
