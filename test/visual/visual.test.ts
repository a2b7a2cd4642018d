/**
 * Pictures of the components equal the stored ones. A few of them in `npm test`, all in `npm run test:long`, as
 * with the accessibility of each state of the catalogue. `npm run visual -- --update` renews them.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findPackagedChromium } from "../browser/find-chromium.ts";
import { findCutContent, findFaults } from "../page/find-faults.ts";
import { LONG, sampleCases } from "../sampling.ts";
import { packageRoot } from "../source-files.ts";
import { type CatalogueFixture, createCatalogueFixture } from "./catalogue-fixture.ts";
import { comparePictures } from "./compare-pictures.ts";
import { namePicture, PICTURE_FOLDER, PICTURES } from "./pictures.ts";

/** Pictures that `npm test` checks. */
const SAMPLE = 2;
const MAX_BYTES = 1_500_000;
const CATALOGUE = join(packageRoot, "web", "catalogue");
/** Modules that show nothing themselves, and the whole chat, which needs a server (`test/page/loom-chat.test.ts`). */
const NOT_SHOWN: ReadonlySet<string> = new Set(["ui/ui-context", "ui/ui-state-cache", "chat/loom-chat"]);

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
    expect(exported.filter((file) => !shown.includes(file) && !NOT_SHOWN.has(file))).toEqual([]);
  });

  it("has few and small pictures", () => {
    const names = readdirSync(PICTURE_FOLDER);
    expect(names.toSorted()).toEqual(PICTURES.map((options) => `${namePicture(options)}.png`).toSorted());
    const bytes = names.reduce((sum, name) => sum + statSync(join(PICTURE_FOLDER, name)).size, 0);
    expect(bytes).toBeLessThan(MAX_BYTES);
  });
});

describe.skipIf(findPackagedChromium() === undefined)(
  "pictures of the components (skipped without the packaged Chromium)",
  () => {
    let fixture: CatalogueFixture;
    let page: Page;
    beforeAll(async () => {
      fixture = await createCatalogueFixture();
      page = await fixture.open({ component: "button", state: "all" });
    });
    afterAll(() => fixture.close());

    it.each(sampleCases(PICTURES, { perKind: SAMPLE }).map((options) => [namePicture(options), options] as const))(
      "show %s as before",
      { timeout: 60_000 },
      async (name, options) => {
        const stored = readFileSync(join(PICTURE_FOLDER, `${name}.png`));
        const { isEqual, pixels } = await comparePictures(page, stored, await fixture.take(options));
        const advice = `npm run visual -- ${name} writes the difference, and with --update the picture`;
        expect(isEqual, `${pixels} pixels differ; ${advice}`).toBe(true);
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

    it.runIf(LONG)(
      "show every state without errors, violations of accessibility and content that is cut off",
      { timeout: 600_000 },
      async () => {
        const index = await fixture.open({ component: "", state: "" });
        const links = await index
          .locator(".catalogue a")
          .evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).search));
        await index.context().close();
        expect(links.length).toBeGreaterThan(100);
        const isPage = (link: string): boolean => link.includes("component=page");
        for (const [at, link] of links.entries()) {
          const query = new URLSearchParams(link);
          const [component, state] = [query.get("component") ?? "", query.get("state") ?? ""];
          // At a zoom of 200 %, and on a phone.
          const width = isPage(link) ? 640 : 390;
          const look = at % 2 === 0 ? ({ language: "en" } as const) : ({ language: "zh", theme: "dark" } as const);
          const opened = await fixture.open({ component, state, width, ...look });
          const faults = [...(await findFaults(opened)), ...(await findCutContent(opened))];
          expect(faults, `${component}, ${state}, ${look.language}`).toEqual([]);
          await opened.context().close();
        }
      },
    );
  },
);
