/**
 * Parses HTML into an inert document: nothing in it runs or loads. Only its tree is read; no node enters the page.
 *
 * This is the only user of the Trusted Types policy `loom`.
 */
interface HtmlPolicy {
  createHTML(html: string): unknown;
}

interface HtmlPolicyFactory {
  createPolicy(name: string, rules: { createHTML(html: string): string }): HtmlPolicy;
}

let policy: HtmlPolicy | undefined;

function getPolicy(): HtmlPolicy {
  const { trustedTypes } = globalThis as { trustedTypes?: HtmlPolicyFactory };
  // Safe because the document is inert, not because of the text.
  policy ??= trustedTypes?.createPolicy("loom", { createHTML: (html) => html }) ?? { createHTML: (html) => html };
  return policy;
}

/** Returns undefined without a DOM parser, as on a server, or if the page's policy forbids it. */
export function parseInert(html: string): Element | undefined {
  if (typeof DOMParser === "undefined") return undefined;
  try {
    return new DOMParser().parseFromString(getPolicy().createHTML(disableStyles(html)) as string, "text/html").body;
  } catch {
    return undefined;
  }
}

/**
 * Renames styles and base tags. They would be dropped anyway, but browsers report them as policy violations even in an
 * inert document.
 */
function disableStyles(html: string): string {
  if (!/style|<base/i.test(html)) return html;
  return html
    .replaceAll(/<base(?=[\s/>])/gi, "<link")
    .replaceAll(/<(\/?)style(?=[\s/>])/gi, "<$1template")
    .replaceAll(/<[a-z][^<>]*>/gi, (tag) => tag.replaceAll(/(?<=[\s"'/])style(?=\s*=)/gi, "data-style"));
}
