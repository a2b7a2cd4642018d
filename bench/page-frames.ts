/**
 * Frames that users see: how long they take while an answer streams, compared with an idle page, and whether fast
 * scrolling shows frames without messages.
 */
import type { Browser, Page } from "playwright-core";
import { median, print, report, times } from "./measure.ts";
import type { OpenedSession } from "./page-session.ts";
import { measureTask } from "./page-table.ts";

const MAX_TASK_MS = 50;
const MAX_FRAME_RATIO = 1.5;
const SCROLLED_FRAMES = 200;
const SCROLL_STEPS_PX = [240, 1500];

/** The longest task and the slowest frames while `stream` writes tokens. Returns whether all goals are reached. */
export async function measureStreaming(
  browser: Browser,
  opened: OpenedSession,
  stream: (opened: OpenedSession) => Promise<unknown>,
  rounds: number,
): Promise<boolean> {
  const { page } = opened;
  await page.bringToFront();
  const longest: number[] = [];
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const { processorMs } = await measureTask(browser, page, async () => void (await stream(opened)));
    longest.push(processorMs);
    const start = performance.now();
    const busy = await measureFrames(page, async () => void (await stream(opened)));
    const ms = performance.now() - start;
    const idle = await measureFrames(page, () => new Promise((resolve) => setTimeout(resolve, ms)));
    ratios.push(findSlow(busy) / findSlow(idle));
  }
  const most = Math.max(...longest);
  const isShort = report(
    `streaming, longest task in ${rounds} rounds`,
    `${most.toFixed(0)} ms`,
    `≤ ${MAX_TASK_MS} ms`,
    most <= MAX_TASK_MS,
    `median ${median(longest).toFixed(0)} ms`,
  );
  const ratio = median(ratios);
  const isSmooth = report(
    "streaming, 95th percentile of the frame times, compared with an idle page",
    times(ratio),
    `≤ ${MAX_FRAME_RATIO} ×`,
    ratio <= MAX_FRAME_RATIO,
  );
  return isShort && isSmooth;
}

function findSlow(gaps: readonly number[]): number {
  return gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length * 0.95)] ?? Number.NaN;
}

/** Milliseconds between frames during an action. */
async function measureFrames(page: Page, act: () => Promise<void>): Promise<readonly number[]> {
  const recording = await page.evaluateHandle(() => {
    const state = { gaps: [] as number[], isOver: false };
    let last = performance.now();
    const note = (now: number): void => {
      state.gaps.push(now - last);
      last = now;
      if (!state.isOver) requestAnimationFrame(note);
    };
    requestAnimationFrame(note);
    return state;
  });
  await act();
  return recording.evaluate((state) => {
    state.isOver = true;
    return state.gaps;
  });
}

interface Scrolling {
  readonly gaps: readonly number[];
  /** Frames in which a part of the list has no messages. */
  readonly blank: number;
}

/** Scrolls up through a long conversation. Returns whether all goals are reached. */
export async function measureScrolling(page: Page): Promise<boolean> {
  await page.bringToFront();
  let blank = 0;
  for (const step of SCROLL_STEPS_PX) {
    const scrolled = await scroll(page, step);
    blank += scrolled.blank;
    const late = scrolled.gaps.filter((gap) => gap > 34).length;
    print(
      `scrolling by ${step} px: median ${median(scrolled.gaps).toFixed(1)} ms per frame, ${late} of ${scrolled.gaps.length} over 34 ms, ${scrolled.blank} blank`,
    );
  }
  const frames = SCROLLED_FRAMES * SCROLL_STEPS_PX.length;
  return report("fast scrolling, frames without messages", `${blank} of ${frames}`, "0", blank === 0);
}

function scroll(page: Page, step: number): Promise<Scrolling> {
  return page.evaluate(
    async ([px, frames]) => {
      const scroller = document.querySelector(".loom-conversation-scroller");
      if (scroller === null) throw new Error("no conversation");
      const box = scroller.getBoundingClientRect();
      const gaps: number[] = [];
      let blank = 0;
      let last = performance.now();
      scroller.scrollTop = scroller.scrollHeight;
      for (let frame = 0; frame < frames; frame++) {
        // Between two frames, as when the user scrolls: the next frame handles the event and then paints.
        await new Promise((resolve) => setTimeout(resolve));
        scroller.scrollTop -= px;
        const now = await new Promise<number>((resolve) => void requestAnimationFrame(resolve));
        gaps.push(now - last);
        last = now;
        let covered = 0;
        for (const row of scroller.querySelectorAll(".loom-conversation-row")) {
          const { top, bottom } = row.getBoundingClientRect();
          covered += Math.max(0, Math.min(bottom, box.bottom) - Math.max(top, box.top));
        }
        if (covered < box.height * 0.95) blank++;
      }
      return { gaps, blank };
    },
    [step, SCROLLED_FRAMES] as const,
  );
}
