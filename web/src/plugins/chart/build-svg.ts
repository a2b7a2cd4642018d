/** Makes the elements of a drawing, each by name: no text is ever parsed as markup. */
import type { SvgElement } from "./read-svg.ts";

const SVG = "http://www.w3.org/2000/svg";

/** `prefix` keeps the names inside one drawing apart from those of another on the same page. */
export function buildSvg({ tag, attributes, children }: SvgElement, prefix: string): SVGElement {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes))
    if (name === "aria-label") element.dataset["said"] = value;
    else if (name === "id") element.setAttribute(name, prefix + value);
    else
      element.setAttribute(
        name,
        value.replace(/^url\(#/, () => `url(#${prefix}`),
      );
  for (const child of children) element.append(typeof child === "string" ? child : buildSvg(child, prefix));
  return element;
}
