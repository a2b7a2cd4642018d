// What a browser is sent before anything is seen, and what waits until it is needed. From the built files alone.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { buildPage } from "./build-page.ts";

const MAX_FIRST_VIEW = 250_000;

/** Files that come when they are needed, and what only they hold. */
const LATER: { readonly [file: string]: string } = {
  "chart-worker": "vega.github.io",
  "code-highlight": "hljs-",
  "math-formula": "mathbb",
  inspector: "page-inspector-timeline",
  "knowledge-dialog": "page-knowledge",
};

/** Names of namespaces and schemas, and pages that messages for developers point to: nobody asks for them. */
const NAMED = [
  /^http:\/\/www\.w3\.org\/(?:1998\/Math\/MathML|1999\/xhtml|1999\/xlink|2000\/svg|2000\/xmlns\/|XML\/1998\/namespace)$/,
  /^https:\/\/react\.dev\/errors\//,
  /^https:\/\/github\.com\/markedjs\/marked\.$/,
  /^https:\/\/vega\.github\.io\/schema\/vega(?:-lite)?\/v\d+\.json$/,
  /^https:\/\/github\.com\/vega\/vega-lite\/issues\/\d+$/,
  /^https:\/\/github\.com\/highlightjs\/highlight\.js\/(?:issues\/\d+|wiki\/security)$/,
];

describe("what the page weighs", () => {
  let folder = "";
  let html = "";
  let assets: readonly string[] = [];
  const read = (name: string): string => readFileSync(join(folder, "assets", name), "utf8");
  beforeAll(async () => {
    folder = await buildPage();
    html = readFileSync(join(folder, "index.html"), "utf8");
    assets = readdirSync(join(folder, "assets"));
  });

  /** Scripts the document names, and all that these cannot do without. */
  function listFirstView(): ReadonlySet<string> {
    const found = new Set([...html.matchAll(/assets\/([\w-]+\.js)"/g)].map(([, name = ""]) => name));
    // A set is gone through to its end, also where it grows.
    for (const name of found)
      for (const [, other = ""] of read(name).matchAll(/(?:\bfrom|\bimport)\s*["']\.\/([\w-]+\.js)["']/g))
        found.add(other);
    return found;
  }

  it("loads at most 250 kB of scripts for the first view", () => {
    const first = [...listFirstView()];
    const sizes = first.map((name) => gzipSync(read(name)).length);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    process.stdout.write(`first view: ${(total / 1000).toFixed(0)} kB of scripts, packed, in ${first.length} files\n`);
    expect(first.length).toBeGreaterThan(1);
    expect(total).toBeGreaterThan(50_000);
    expect(total).toBeLessThanOrEqual(MAX_FIRST_VIEW);
  });

  it.each(Object.entries(LATER))("loads %s when it is needed", (file, mark) => {
    const first = listFirstView();
    const later = assets.filter((name) => name.endsWith(".js") && !first.has(name));
    expect(later.filter((name) => name.startsWith(`${file}-`))).toHaveLength(1);
    expect(later.some((name) => read(name).includes(mark))).toBe(true);
    for (const name of first) expect(read(name).includes(mark), `${mark} in ${name}`).toBe(false);
  });

  it("has no script or style in the document", () => {
    for (const [script = ""] of html.matchAll(/<script\b[^>]*>[^<]*/g))
      expect(script).toMatch(/ src="\.\/assets\/[^"]+">$/);
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|javascript:|<base|<iframe|<meta[^>]*http-equiv/i);
  });

  it("names no address of elsewhere that anything is asked of", () => {
    const files = ["../index.html", ...assets];
    const foreign = files.flatMap((name) => {
      const text = read(name);
      const whole = text.match(/\b(?:https?|wss?):\/\/[\w.-]+[^\s"'`)\\<>|,;]*/g) ?? [];
      // As in a style sheet or an attribute that takes the protocol of the page.
      const bare = text.match(/(?:url\(|src=|href=)["']?\/\/[\w.-]+/g) ?? [];
      return [...whole.filter((address) => !NAMED.some((known) => known.test(address))), ...bare].map(
        (address) => `${name}: ${address}`,
      );
    });
    expect(foreign).toEqual([]);
  });
});
