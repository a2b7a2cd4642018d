/**
 * Allowlist of HTML tags and attributes for answers: structure, lists, tables, emphasis, code, links and images.
 * Everything else is dropped or unwrapped.
 */

/** Tags that are rendered. */
const SHOWN =
  "p div section article aside header footer main address h1 h2 h3 h4 h5 h6 blockquote pre hr br wbr ul ol li dl dt dd " +
  "figure figcaption table caption colgroup col thead tbody tfoot tr th td b strong i em u s strike del ins mark small " +
  "sub sup kbd code samp var tt q cite dfn abbr time bdi bdo span a img details summary ruby rt rp center font big";

/** Tags that are dropped with their content. */
const DROPPED =
  "script style template noscript iframe frame frameset noframes object embed applet param svg math canvas audio video " +
  "source track map area form input button select option optgroup datalist textarea output progress meter fieldset legend " +
  "dialog menu head title base meta link portal slot noembed plaintext xmp marquee keygen isindex image";

/** Replacements for obsolete and structural tags. */
const SHOWN_AS: Readonly<Record<string, string>> = {
  strike: "s",
  tt: "code",
  center: "div",
  font: "span",
  big: "span",
  // Landmarks belong to the page itself.
  main: "div",
  header: "div",
  footer: "div",
  aside: "div",
  section: "div",
  article: "div",
  address: "div",
  // Headings of an answer are below those of the page.
  h1: "h2",
};

const shown: ReadonlySet<string> = new Set(SHOWN.split(" "));
const dropped: ReadonlySet<string> = new Set(DROPPED.split(" "));
const INLINE: ReadonlySet<string> = new Set(
  "b strong i em u s strike del ins mark small sub sup kbd code samp var tt q cite dfn abbr time bdi bdo span a font big".split(
    " ",
  ),
);
const EMPTY: ReadonlySet<string> = new Set(["br", "wbr", "hr", "img", "col"]);

/** Returns the tag to render, `drop` to remove it with its content, or `unwrap` to keep only the content. */
export function classifyTag(name: string): { readonly tag: string } | "drop" | "unwrap" {
  const tag = name.toLowerCase();
  if (dropped.has(tag)) return "drop";
  return shown.has(tag) ? { tag: SHOWN_AS[tag] ?? tag } : "unwrap";
}

/** Whether a tag has no content. */
export function isEmptyTag(tag: string): boolean {
  return EMPTY.has(tag);
}

/** Whether a tag may occur in a line of Markdown. */
export function isInlineTag(name: string): boolean {
  return INLINE.has(name.toLowerCase());
}

const COUNT = /^\d{1,3}$/;

/** Returns the allowed attributes of an element, except the URLs of links and images. */
export function filterAttributes(
  tag: string,
  read: (name: string) => string | null | undefined,
): Readonly<Record<string, string | number | boolean>> {
  const given: Record<string, string | number | boolean> = {};
  const take = (
    name: string,
    as: string,
    accept: RegExp,
    convert: (value: string) => string | number = String,
  ): void => {
    const value = read(name)?.trim().toLowerCase();
    if (value !== undefined && accept.test(value)) given[as] = convert(value);
  };
  if (tag === "td" || tag === "th") {
    take("colspan", "colSpan", COUNT, Number);
    take("rowspan", "rowSpan", COUNT, Number);
  }
  if (tag === "th") take("scope", "scope", /^(?:row|col|rowgroup|colgroup)$/);
  if (tag === "col" || tag === "colgroup") take("span", "span", /^[1-9]\d?$/, Number);
  if (tag === "ol") take("start", "start", /^-?\d{1,9}$/, Number);
  if (tag === "li") take("value", "value", /^-?\d{1,9}$/, Number);
  if (tag === "details" && typeof read("open") === "string") given["open"] = true;
  take("dir", "dir", /^(?:ltr|rtl|auto)$/);
  take("lang", "lang", /^[a-z]{2,3}(?:-[a-z\d]{2,8}){0,3}$/);
  const title = tag === "abbr" || tag === "dfn" ? read("title") : undefined;
  if (typeof title === "string") given["title"] = title;
  return given;
}
