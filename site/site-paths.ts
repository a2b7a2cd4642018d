/**
 * Which Markdown files of the repository are pages of the site, at which address, and where their links lead. Links are
 * written for the repository; this module translates them.
 */
import { posix } from "node:path";

/** Pages outside of `docs`, by their path in the repository. */
const OTHER_PAGES: { readonly [source: string]: string } = {
  "deploy/README.md": "deploy.md",
  "spec/README.md": "vectors.md",
  "ARCHITECTURE.md": "project/architecture.md",
  "CONTRIBUTING.md": "project/contributing.md",
  "CHANGELOG.md": "project/changelog.md",
};

/** Files and folders of the repository that contain pages. */
export const PAGE_ROOTS: readonly string[] = ["docs", "site", ...Object.keys(OTHER_PAGES)];

/**
 * The path of a page on the site, such as `zh/quickstart.md` for `docs/quickstart.zh.md`; undefined for other files. Decision
 * records are for maintainers and not part of the site.
 */
export function sitePathOf(source: string): string | undefined {
  const other = OTHER_PAGES[source];
  if (other !== undefined) return other;
  const [, path] = /^(?:docs(?!\/decisions\/)|site(?=\/api\/))\/(.+\.md)$/.exec(source) ?? [];
  return path
    ?.replace(/(^|\/)README\.md$/, "$1index.md")
    .replace(/^handbook\/en\//, "handbook/")
    .replace(/^handbook\/zh\//, "zh/handbook/")
    .replace(/^(.+)\.zh\.md$/, "zh/$1.md");
}

/** Where a link leads: to a page, to a file that is not part of the site, or out of the repository. */
export type LinkTarget =
  | { readonly kind: "page"; readonly source: string; readonly anchor: string | undefined }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "external" };

/** Resolves a link of the page `source`. */
export function resolveLink(source: string, href: string): LinkTarget {
  if (/^(?:[a-z][a-z+.-]*:|\/)/i.test(href)) return { kind: "external" };
  const [path = "", anchor] = href.split("#");
  const target = path === "" ? source : posix.join(posix.dirname(source), path);
  const isPage = sitePathOf(target) !== undefined;
  return isPage ? { kind: "page", source: target, anchor } : { kind: "file", path: target };
}

/** The id of a heading, as code hosts write it, so that one link works on both. Repeated, it changes nothing. */
export function slugify(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, "")
    .replaceAll(" ", "-");
}
