// Configuration of the docs site: `npm run docs` builds it into site/dist, `npm run docs:dev` serves it.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type DefaultTheme, defineConfig, type UserConfig } from "vitepress";
import { ROOT } from "../scripts/generate/write-files.ts";
import { listApiPages, readApiPages } from "./api-reference.ts";
import { findDeadAnchors } from "./dead-anchors.ts";
import { createApiLinks, writeForTheSite } from "./markdown.ts";
import { CHINESE_SIDEBAR, englishSidebar, type SidebarGroup, type SidebarPage } from "./sidebar.ts";
import { PAGE_ROOTS, sitePathOf, slugify } from "./site-paths.ts";

const readText = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const { version, description } = JSON.parse(readText("package.json")) as {
  readonly version: string;
  readonly description: string;
};
const icon = `data:image/svg+xml,${encodeURIComponent(readText("web/src/icon.svg"))}`;
const api = await readApiPages();

/** Files and folders without pages. */
const srcExclude = [
  "docs/decisions/**",
  ...readdirSync(ROOT)
    .filter((name) => !PAGE_ROOTS.some((path) => path.split("/")[0] === name))
    .flatMap((name) => [name, `${name}/**`]),
  "spec/*/**",
  "site/dist/**",
];

function writeItem(item: string | SidebarPage | SidebarGroup): DefaultTheme.SidebarItem {
  if (typeof item === "string") return writeItem({ source: item });
  if ("items" in item) return { text: item.title, collapsed: true, items: item.items.map(writeItem) };
  const { source, title = readTitle(source), anchor } = item;
  return { text: title, link: `/${sitePathOf(source) ?? ""}${anchor === undefined ? "" : `#${anchor}`}` };
}

function readTitle(source: string): string {
  return /^# (.+)$/m.exec(readText(source))?.[1]?.replaceAll("`", "") ?? source;
}

/** `open` is the number of groups that are open at first. The group of the current page always is. */
function writeSidebar(
  groups: readonly SidebarGroup[],
  { open }: { readonly open: number },
): DefaultTheme.SidebarItem[] {
  return groups.map(({ title, items }, index) => ({
    text: title,
    collapsed: index >= open,
    items: items.map(writeItem),
  }));
}

/** The theme, and the paths of the pages that exist in Chinese. */
interface SiteTheme extends DefaultTheme.Config {
  readonly chinesePaths: readonly string[];
}

const chinesePaths = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
  .map((name) => sitePathOf(`docs/${name.replaceAll("\\", "/")}`) ?? "")
  .filter((path) => path.startsWith("zh/"))
  .map((path) => path.slice("zh/".length));

const searchWords = {
  button: { buttonText: "搜索", buttonAriaLabel: "搜索" },
  modal: {
    displayDetails: "显示详细结果",
    resetButtonTitle: "清除",
    backButtonTitle: "返回",
    noResultsText: "没有结果：",
    footer: {
      selectText: "打开",
      selectKeyAriaLabel: "回车键",
      navigateText: "切换",
      navigateUpKeyAriaLabel: "上箭头键",
      navigateDownKeyAriaLabel: "下箭头键",
      closeText: "关闭",
      closeKeyAriaLabel: "Esc 键",
    },
  },
};

export const siteConfig: UserConfig<SiteTheme> = defineConfig<SiteTheme>({
  title: "Loom",
  description,
  srcDir: ROOT,
  srcExclude,
  outDir: "dist",
  cacheDir: join(ROOT, "node_modules", ".cache", "vitepress"),
  // Relative, so that the site works under any path.
  base: "./",
  ignoreDeadLinks: "localhostLinks",
  rewrites: (page) => sitePathOf(page) ?? page,
  head: [["link", { rel: "icon", href: icon }]],
  vite: {
    publicDir: false,
    build: { chunkSizeWarningLimit: 2000 },
    // Otherwise the development server would read all HTML files of the repository.
    optimizeDeps: { entries: [] },
  },
  markdown: {
    theme: { light: "github-light-high-contrast", dark: "github-dark" },
    anchor: { slugify },
    config: (md) => writeForTheSite(md, { root: ROOT }),
    codeTransformers: [createApiLinks(api.addresses)],
  },
  locales: {
    root: { label: "English", lang: "en" },
    zh: {
      label: "简体中文",
      lang: "zh-CN",
      description: "运行 AI 智能体，把每一步推送到浏览器、终端和其他程序，一个事件都不丢。",
      themeConfig: {
        nav: [
          { text: "快速上手", link: "/zh/quickstart.md" },
          { text: "手册", link: "/zh/handbook/what-is-loom.md" },
          { text: "协议", link: "/zh/protocol.md" },
          { text: "英文文档", link: "/guides/build-an-agent.md" },
          { text: `v${version}`, link: "/project/changelog.md" },
        ],
        sidebar: { "/zh/": writeSidebar(CHINESE_SIDEBAR, { open: CHINESE_SIDEBAR.length }) },
        outline: { label: "本页内容" },
        docFooter: { prev: "上一页", next: "下一页" },
        darkModeSwitchLabel: "主题",
        lightModeSwitchTitle: "切换到浅色主题",
        darkModeSwitchTitle: "切换到深色主题",
        sidebarMenuLabel: "菜单",
        returnToTopLabel: "回到顶部",
        langMenuLabel: "语言",
        skipToContentLabel: "跳到正文",
        notFound: {
          title: "没有这个页面",
          quote: "地址可能有误，或者页面已被移走。",
          linkText: "回到首页",
          linkLabel: "回到首页",
        },
      },
    },
  },
  themeConfig: {
    logo: { src: icon, alt: "" },
    nav: [
      { text: "Guides", link: "/guides/build-an-agent.md", activeMatch: "^/guides/" },
      { text: "Protocol", link: "/protocol.md" },
      { text: "API", link: "/api/index.md", activeMatch: "^/api/" },
      { text: "Comparison", link: "/comparison.md" },
      { text: `v${version}`, link: "/project/changelog.md" },
    ],
    sidebar: { "/": writeSidebar(englishSidebar(listApiPages()), { open: 1 }) },
    outline: [2, 3],
    notFound: {
      title: "Page not found",
      quote: "The address may be wrong, or the page was moved.",
      linkText: "Go to the front page",
      linkLabel: "Go to the front page",
    },
    search: {
      provider: "local",
      options: {
        locales: { zh: { translations: searchWords } },
        // Generated pages are not files.
        async _render(source, env, md) {
          const path = env.path.slice(ROOT.length + 1).replaceAll("\\", "/");
          const [, entry] = /^site\/api\/([\w-]+)\.md$/.exec(path) ?? [];
          return md.renderAsync(entry === undefined ? source : (api.pages.get(entry) ?? ""), env);
        },
      },
    },
    chinesePaths,
    // Runs in the browser, so it can only use its arguments.
    i18nRouting({ page, theme }, _route, target) {
      const path = page.value.relativePath.replace(/^zh\//, "");
      const address = path.replace(/\.md$/, ".html");
      if (target === "root") return `/${address}`;
      return (theme.value as SiteTheme).chinesePaths.includes(path) ? `/zh/${address}` : "/zh/";
    },
  },
  transformPageData({ frontmatter }) {
    const hero = frontmatter["hero"] as object | undefined;
    if (hero !== undefined) frontmatter["hero"] = { ...hero, image: { src: icon, alt: "" } };
  },
  async buildEnd({ outDir }) {
    const dead = await findDeadAnchors(outDir);
    if (dead.length > 0) throw new Error(`Links to headings that do not exist:\n${dead.join("\n")}`);
  },
});
