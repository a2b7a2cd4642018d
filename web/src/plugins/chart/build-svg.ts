/** Builds SVG elements from a parsed drawing. No text is parsed as markup. */
import type { SvgElement } from "./read-svg.ts";

const SVG = "http://www.w3.org/2000/svg";

/** `prefix` keeps IDs of several drawings on one page apart. */
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
