/** Brings an element of the page into sight and marks it for a moment. It looks in the document and nowhere else. */
import { askToShow } from "../thoughts/use-asked.ts";
import type { ElementPlace } from "../ui/ui-context.tsx";

const MARKED_MS = 1600;
/** Frames of the screen that a row may take to be there. */
const MAX_FRAMES = 30;

/** Undefined where it is not in the document. */
function findElement(root: ParentNode, { turn, kind, key }: ElementPlace): Element | undefined {
  const run = root.querySelector(`[data-turn="${CSS.escape(turn)}"]`);
  if (run === null || kind === "turn") return run ?? undefined;
  return run.querySelector(`[data-${kind}="${CSS.escape(key)}"]`) ?? undefined;
}

/** `root` may show it only after it has been scrolled there: it is looked for until it is there, and not for ever. */
export function showElement(root: ParentNode, place: ElementPlace): void {
  let frames = 0;
  let isAsked = false;
  const look = (): void => {
    const run = findElement(root, toTurn(place));
    // What is folded, or outside of what is drawn, is not in the document until it is asked for.
    if (run !== undefined && !isAsked) {
      isAsked = true;
      askToShow(run, place);
    }
    const found = findElement(root, place) ?? (frames >= MAX_FRAMES ? run : undefined);
    if (found !== undefined) mark(found);
    else if (frames++ < MAX_FRAMES) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

const toTurn = ({ turn }: ElementPlace): ElementPlace => ({ turn, kind: "turn", key: "" });

function mark(element: Element): void {
  element.scrollIntoView({ block: "center" });
  element.setAttribute("data-marked", "");
  setTimeout(() => element.removeAttribute("data-marked"), MARKED_MS);
  const target = element.closest<HTMLElement>("[tabindex]") ?? undefined;
  target?.focus({ preventScroll: true });
}
