import { afterEach, describe, expect, it, vi } from "vitest";
import { Notifier } from "./notifier.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("Notifier", () => {
  it("notifies once per interval for many changes", () => {
    vi.useFakeTimers();
    let notified = 0;
    const notifier = new Notifier({ everyMs: 50 }, () => notified++);
    for (let i = 0; i < 100; i++) notifier.schedule();
    expect(notified).toBe(0);
    vi.advanceTimersByTime(49);
    expect(notified).toBe(0);
    vi.advanceTimersByTime(1);
    expect(notified).toBe(1);
    notifier.schedule();
    vi.advanceTimersByTime(50);
    expect(notified).toBe(2);
  });

  it("notifies on animation frames", () => {
    const frames: (() => void)[] = [];
    vi.useFakeTimers();
    vi.stubGlobal("requestAnimationFrame", (run: () => void) => frames.push(run));
    let notified = 0;
    const notifier = new Notifier("frame", () => notified++);
    notifier.schedule();
    notifier.schedule();
    expect([frames.length, notified]).toEqual([1, 0]);
    frames[0]?.();
    vi.advanceTimersByTime(1000);
    expect(notified).toBe(1);
  });

  it("does not wait for animation frames on a hidden page", () => {
    vi.useFakeTimers();
    vi.stubGlobal("requestAnimationFrame", () => 0);
    let notified = 0;
    new Notifier("frame", () => notified++).schedule();
    vi.advanceTimersByTime(200);
    expect(notified).toBe(1);
  });

  it("notifies synchronously, and of changes made meanwhile afterwards", () => {
    const notified: number[] = [];
    let changes = 0;
    const notifier = new Notifier("sync", () => {
      notified.push(changes);
      if (changes < 3) {
        changes++;
        notifier.schedule();
      }
    });
    notifier.schedule();
    expect(notified).toEqual([0, 1, 2, 3]);
  });

  it("notifies on flush, and then only after further changes", () => {
    vi.useFakeTimers();
    let notified = 0;
    const notifier = new Notifier({ everyMs: 10 }, () => notified++);
    notifier.flush();
    expect(notified).toBe(0);
    notifier.schedule();
    notifier.flush();
    expect(notified).toBe(1);
    vi.advanceTimersByTime(100);
    expect(notified).toBe(1);
  });
});
