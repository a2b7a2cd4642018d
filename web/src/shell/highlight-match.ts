/**
 * Highlights a search query in the conversation, without changing the document: the rows of the list belong to React. It
 * follows the list as rows appear.
 */
import { createMatcher } from "../sidebar/mark-match.ts";

const NAME = "page-match";
/** A short query in a long conversation has many matches. */
const MAX_RANGES = 2000;
const TURN = "[data-turn]";

/** Highlights the query below `root` until the returned function is called. Scrolls to its first match in the run. */
export function highlightMatch(root: Element, query: string, runId: string | undefined): () => void {
  const matcher = createMatcher(query);
  // Old browsers open the run without highlights.
  if (matcher === undefined || !("highlights" in CSS)) return () => undefined;
  let frame = 0;
  let isShown = runId === undefined;
  const update = (): void => {
    frame = 0;
    const ranges: Range[] = [];
    for (const turn of root.querySelectorAll(TURN)) {
      const found = findRanges(turn, matcher, MAX_RANGES - ranges.length);
      ranges.push(...found);
      if (isShown || turn.getAttribute("data-turn") !== runId || found[0] === undefined) continue;
      isShown = true;
      found[0].startContainer.parentElement?.scrollIntoView({ block: "center" });
    }
    CSS.highlights.set(NAME, new Highlight(...ranges));
  };
  const schedule = (): void => {
    if (frame === 0) frame = requestAnimationFrame(update);
  };
  const observer = new MutationObserver(schedule);
  observer.observe(root, { subtree: true, childList: true, characterData: true });
  schedule();
  return () => {
    observer.disconnect();
    cancelAnimationFrame(frame);
    CSS.highlights.delete(NAME);
  };
}

/** Finds the matches in the messages of a run. A match may span several text nodes. */
function findRanges(turn: Element, matcher: RegExp, most: number): readonly Range[] {
  const nodes: Text[] = [];
  const starts: number[] = [];
  let text = "";
  const walker = document.createTreeWalker(turn, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    nodes.push(node as Text);
    starts.push(text.length);
    text += node.nodeValue ?? "";
  }
  const locate = (index: number): readonly [Text, number] | undefined => {
    const at = starts.findLastIndex((start) => start <= index);
    const node = nodes[at];
    return node === undefined ? undefined : [node, index - (starts[at] ?? 0)];
  };
  const ranges: Range[] = [];
  for (const match of text.matchAll(matcher)) {
    if (ranges.length >= most) break;
    const [from, to] = [locate(match.index), locate(match.index + match[0].length - 1)];
    if (from === undefined || to === undefined) continue;
    const range = document.createRange();
    range.setStart(...from);
    range.setEnd(to[0], to[1] + 1);
    ranges.push(range);
  }
  return ranges;
}
