/**
 * Runs in Chromium: renders every text of the corpus in every format, complete and streaming, and reports forbidden
 * elements.
 */
import type { ReactNode } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { RichText, UiProvider } from "../../src/react/index.ts";
import { Formula } from "../../web/src/plugins/math-formula.tsx";
import { HighlightedCode } from "../../web/src/plugins/code-highlight.tsx";
import { XSS_CORPUS } from "./xss-corpus.ts";

export interface XssOutcome {
  readonly rendered: number;
  readonly elements: number;
  readonly forbidden: readonly string[];
  readonly hasRun: boolean;
  /** Text of one harmless HTML sample, so that an empty page does not pass. */
  readonly sample: string;
}

const HTML = "http://www.w3.org/1999/xhtml";
const MATHML = "http://www.w3.org/1998/Math/MathML";
const TAGS: ReadonlySet<string> = new Set(
  (
    "p div span a b i u s q em strong del ins mark small sub sup kbd code samp var cite dfn abbr time bdi bdo br wbr hr img " +
    "ul ol li dl dt dd h1 h2 h3 h4 h5 h6 blockquote pre table caption colgroup col thead tbody tfoot tr th td figure " +
    "figcaption details summary ruby rt rp button"
  ).split(" "),
);
const ATTRIBUTES: ReadonlySet<string> = new Set(
  (
    "class href target rel src alt title start value scope colspan rowspan span open dir lang data-align aria-label " +
    "aria-hidden role tabindex type disabled readonly checked loading decoding referrerpolicy"
  ).split(" "),
);

function findForbidden(element: Element): string | undefined {
  const { localName, namespaceURI } = element;
  // Our own icons and formulas are in other namespaces.
  if (namespaceURI === MATHML) return checkAttributes(element, /^(?!on|href|src|xlink|id$)/);
  if (element.closest("svg.loom-icon") !== null) return undefined;
  if (localName === "input") return element.getAttribute("type") === "checkbox" ? undefined : "input";
  if (namespaceURI !== HTML || !TAGS.has(localName)) return localName;
  if (localName === "button" && !element.classList.contains("loom-button")) return localName;
  const href = element.getAttribute("href");
  if (href !== null && !/^(?:https?:\/\/|mailto:)/.test(href)) return `href ${href}`;
  if (href !== null && element.getAttribute("rel") !== "noopener noreferrer nofollow") return "rel";
  const src = element.getAttribute("src");
  if (src !== null && !/^(?:\/image\?url=https?%3A|data:image\/(?:png|jpeg|gif|webp|avif);base64,[\w+/=]*$)/.test(src))
    return `src ${src}`;
  const classes = [...element.classList].find((name) => !name.startsWith("loom-"));
  return classes ?? checkAttributes(element, undefined);
}

function checkAttributes(element: Element, accept: RegExp | undefined): string | undefined {
  const name = element
    .getAttributeNames()
    .find((attribute) => (accept === undefined ? !ATTRIBUTES.has(attribute) : !accept.test(attribute)));
  return name === undefined ? undefined : `${element.localName} ${name}`;
}

function Case({ text, format, isComplete }: { text: string; format: string; isComplete: boolean }): ReactNode {
  return <RichText text={text} format={format} isComplete={isComplete} />;
}

async function run(): Promise<XssOutcome> {
  const root = document.querySelector("#root") as HTMLElement;
  const forbidden: string[] = [];
  let rendered = 0;
  let elements = 0;
  const render = (node: ReactNode): string => {
    const place = document.createElement("div");
    root.append(place);
    const made = createRoot(place);
    flushSync(() =>
      made.render(
        <UiProvider
          plugins={{ Code: HighlightedCode, Math: Formula }}
          imageUrl={(url) => (url.startsWith("data:") ? url : `/image?url=${encodeURIComponent(url)}`)}
        >
          {node}
        </UiProvider>,
      ),
    );
    for (const element of place.querySelectorAll("*")) {
      elements++;
      const found = findForbidden(element);
      if (found !== undefined) forbidden.push(`${found} in ${place.textContent.slice(0, 80)}`);
      // Trigger event handlers.
      for (const type of ["click", "mouseover", "focus", "pointerenter"]) {
        if (element.localName !== "a") element.dispatchEvent(new Event(type, { bubbles: true }));
      }
    }
    return place.textContent;
  };
  for (const text of XSS_CORPUS) {
    for (const format of ["markdown", "html", "text"]) {
      for (const isComplete of [true, false]) {
        render(<Case text={text} format={format} isComplete={isComplete} />);
        rendered++;
      }
    }
  }
  const sample = render(
    <Case text="<p>A <b>bold</b> <table><tr><td>cell</td></tr></table></p>" format="html" isComplete />,
  );
  // Give delayed code time to run.
  await new Promise((resolve) => setTimeout(resolve, 500));
  return { rendered, elements, forbidden, hasRun: "__ran" in globalThis, sample };
}

Object.assign(globalThis, { outcome: run() });
