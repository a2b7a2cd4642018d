/** Checks of a screen: violations that axe-core finds, and content that is cut off or makes the page scroll sideways. */
import axe from "axe-core";
import type { Page } from "playwright-core";

type Tested = typeof globalThis & { readonly axe: typeof axe };

/** Violations with their location. Throws if no rule applied. */
export async function findFaults(page: Page, where = "html"): Promise<readonly string[]> {
  // Evaluated, because the page's policy forbids injected scripts.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  const { violations, passes } = await page.evaluate(
    (place) => (globalThis as Tested).axe.run(place, { resultTypes: ["violations"] }),
    where,
  );
  if (passes.length < 2) throw new Error(`axe-core found nothing to check in ${where}`);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}

/** Controls and texts that are outside of the window and cannot be scrolled into view, and scrolling of the page. */
export function findCutContent(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const { clientWidth, scrollWidth } = document.documentElement;
    const faults =
      scrollWidth > clientWidth ? [`the page is ${scrollWidth} px wide, the window ${clientWidth} px`] : [];
    const isUnseen = (element: Element): boolean =>
      !element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) ||
      element.closest("[inert], [aria-hidden=true]") !== null;
    const scrolls = (element: Element | null): boolean =>
      element !== null &&
      ((/auto|scroll/.test(getComputedStyle(element).overflowX) && element.scrollWidth > element.clientWidth) ||
        scrolls(element.parentElement));
    for (const element of document.querySelectorAll("button, input, select, textarea, a, h1, h2, h3, p, label, time")) {
      const { left, right, width } = element.getBoundingClientRect();
      if (width < 2 || (left >= -1 && right <= clientWidth + 1) || isUnseen(element) || scrolls(element)) continue;
      faults.push(`${element.outerHTML.slice(0, 120)} is at ${Math.round(left)} to ${Math.round(right)} px`);
    }
    return faults;
  });
}
