/**
 * Pictures of the components equal the stored ones. A few of them in `npm test`, all in `npm run test:long`, where every
 * state of the catalogue is opened too. `npm run visual -- --update` renews them.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "../browser/launch.ts";
import { PAGE_SAMPLES, sampleCases } from "../sampling.ts";
import { packageRoot } from "../source-files.ts";
import { type CatalogueFixture, createCatalogueFixture, type PictureOptions } from "./catalogue-fixture.ts";
import { comparePictures } from "./compare-pictures.ts";
import { namePicture, PICTURE_FOLDER, PICTURES } from "./pictures.ts";

const SAMPLE = 6;
const MAX_BYTES = 1_500_000;
const CATALOGUE = join(packageRoot, "web", "catalogue");
/** Modules that show nothing themselves. */
const PROVIDERS: ReadonlySet<string> = new Set(["ui/ui-context", "ui/ui-state-cache"]);

describe("the catalogue of components", () => {
  it("shows every component that the package exports", () => {
    const source = readdirSync(CATALOGUE)
      .filter((name) => name.endsWith("-scenes.tsx"))
      .map((name) => readFileSync(join(CATALOGUE, name), "utf8"))
      .join("\n");
    const lists = [...source.matchAll(/modules: \[([^\]]*)\]/g)].map(([, list = ""]) => list);
    const shown = lists.flatMap((list) => [...list.matchAll(/"([\w/-]+)"/g)].map(([, file = ""]) => file));
    const missing = shown.filter((file) => {
      const path = file.startsWith("web/") ? file.replace("web/", "web/src/") : `src/react/${file}`;
      return !existsSync(join(packageRoot, `${path}.tsx`));
    });
    expect(missing).toEqual([]);
    const index = readFileSync(join(packageRoot, "src", "react", "index.ts"), "utf8");
    const exported = [...index.matchAll(/from "\.\/(\w+\/[\w-]+)\.tsx"/g)].map(([, file = ""]) => file);
    expect(exported.length).toBeGreaterThan(20);
    expect(exported.filter((file) => !shown.includes(file) && !PROVIDERS.has(file))).toEqual([]);
  });

  it("has few and small pictures", () => {
    const names = readdirSync(PICTURE_FOLDER);
    expect(names.toSorted()).toEqual(PICTURES.map((options) => `${namePicture(options)}.png`).toSorted());
    const bytes = names.reduce((sum, name) => sum + statSync(join(PICTURE_FOLDER, name)).size, 0);
    expect(bytes).toBeLessThan(MAX_BYTES);
  });
});

describe.skipIf(!hasChromium)("pictures of the components (skipped without Chromium)", () => {
  let fixture: CatalogueFixture;
  let page: Page;
  let differences: string | undefined;
  beforeAll(async () => {
    fixture = await createCatalogueFixture();
    page = await fixture.open({ component: "button", state: "all" });
  });
  afterAll(() => fixture.close());

  it.each(sampleCases(PICTURES, { perKind: SAMPLE }).map((options) => [namePicture(options), options] as const))(
    "show %s as before",
    { timeout: 60_000 },
    async (name, options) => {
      const taken = await fixture.take(options);
      const { isEqual, pixels, png } = await comparePictures(
        page,
        readFileSync(join(PICTURE_FOLDER, `${name}.png`)),
        taken,
      );
      if (isEqual) return;
      differences ??= mkdtempSync(join(tmpdir(), "loom-visual-"));
      writeFileSync(join(differences, `${name}.png`), taken);
      writeFileSync(join(differences, `${name}-difference.png`), png);
      expect.fail(`${pixels} pixels differ, see ${differences}; renew pictures with: npm run visual -- --update`);
    },
  );

  it("differ if a colour changes a little, and are equal otherwise", async () => {
    const take = (): Promise<Buffer> => page.locator(".scene").screenshot({ animations: "disabled" });
    const before = await take();
    expect((await comparePictures(page, before, await take())).isEqual).toBe(true);
    await page.evaluate(() => document.documentElement.style.setProperty("--loom-accent", "#3a69cb"));
    const { isEqual, pixels } = await comparePictures(page, before, await take());
    expect(isEqual).toBe(false);
    expect(pixels).toBeGreaterThan(1000);
    await page.evaluate(() => document.documentElement.removeAttribute("style"));
  });

  it.runIf(PAGE_SAMPLES.isPatient)("exist for every state without an error of the browser", async () => {
    const index = await fixture.open({ component: "", state: "" });
    const links = await index
      .locator(".catalogue a")
      .evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).search));
    await index.context().close();
    expect(links.length).toBeGreaterThan(80);
    for (const language of ["en", "zh"] as const)
      for (const link of links) {
        const query = new URLSearchParams(link);
        const [component, state] = [query.get("component") ?? "", query.get("state") ?? ""];
        const options: PictureOptions = { component, state, language, width: 390 };
        const opened = await fixture.open(options);
        expect(await opened.locator("main, dialog").count(), `${component}, ${state}`).toBeGreaterThan(0);
        await opened.context().close();
      }
  });
});
