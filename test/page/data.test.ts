// Data of all kinds: a large table, a chart, an image and a custom value.
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { JsonObject } from "../../src/protocol/index.ts";
import { defineTool } from "../../src/tools/index.ts";
import { hasChromium } from "../browser/launch.ts";
import { createCommandModel } from "./command-model.ts";
import { findAnswer, openPage, PHONE, sendMessage, waitForEnd } from "./journey.ts";
import { type PageFixture, createPageFixture } from "./page-fixture.ts";
import { LONG } from "../sampling.ts";

const ROWS = 100_000;
/** About as many rows as one event can hold. */
const LARGE: JsonObject = {
  name: "Measurements",
  columns: ["place", "level"],
  rows: Array.from({ length: ROWS }, (_, place) => [place, (place * 7) % 10]),
};
/** A Vega-Lite specification. */
const DRAWN: JsonObject = {
  $schema: "https://vega.github.io/schema/vega-lite/v6.json",
  title: "Tides",
  data: { values: [1, 4, 2, 5].map((level, hour) => ({ hour, level })) },
  mark: "line",
  encoding: { x: { field: "hour", type: "quantitative" }, y: { field: "level", type: "quantitative" } },
};
const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const EVENTS = {
  rows: { data_type: "dataframe", data: LARGE, metadata: { description: "every ten centimetres" } },
  drawing: { data_type: "chart", data: DRAWN },
  picture: { data_type: "image", data: { url: `data:image/png;base64,${DOT}`, alt: "a blue dot" } },
  own: { data_type: "custom", data: { sensor: "T-7", limits: { low: -5, high: 40 } } },
} as const;

