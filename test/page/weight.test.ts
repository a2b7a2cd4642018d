// Size of the first view, and what is loaded on demand. Uses only the built files.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { buildPage } from "./build-page.ts";

const MAX_FIRST_VIEW = 200_000;

/** Chunks loaded on demand, with a text that only they contain. */
const LATER: { readonly [file: string]: string } = {
  "chart-worker": "vega.github.io",
  "chart-plugin": "loom-chart-canvas",
  "sign-in": "page-sign-in-error",
  "todo-card": "loom-todo",
  "references-item": "loom-references",
  "code-highlight": "hljs-",
  "math-formula": "mathbb",
  inspector: "page-inspector-timeline",
  "knowledge-dialog": "page-knowledge",
  "document-dialog": "page-document-excerpt",
  "settings-dialog": "page-setting-tall",
  "command-palette": "page-palette-entry",
  "approval-form": "loom-approval-fields",
  "session-conversation": "loom-conversation-rows",
  "export-conversation": "page-export-note",
  "export-dialog": "page-export-forms",
  "share-dialog": "page-share-links",
  "diagram-plugin": "page-diagram-tools",
  "thought-canvas": "loom-canvas-stage",
};

/** Namespaces, schemas and links in developer messages, which are never requested. */
const NAMED = [
  /^http:\/\/www\.w3\.org\/(?:1998\/Math\/MathML|1999\/xhtml|1999\/xlink|2000\/svg|2000\/xmlns\/|XML\/1998\/namespace)$/,
  /^https:\/\/react\.dev\/errors\//,
  /^https:\/\/github\.com\/markedjs\/marked\.$/,
  /^https:\/\/vega\.github\.io\/schema\/vega(?:-lite)?\/v\d+\.json$/,
  /^https:\/\/github\.com\/vega\/vega-lite\/issues\/\d+$/,
  /^https:\/\/github\.com\/highlightjs\/highlight\.js\/(?:issues\/\d+|wiki\/security)$/,
];

describe("the built page", () => {
  let folder = "";
  let html = "";
  let assets: readonly string[] = [];
  const read = (name: string): string => readFileSync(join(folder, "assets", name), "utf8");
  beforeAll(async () => {
    folder = await buildPage();
    html = readFileSync(join(folder, "index.html"), "utf8");
    assets = readdirSync(join(folder, "assets"));
  });

  /** Scripts and styles of the document, and everything they import statically. */
  function listFirstView(): ReadonlySet<string> {
    const found = new Set([...html.matchAll(/assets\/([\w-]+\.(?:js|css))"/g)].map(([, name = ""]) => name));
    // Iterating over a set includes the elements added meanwhile.
    for (const name of found)
      for (const [, other = ""] of read(name).matchAll(/(?:\bfrom|\bimport)\s*["']\.\/([\w-]+\.js)["']/g))
        found.add(other);
    return found;
  }

  it("loads at most 200 kB for the first view", () => {
    const first = [...listFirstView()];
    const sizes = first.map((name) => gzipSync(read(name)).length);
    const total = sizes.reduce((sum, size) => sum + size, gzipSync(html).length);
    process.stdout.write(`first view: ${(total / 1000).toFixed(0)} kB (gzip) in ${first.length} files\n`);
    expect(first.length).toBeGreaterThan(1);
    expect(total).toBeGreaterThan(50_000);
    expect(total).toBeLessThanOrEqual(MAX_FIRST_VIEW);
  });

  it.each(Object.entries(LATER))("loads %s on demand", (file, mark) => {
    const first = listFirstView();
    const later = assets.filter((name) => name.endsWith(".js") && !first.has(name));
    expect(later.filter((name) => name.startsWith(`${file}-`))).toHaveLength(1);
    expect(later.some((name) => read(name).includes(mark))).toBe(true);
    // Styles name the classes of components that are loaded later.
    for (const name of first)
      if (name.endsWith(".js")) expect(read(name).includes(mark), `${mark} in ${name}`).toBe(false);
  });

  it("has no inline script or style", () => {
    for (const [script = ""] of html.matchAll(/<script\b[^>]*>[^<]*/g))
      expect(script).toMatch(/ src="\.\/assets\/[^"]+">$/);
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|javascript:|<base|<iframe|<meta[^>]*http-equiv/i);
  });

  it("contains no external URL that is requested", () => {
    // A licence names its author. The policy of the diagram frame refuses every request.
    const files = ["../index.html", ...assets.filter((name) => !/\.txt$|^diagram-frame\.html$/.test(name))];
    const foreign = files.flatMap((name) => {
      const text = read(name);
      const whole = text.match(/\b(?:https?|wss?):\/\/[\w.-]+[^\s"'`)\\<>|,;]*/g) ?? [];
      // Protocol-relative URLs in style sheets and attributes.
      const bare = text.match(/(?:url\(|src=|href=)["']?\/\/[\w.-]+/g) ?? [];
      return [...whole.filter((address) => !NAMED.some((known) => known.test(address))), ...bare].map(
        (address) => `${name}: ${address}`,
      );
    });
    expect(foreign).toEqual([]);
  });
});
