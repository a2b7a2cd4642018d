/** Finds links of the built site to files and headings that do not exist. VitePress itself checks only pages. */
import { readFile } from "node:fs/promises";
import { globSync } from "node:fs";
import { join, posix } from "node:path";

/** Each dead link as `page: link`. Links to other sites are not checked. */
export async function findDeadAnchors(folder: string): Promise<string[]> {
  const ids = new Map<string, ReadonlySet<string>>();
  const links = new Map<string, readonly string[]>();
  for (const name of globSync("**/*.html", { cwd: folder })) {
    const page = name.replaceAll("\\", "/");
    const html = await readFile(join(folder, name), "utf8");
    ids.set(page, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id = ""]) => id)));
    links.set(
      page,
      [...html.matchAll(/<a [^>]*?href="([^"]+)"/g)].map(([, href = ""]) => href.replaceAll("&amp;", "&")),
    );
  }
  return [...links].flatMap(([page, hrefs]) =>
    [...new Set(hrefs)].flatMap((href) => {
      if (/^[a-z][a-z+.-]*:/i.test(href)) return [];
      const [path = "", anchor = ""] = href.split("#").map(decodeURIComponent);
      const target = path === "" ? page : posix.join(posix.dirname(page), path, path.endsWith("/") ? "index.html" : "");
      const targetIds = ids.get(target);
      const isDead = targetIds === undefined || (anchor !== "" && !targetIds.has(anchor));
      return isDead ? [`${page}: ${href}`] : [];
    }),
  );
}