describe.skipIf(!hasChromium)("data on the page (skipped without Chromium)", () => {
  /** Ends the run that shows the rows. */
  let finish: () => void = () => undefined;
  const tool = defineTool({
    name: "present",
    description: "Shows a value.",
    input: z.object({ what: z.enum(["rows", "drawing", "picture", "own"]) }),
    maxShownBytes: 1024 * 1024,
    execute: async ({ what }, { show }) => {
      show({ type: "data", ...EVENTS[what] });
      if (what === "rows") await new Promise<void>((resolve) => (finish = resolve));
      return "The value is shown.";
    },
  });
  let fixture: PageFixture;
  beforeAll(async () => {
    fixture = await createPageFixture({ model: createCommandModel(), tools: [tool] });
  });
  afterAll(() => fixture.close());
  const ask = (what: keyof typeof EVENTS): string => `present {"what": "${what}"}`;

  it.runIf(LONG)("browses a hundred thousand rows", async () => {
    const { page, context, complaints, copies } = await openPage(fixture);
    await sendMessage(page, ask("rows"));
    const figure = findAnswer(page).getByRole("figure", { name: "Measurements" });
    const table = figure.getByRole("table", { name: "Measurements" });
    const rows = table.getByRole("row").filter({ has: page.getByRole("cell") });
    await figure.getByText("100,000 rows").waitFor();
    await figure.getByText("every ten centimetres").waitFor();
    expect(await rows.first().innerText()).toBe("0\t0");
    expect(await table.getAttribute("aria-rowcount")).toBe(String(ROWS + 1));

    const level = table.getByRole("columnheader", { name: "level" });
    await level.getByRole("button").click();
    await level.getByRole("button").click();
    await table.locator('th[aria-sort="descending"]').waitFor();
    await rows.first().getByText("9", { exact: true }).last().waitFor();

    await figure.getByRole("searchbox").fill("9999");
    await figure.getByText("19 of 100,000 rows").waitFor();
    const copy = figure.getByRole("button", { name: "Copy as CSV" });
    // The rows move while they are filtered, and a click may miss the button.
    await expect.poll(async () => copies.length || (await copy.click(), copies.length)).toBeGreaterThan(0);
    const [csv = ""] = copies;
    expect(csv.trim().split(/\r?\n/)).toHaveLength(20);
    expect(csv).toMatch(/^place,level\r?\n/);

    // Escape clears the search field. In an empty field it does nothing, and the run continues.
    await figure.getByRole("searchbox").press("Escape");
    await figure.getByText("100,000 rows", { exact: true }).waitFor();
    await figure.getByRole("searchbox").press("Escape");
    finish();
    await waitForEnd(page);
    await level.getByRole("button").click();
    const pages = figure.getByRole("navigation", { name: "Pages of Measurements" });
    await pages.getByRole("button", { name: "Last page" }).click();
    await pages.getByText("Page 5,000 of 5,000").waitFor();
    await rows.first().getByText("99980").waitFor();
    await pages.getByRole("combobox", { name: "Rows per page" }).selectOption({ label: "All rows" });
    await pages.getByText("Page 5,000").waitFor({ state: "detached" });
    const scroller = figure.getByRole("group", { name: "Measurements" });
    await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await rows.last().getByText("99999").waitFor();
    // Only what can be seen is there.
    expect(await rows.count()).toBeLessThan(60);

    // More than is written at a stretch.
    await figure.getByRole("button", { name: "Copy as CSV" }).click();
    await figure.getByRole("button", { name: "Copied" }).waitFor();
    const download = page.waitForEvent("download");
    await figure.getByRole("button", { name: "Download CSV" }).click();
    const file = await download;
    expect(file.suggestedFilename()).toBe("Measurements.csv");
    expect(
      readFileSync(await file.path(), "utf8")
        .trim()
        .split("\n"),
    ).toHaveLength(ROWS + 1);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)(
    "draws a chart and a diagram, shows an image and a value tree, on a phone with the dark theme",
    async () => {
      const { page, context, complaints } = await openPage(fixture, { language: "zh", theme: "dark", ...PHONE });
      await sendMessage(page, ask("drawing"), "zh");
      const chart = findAnswer(page, "zh").getByRole("figure", { name: "Tides" });
      await chart
        .getByRole("img", { name: /^Tides；折线图；4 个数据点/ })
        .locator("svg path[stroke]")
        .first()
        .waitFor();
      await waitForEnd(page, "zh");

      await sendMessage(page, ask("picture"), "zh");
      await waitForEnd(page, "zh", 2);
      await findAnswer(page, "zh").getByText("a blue dot").waitFor();
      await findAnswer(page, "zh").getByRole("button", { name: "查看图片：a blue dot" }).click();
      const viewer = page.getByRole("dialog", { name: "a blue dot" });
      const image = viewer.getByRole("img", { name: "a blue dot" });
      await viewer.getByRole("button", { name: "放大" }).click();
      await viewer.getByText(/^[\d,]+ %$/).waitFor();
      await page.keyboard.press("0");
      await viewer.getByText(/^[\d,]+ %$/).waitFor({ state: "detached" });
      expect(await image.evaluate((element: HTMLImageElement) => element.complete && element.naturalWidth)).toBe(1);
      await page.keyboard.press("Escape");
      await viewer.waitFor({ state: "detached" });

      await sendMessage(page, ask("own"), "zh");
      await waitForEnd(page, "zh", 3);
      await findAnswer(page, "zh").getByText("T-7").waitFor();

      const block = (source: string): string => `\`\`\`mermaid\n${source}\n\`\`\``;
      const flow = "flowchart LR\n  accTitle: Way home\n  A[Work] --> B[Home]";
      await sendMessage(page, `say ${block(flow)}\n\n${block("flowchart LR\n  A --> [[[")}`, "zh");
      const diagram = findAnswer(page, "zh").getByRole("img", { name: "图：Way home" });
      await diagram.waitFor();
      const size = await diagram.evaluate((drawn: HTMLImageElement) => [drawn.naturalWidth, drawn.naturalHeight]);
      expect(Math.min(...size)).toBeGreaterThan(30);
      await findAnswer(page, "zh").getByText("未绘制：第 2 行有语法错误。").waitFor();
      const code = findAnswer(page, "zh").getByRole("group", { name: "代码（mermaid）" });
      expect(await code.allInnerTexts()).toEqual([expect.stringContaining("[[[")]);
      await findAnswer(page, "zh").getByRole("button", { name: "代码", exact: true }).click();
      await diagram.waitFor({ state: "detached" });
      await code.getByText("accTitle: Way home").waitFor();
      await findAnswer(page, "zh").getByRole("button", { name: "图", exact: true }).click();
      await diagram.waitFor();
      const { scrollWidth, clientWidth } = await page.evaluate(() => document.documentElement);
      expect(scrollWidth).toBe(clientWidth);
      expect(complaints).toEqual([]);
      await context.close();
    },
  );
});
