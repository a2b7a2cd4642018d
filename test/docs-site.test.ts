// The docs site: every page is in a sidebar, every link of a page leads to a page, a heading or a file that exists, and
// Chinese pages have the headings and the code of the English ones. The planted faults prove that each rule can fail.
// The long run builds the site.
import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { lexer, type MarkedToken, type Token, walkTokens } from "marked";
import { describe, expect, it } from "vitest";
import { listApiPages, readApiPages } from "../site/api-reference.ts";
import { findDeadAnchors } from "../site/dead-anchors.ts";
import { CHINESE_SIDEBAR, englishSidebar, listSidebarPages, type SidebarPage } from "../site/sidebar.ts";
import { PAGE_ROOTS, resolveLink, sitePathOf, slugify } from "../site/site-paths.ts";
import { LONG } from "./sampling.ts";
import { packageRoot } from "./source-files.ts";

interface MarkdownPage {
  readonly anchors: ReadonlySet<string>;
  readonly links: readonly string[];
}

/** The text that a reader sees. */
function textOf(tokens: readonly Token[]): string {
  return tokens
    .map((token) => ("tokens" in token && token.tokens !== undefined ? textOf(token.tokens) : textOfLeaf(token)))
    .join("");
}

function textOfLeaf(token: Token): string {
  return "text" in token && typeof token.text === "string" ? token.text.replaceAll("&amp;", "&") : "";
}

function readMarkdown(markdown: string): MarkdownPage {
  const anchors = new Set<string>();
  const links: string[] = [];
  void walkTokens(lexer(markdown), (token) => {
    if (token.type === "heading") {
      // A title can have its own anchor, as in the API reference.
      const text = textOf(token.tokens ?? []);
      const [, title = text, given] = /^(.*?) \{#([\w-]+)\}$/.exec(text) ?? [];
      const base = given ?? slugify(title);
      let anchor = base;
      for (let count = 1; anchors.has(anchor); count++) anchor = `${base}-${count}`;
      anchors.add(anchor);
    }
    if ((token.type === "link" || token.type === "image") && typeof token.href === "string") links.push(token.href);
  });
  for (const [, link = ""] of markdown.matchAll(/^ +link: (\S+)$/gm)) links.push(link);
  return { anchors, links };
}

/** Each dead link as `page: link`. Paths that start with `/` are those of the site. */
function findDeadLinks(
  pages: ReadonlyMap<string, MarkdownPage>,
  { hasFile }: { readonly hasFile: (path: string) => boolean },
): string[] {
  const sources = new Map([...pages.keys()].map((source) => [`/${sitePathOf(source)}`, source]));
  return [...pages].flatMap(([source, { links }]) =>
    links.flatMap((href) => {
      const [path = "", anchor] = href.split("#");
      const target = path.startsWith("/")
        ? { kind: "page" as const, source: sources.get(path) ?? path, anchor }
        : resolveLink(source, href);
      if (target.kind === "external") return [];
      if (target.kind === "file") return hasFile(target.path) ? [] : [`${source}: ${href}`];
      const page = pages.get(target.source);
      const isAlive = page !== undefined && (target.anchor === undefined || page.anchors.has(target.anchor));
      return isAlive ? [] : [`${source}: ${href}`];
    }),
  );
}

const sources = [...globSync("docs/**/*.md", { cwd: packageRoot }), ...PAGE_ROOTS, "README.md", "README.zh-CN.md"]
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => path.endsWith(".md"));
const sidebarPages: readonly SidebarPage[] = listSidebarPages([...englishSidebar(listApiPages()), ...CHINESE_SIDEBAR]);

describe("the sidebar", () => {
  /** The front pages, and the decision records, which are not part of the site. */
  const isUnlisted = (source: string): boolean => /^docs\/(?:index(?:\.zh)?|decisions\/.*)\.md$/.test(source);

  it("has every page of docs", () => {
    const listed = new Set(sidebarPages.map(({ source }) => source));
    const missing = sources.filter((path) => path.startsWith("docs/") && !listed.has(path) && !isUnlisted(path));
    expect(missing).toEqual([]);
    expect(isUnlisted("docs/guides/new.md")).toBe(false);
    expect(
      sources.filter((path) => isUnlisted(path) && path.includes("/decisions/")).map(sitePathOf),
    ).not.toContainEqual(expect.any(String));
  });

  it("has only pages that exist", () => {
    const files = sidebarPages.filter(({ source }) => !source.startsWith("site/api/"));
    expect(files.filter(({ source }) => !existsSync(join(packageRoot, source)))).toEqual([]);
    expect(files.length).toBeGreaterThan(70);
  });
});

