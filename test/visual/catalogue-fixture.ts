/**
 * The catalogue of components in Chromium, drawn the same on every machine: fonts come only from packages, text has no
 * subpixels, the clock is stopped, and nothing moves.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { NOW } from "../../web/catalogue/now.ts";
import { installChromium } from "../browser/find-chromium.ts";
import { launchChromium } from "../browser/launch.ts";
import { buildOnce } from "../build-once.ts";
import { prepareFonts } from "../page/fonts.ts";
import { packageRoot } from "../source-files.ts";

const SOURCES = ["src/protocol", "src/framing", "src/dialects", "src/client", "src/react", "web"];
const ORIGIN = "http://catalogue.test";
const TYPES: { readonly [ending: string]: string } = {
  html: "text/html",
  js: "text/javascript",
  css: "text/css",
  svg: "image/svg+xml",
  woff2: "font/woff2",
};
/** Equal pictures in a row after which nothing changes any more. */
const STABLE = 2;
const MAX_TRIES = 40;

export interface PictureOptions {
  readonly component: string;
  readonly state: string;
  readonly theme?: "light" | "dark";
  readonly language?: "en" | "zh";
  /** Width of the window. Default: 832, as wide as the column of the conversation; 1280 for screens of the page. */
  readonly width?: number;
}

export interface CatalogueFixture {
  /** Returns a PNG. Throws if the browser reports errors. */
  take(options: PictureOptions): Promise<Buffer>;
  /** Opens a state for other checks. The caller closes the context. */
  open(options: PictureOptions): Promise<Page>;
  close(): Promise<void>;
}

function buildCatalogue(): Promise<string> {
  return buildOnce({
    name: "catalogue",
    sources: SOURCES,
    async build(outDir) {
      const { NODE_ENV } = process.env;
      process.env["NODE_ENV"] = "production";
      try {
        const { build } = await import("vite");
        const configFile = join(packageRoot, "web", "catalogue", "vite.config.ts");
        await build({ configFile, logLevel: "error", build: { outDir, emptyOutDir: true } });
      } finally {
        if (NODE_ENV === undefined) delete process.env["NODE_ENV"];
        else process.env["NODE_ENV"] = NODE_ENV;
      }
    },
  });
}

export async function createCatalogueFixture(): Promise<CatalogueFixture> {
  const [folder, browser] = await Promise.all([
    buildCatalogue(),
    Promise.all([prepareFonts({ hasSystemFonts: false }), installChromium()]).then(([env, from]) =>
      launchChromium(["--font-render-hinting=none", "--disable-lcd-text", "--force-color-profile=srgb"], env, from),
    ),
  ]);
  const open = (options: PictureOptions): Promise<Page> => openState(browser, folder, options);
  return {
    open,
    async take(options) {
      const page = await open(options);
      try {
        return await takeStable(page, options.component.startsWith("page "));
      } finally {
        await page.context().close();
      }
    },
    close: () => browser.close(),
  };
}

async function openState(browser: Browser, folder: string, options: PictureOptions): Promise<Page> {
  const { component, state, theme = "light", language = "en" } = options;
  const { width = component.startsWith("page ") ? 1280 : 832 } = options;
  const context = await browser.newContext({
    locale: language === "zh" ? "zh-CN" : "en-GB",
    timezoneId: "UTC",
    colorScheme: theme,
    viewport: { width, height: 800 },
    deviceScaleFactor: 1,
    reducedMotion: "reduce",
  });
  const faults: string[] = [];
  await serveFolder(context, folder);
  const page = await context.newPage();
  page.on("pageerror", (error) => faults.push(error.message));
  await page.clock.setFixedTime(NOW);
  const query = new URLSearchParams({ component, state, theme, language });
  await page.goto(`${ORIGIN}/catalogue/?${query}`, { waitUntil: "networkidle" });
  await page.evaluate(() => document.fonts.ready);
  // Lazy components and the drawings of charts.
  await page.waitForFunction(
    () => document.querySelector(".scene :is(.loom-chart-drawing, .loom-part-content) > .loom-spinner") === null,
  );
  if (faults.length > 0) throw new Error(`${component}, ${state}: ${faults.join("; ")}`);
  return page;
}

async function serveFolder(context: BrowserContext, folder: string): Promise<void> {
  await context.route(`${ORIGIN}/**`, async (route) => {
    const { pathname } = new URL(route.request().url());
    const path = pathname.endsWith("/") ? `${pathname}index.html` : pathname;
    const contentType = TYPES[path.slice(path.lastIndexOf(".") + 1)] ?? "application/octet-stream";
    try {
      await route.fulfill({ body: readFileSync(join(folder, path)), contentType });
    } catch {
      await route.fulfill({ status: 404 });
    }
  });
}

/** Takes pictures until they are equal. */
async function takeStable(page: Page, isWhole: boolean): Promise<Buffer> {
  const target = isWhole ? page : page.locator(".scene");
  let last: Buffer = Buffer.alloc(0);
  let equal = 1;
  for (let tries = 0; equal < STABLE; tries++) {
    if (tries === MAX_TRIES) throw new Error("the picture does not become stable");
    const taken = await target.screenshot({ animations: "disabled", caret: "hide", scale: "css" });
    equal = taken.equals(last) ? equal + 1 : 1;
    last = taken;
  }
  return last;
}
