/**
 * HTML into a document that is nowhere shown: nothing in it runs and nothing is fetched. Only its tree is read; no part
 * of it ever reaches the page.
 *
 * The policy of trusted types has the name `loom`, and this is the only place that uses it.
 */
interface Policy {
  createHTML(html: string): unknown;
}

interface Factory {
  createPolicy(name: string, rules: { createHTML(html: string): string }): Policy;
}

let policy: Policy | undefined;

function getPolicy(): Policy {
  const { trustedTypes } = globalThis as { trustedTypes?: Factory };
  // The document is inert: that is what makes it safe, not the text.
  policy ??= trustedTypes?.createPolicy("loom", { createHTML: (html) => html }) ?? { createHTML: (html) => html };
  return policy;
}

/** Undefined where there is no parser, as on a server, or where the page's policy does not let us. */
export function parseInert(html: string): Element | undefined {
  if (typeof DOMParser === "undefined") return undefined;
  try {
    return new DOMParser().parseFromString(getPolicy().createHTML(quieten(html)) as string, "text/html").body;
  } catch {
    return undefined;
  }
}

/** What is not taken over anyway, but what a browser whose page forbids it complains of even in an inert document. */
function quieten(html: string): string {
  if (!/style|<base/i.test(html)) return html;
  return html
    .replaceAll(/<base(?=[\s/>])/gi, "<link")
    .replaceAll(/<(\/?)style(?=[\s/>])/gi, "<$1template")
    .replaceAll(/<[a-z][^<>]*>/gi, (tag) => tag.replaceAll(/(?<=[\s"'/])style(?=\s*=)/gi, "data-style"));
}
