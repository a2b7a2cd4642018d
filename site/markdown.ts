/** How VitePress renders the Markdown of the repository. */
import { readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import type { MarkdownOptions, MarkdownRenderer } from "vitepress";
import { API_BLOCK } from "../scripts/generate/emit-api-pages.ts";
import { resolveLink, sitePathOf } from "./site-paths.ts";

type CodeTransformer = NonNullable<MarkdownOptions["codeTransformers"]>[number];

/**
 * What VitePress knows about the page that is rendered. `realPath` is missing while the search index is built, and both
 * are missing in titles.
 */
interface PageEnvironment {
  readonly path?: string;
  readonly realPath?: string;
}

/**
 * Translates links between files of the repository. Those to files that are not part of the site become text, because
 * there is nothing to link to. Drawings become part of the page, so that they follow its theme.
 */
export function writeForTheSite(md: MarkdownRenderer, { root }: { readonly root: string }): void {
  md.core.ruler.after("inline", "loom_links", ({ tokens, env }) => {
    const { path, realPath = path } = env as PageEnvironment;
    if (realPath === undefined) return;
    const source = relative(root, realPath).split(sep).join("/");
    for (const { children } of tokens) {
      let isText = false;
      for (const token of children ?? []) {
        if (token.type === "link_open") {
          const target = resolveLink(source, token.attrGet("href") ?? "");
          isText = target.kind === "file";
          if (target.kind === "page")
            token.attrSet("href", `/${sitePathOf(target.source) ?? ""}${addHash(target.anchor)}`);
        }
        if (isText && (token.type === "link_open" || token.type === "link_close")) {
          token.type = token.type === "link_open" ? "span_open" : "span_close";
          token.tag = "span";
          token.attrs = null;
        }
      }
    }
  });

  const renderImage = md.renderer.rules.image;
  md.renderer.rules.image = (tokens, index, options, env, self) => {
    const token = tokens[index];
    const file = token?.attrGet("src") ?? "";
    if (token === undefined || renderImage === undefined || !/^[^:]+\.svg$/.test(file))
      return renderImage?.(tokens, index, options, env, self) ?? "";
    const { path = root, realPath = path } = env as PageEnvironment;
    const svg = readFileSync(join(dirname(realPath), file), "utf8");
    const label = md.utils.escapeHtml(token.content);
    // Its colours come from the style sheet of the site. On a phone it scrolls, which needs the focus.
    const drawing = svg
      .replace(/<style>.*?<\/style>/s, "")
      .replace(/(<svg\b[^>]*) role="img"/, "$1")
      .replace("<svg ", `<svg role="img" aria-label="${label}" `)
      .replaceAll("\n", "");
    return `<span class="drawing" tabindex="0" v-pre>${drawing}</span>`;
  };

  // Vue evaluates what is between double braces.
  const { code_inline: renderCode, text: renderText } = md.renderer.rules;
  md.renderer.rules.code_inline = (tokens, index, options, env, self) => {
    tokens[index]?.attrSet("v-pre", "");
    return renderCode?.(tokens, index, options, env, self) ?? "";
  };
  md.renderer.rules.text = (tokens, index, options, env, self) =>
    (renderText?.(tokens, index, options, env, self) ?? "").replaceAll("{{", "&#123;&#123;");
}

function addHash(anchor: string | undefined): string {
  return anchor === undefined ? "" : `#${anchor}`;
}

/** Turns the names in declarations of the API reference into links. All its pages are in one folder. */
export function createApiLinks(addresses: ReadonlyMap<string, string>): CodeTransformer {
  return {
    name: "api-links",
    span(node) {
      const [child] = node.children;
      const [mark, ...exact] = this.options.meta?.__raw?.trim().split(" ") ?? [];
      if (mark !== API_BLOCK || child?.type !== "text") return;
      const [, before = "", name = "", after = ""] = /^(\s*)(\w+)(\s*)$/.exec(child.value) ?? [];
      const address = exact.find((text) => text.startsWith(`${name}=`))?.slice(name.length + 1) ?? addresses.get(name);
      if (address === undefined || address === "") return;
      const href = address.replace(/^\/api\//, "./").replace(".md#", ".html#");
      const text = { type: "text" as const, value: name };
      node.children = [
        { type: "text", value: before },
        { type: "element", tagName: "a", properties: { href, class: "api-link" }, children: [text] },
        { type: "text", value: after },
      ];
    },
  };
}