describe("links", () => {
  it("lead to pages, headings and files that exist, also in the API reference", { timeout: 120_000 }, async () => {
    const { pages: apiPages } = await readApiPages();
    const pages = new Map(
      sources.map((source) => [source, readMarkdown(readFileSync(join(packageRoot, source), "utf8"))]),
    );
    for (const [name, text] of apiPages) pages.set(`site/api/${name}.md`, readMarkdown(text));
    const anchored = sidebarPages.flatMap(({ source, anchor }) =>
      anchor === undefined ? [] : [`${source}#${anchor}`],
    );
    pages.set("sidebar.md", { anchors: new Set(), links: anchored });
    expect(findDeadLinks(pages, { hasFile: (path) => existsSync(join(packageRoot, path)) })).toEqual([]);
    expect(pages.size).toBeGreaterThan(100);
  });

  it("are reported if they are dead", () => {
    const pages = new Map([
      ["docs/a.md", readMarkdown("# A\n\n## Two words, `code`\n\n## Same\n\n## Same\n")],
      ["docs/handbook/zh/b.md", readMarkdown("# 乙\n\n## 第一节\n")],
    ]);
    const check = (text: string): string[] =>
      findDeadLinks(new Map([...pages, ["docs/c.md", readMarkdown(text)]]), { hasFile: (path) => path === "src/x.ts" });
    expect(check("[1](a.md#two-words-code) [2](a.md#same-1) [3](handbook/zh/b.md#第一节) [4](../src/x.ts)")).toEqual(
      [],
    );
    expect(check("---\nlinks:\n  link: /a.md\n---\n\n[5](https://example.org/a#b) [6](/zh/handbook/b.md)")).toEqual([]);
    expect(check("[1](a.md#two) [2](d.md) [3](../src/y.ts) ![4](e.png)")).toHaveLength(4);
    expect(check("---\nlinks:\n  link: /d.md\n---\n\n[2](#nothing)")).toHaveLength(2);
  });
});

describe("the Chinese pages", () => {
  /** Levels of headings, and lines of code without what is translated: texts and comments. */
  const outline = (markdown: string): string[] =>
    (lexer(markdown) as readonly Token[] as readonly MarkedToken[]).flatMap((token) => {
      if (token.type === "heading") return [`heading ${token.depth}`];
      if (token.type !== "code" || token.lang === "text") return [];
      const code = token.text.replaceAll(/ *(?: #|\/\/) .*$|(?<=>)[^<>\n]+(?=<\/)/gm, "");
      return code
        .replaceAll(/"[^"\n]*"/g, '""')
        .replaceAll(/`[^`\n]*`/g, "``")
        .split("\n");
    });

  it("have the headings and the code of the English ones", () => {
    const read = (page: string): string => readFileSync(join(packageRoot, page), "utf8");
    const chinese = sources.filter((page) => /\.zh(?:-CN)?\.md$|\/zh\//.test(page));
    const english = (page: string): string => page.replace(/\.zh(?:-CN)?\.md$/, ".md").replace("/zh/", "/en/");
    for (const page of chinese) expect(outline(read(page)), page).toEqual(outline(read(english(page))));
    expect(chinese.length).toBeGreaterThan(15);
    expect(outline('# A\n\n```sh\nloom run --x "Hi"  # runs\n```\n')).toEqual(
      outline('# 甲\n\n```sh\nloom run --x "你好"  # 运行\n```\n'),
    );
    expect(outline("# A\n\n```sh\nloom run --x\n```\n")).not.toEqual(outline("# 甲\n\n```sh\nloom run --y\n```\n"));
  });
});

/** The pages whose titles or texts have `word`, in the search index of a built site. */
async function searchSite(dist: string, word: string): Promise<readonly string[]> {
  const [file = ""] = globSync("assets/chunks/@localSearchIndexroot.*.js", { cwd: dist });
  const { default: json } = (await import(pathToFileURL(join(dist, file)).href)) as { readonly default: string };
  const { documentIds, index } = JSON.parse(json) as {
    readonly documentIds: Readonly<Record<string, string>>;
    readonly index: readonly (readonly [term: string, Readonly<Record<string, Readonly<Record<string, number>>>>])[];
  };
  const [, fields = {}] = index.find(([term]) => term === word) ?? [];
  return Object.values(fields).flatMap((counts) => Object.keys(counts).map((id) => documentIds[id] ?? id));
}

describe("the built site", () => {
  it("is checked for links to headings that do not exist", async () => {
    const folder = mkdtempSync(join(tmpdir(), "loom-site-"));
    try {
      mkdirSync(join(folder, "guides"));
      writeFileSync(join(folder, "index.html"), '<h2 id="one">1</h2><a class="x" href="./guides/a.html#two">2</a>');
      const links = [
        '"../index.html#one"',
        '"./a.html#gone"',
        '"#two"',
        '"./b.html"',
        '"https://example.org/"',
        '"../"',
      ];
      const anchors = links.map((href) => `<a href=${href}></a>`).join("");
      writeFileSync(join(folder, "guides", "a.html"), `<h2 tabindex="-1" id="two">2</h2>${anchors}`);
      expect(await findDeadAnchors(folder)).toEqual(["guides/a.html: ./a.html#gone", "guides/a.html: ./b.html"]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it.runIf(LONG)("has no dead link, and its search finds the guides", async () => {
    const { status, stderr } = spawnSync("npm", ["run", "--silent", "docs"], {
      cwd: packageRoot,
      encoding: "utf8",
      shell: process.platform === "win32",
    });
    expect({ status, stderr: status === 0 ? "" : stderr }).toEqual({ status: 0, stderr: "" });
    expect(readFileSync(join(packageRoot, "site", "dist", "zh", "index.html"), "utf8")).toContain('lang="zh-CN"');

    const dist = join(packageRoot, "site", "dist");
    for (const [word, page] of [
      ["cors", "/guides/allow-origins.html"],
      ["timeout", "/configuration.html"],
      ["approve", "/guides/build-an-agent.html"],
      ["deploy", "/deploy.html"],
    ] as const) {
      const pages = (await searchSite(dist, word)).map((address) => address.split("#")[0]);
      expect(pages, word).toContain(page);
    }
  });
});
