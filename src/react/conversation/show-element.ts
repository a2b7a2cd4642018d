/** Scrolls an element of a run into view and highlights it briefly. */
import { requestReveal } from "../thoughts/use-reveal-request.ts";
import type { ElementTarget } from "../ui/ui-context.tsx";

const HIGHLIGHT_MS = 1600;
/** Animation frames to wait for the row to render. */
const MAX_FRAMES = 30;

function findElement(root: ParentNode, { turn, kind, key }: ElementTarget): Element | undefined {
  const run = root.querySelector(`[data-turn="${CSS.escape(turn)}"]`);
  if (run === null || kind === "turn") return run ?? undefined;
  return run.querySelector(`[data-${kind}="${CSS.escape(key)}"]`) ?? undefined;
}

/** Retries until the list has rendered the row, up to `MAX_FRAMES`; then falls back to the run. */
export function showElement(root: ParentNode, target: ElementTarget): void {
  let frames = 0;
  let isRequested = false;
  const tryToShow = (): void => {
    const run = findElement(root, toTurn(target));
    // Folded or off-screen elements are not in the document until a reveal is requested.
    if (run !== undefined && !isRequested) {
      isRequested = true;
      requestReveal(run, target);
    }
    const found = findElement(root, target) ?? (frames >= MAX_FRAMES ? run : undefined);
    if (found !== undefined) highlight(found);
    else if (frames++ < MAX_FRAMES) requestAnimationFrame(tryToShow);
  };
  requestAnimationFrame(tryToShow);
}

const toTurn = ({ turn }: ElementTarget): ElementTarget => ({ turn, kind: "turn", key: "" });

function highlight(element: Element): void {
  element.scrollIntoView({ block: "center" });
  element.setAttribute("data-marked", "");
  setTimeout(() => element.removeAttribute("data-marked"), HIGHLIGHT_MS);
  const target = element.closest<HTMLElement>("[tabindex]") ?? undefined;
  target?.focus({ preventScroll: true });
}
