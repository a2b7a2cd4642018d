// The CSS variables of the components: declared in one file, and listed in the guide.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { packageRoot } from "../../../test/source-files.ts";

const read = (path: string): string => readFileSync(join(packageRoot, path), "utf8");
const TOKENS = "src/react/ui/tokens.css";
const STYLES = globSync(["src/react/**/*.css", "web/src/**/*.css"], { cwd: packageRoot });
/** Set by a component for its own style, not by a theme. */
const INTERNAL: ReadonlySet<string> = new Set(["--loom-box-width"]);

function findNames(text: string, pattern: RegExp): readonly string[] {
  return [...new Set([...text.matchAll(pattern)].map(([, name = ""]) => name))].toSorted();
}

const declared = findNames(read(TOKENS), /^\s*(--loom-[\w-]+):/gm);

it("are listed in the guide, each with its meaning", () => {
  const listed = findNames(read("docs/guides/theme-the-page.md"), /^\| `(--loom-[\w-]+)`\s*\| \S/gm);
  expect(listed).toEqual(declared);
  expect(declared.length).toBeGreaterThan(40);
});

it("are declared in one file, and used only if declared", () => {
  const others = STYLES.filter((path) => path !== TOKENS).map(read);
  expect(
    others.flatMap((text) => findNames(text, /^\s*(--loom-[\w-]+):/gm)).filter((n) => n !== "--loom-quick"),
  ).toEqual([]);
  const used = findNames(STYLES.map(read).join("\n"), /var\((--loom-[\w-]+)/g);
  expect(used.filter((name) => !declared.includes(name) && !INTERNAL.has(name))).toEqual([]);
});
