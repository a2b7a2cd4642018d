/** The API reference of the site: generated pages with examples from the tested programs of the docs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type ApiExample, type ApiPages, emitApiPages } from "../scripts/generate/emit-api-pages.ts";
import { shortNameOf } from "../scripts/generate/emit-api-report.ts";
import { readEntryPoints } from "../scripts/generate/read-public-api.ts";
import { ROOT } from "../scripts/generate/write-files.ts";
import { readBlocks } from "../test/guide-pages.ts";
import type { SidebarPage } from "./sidebar.ts";
import { sitePathOf, slugify } from "./site-paths.ts";

const IMPORT = /import (?:type )?\{([^}]*)\} from "loom-agent[^"]*"/g;
const IS_ENGLISH = /^docs\/(?!.*\.zh\.md)/;

let pages: Promise<ApiPages> | undefined;

/** Generates the reference once per process. */
export function readApiPages(): Promise<ApiPages> {
  const examples = findExamples();
  const purposes = readPurposes();
  pages ??= emitApiPages(readEntryPoints(), {
    findExample: (name) => examples.get(name),
    describe: (path) => purposes.get(path) ?? "",
  });
  return pages;
}

export function listApiPages(): readonly SidebarPage[] {
  return readEntryPoints().map(({ path }) => ({ source: `site/api/${shortNameOf(path)}.md`, title: path }));
}

/** The shortest program that imports each name. */
export function findExamples(): ReadonlyMap<string, ApiExample> {
  const found = new Map<string, ApiExample>();
  for (const { name: position, language, text } of readBlocks().flat()) {
    const [page = "", line = ""] = position.replaceAll("\\", "/").split(":");
    if (!IS_ENGLISH.test(page) || !/^[jt]sx?$/.test(language)) continue;
    for (const [, list = ""] of text.matchAll(IMPORT)) {
      for (const item of list.split(",")) {
        const name =
          item
            .replace(/^\s*type /, "")
            .split(" as ")[0]
            ?.trim() ?? "";
        const known = found.get(name);
        if (known === undefined || text.length < known.code.length)
          found.set(name, { ...describePosition(page, Number(line)), code: text });
      }
    }
  }
  return found;
}

/** The page and section of a line. */
function describePosition(page: string, line: number): Pick<ApiExample, "title" | "link"> {
  const lines = readFileSync(join(ROOT, page), "utf8").split("\n").slice(0, line);
  const title = lines[0]?.replace(/^# /, "") ?? page;
  const section = lines.findLast((text) => /^#{2,3} /.test(text))?.replace(/^#+ /, "");
  const anchor = section === undefined ? "" : `#${slugify(section)}`;
  return { title, link: `/${sitePathOf(page) ?? ""}${anchor}` };
}

/** The rows of the table of entry points: what an entry point is for, and where it runs. */
function readPurposes(): ReadonlyMap<string, string> {
  const table = readFileSync(join(ROOT, "docs", "entry-points.md"), "utf8");
  const rows = table.matchAll(/^\| `(loom-agent[^`]*)` *\| (.*?) *\| (.*?) *\|$/gm);
  return new Map(
    [...rows].map(([, path = "", purpose = "", runsIn = ""]) => [
      path,
      `${purpose.charAt(0).toUpperCase()}${purpose.slice(1)}. Runs in: ${runsIn}.`,
    ]),
  );
}
