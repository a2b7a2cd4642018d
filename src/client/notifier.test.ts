import { afterEach, describe, expect, it, vi } from "vitest";
import { Notifier } from "./notifier.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("Notifier", () => {
  it("tells once for many changes, per interval", () => {
    vi.useFakeTimers();
    let told = 0;
    const notifier = new Notifier({ everyMs: 50 }, () => told++);
    for (let i = 0; i < 100; i++) notifier.schedule();
    expect(told).toBe(0);
    vi.advanceTimersByTime(49);
    expect(told).toBe(0);
    vi.advanceTimersByTime(1);
    expect(told).toBe(1);
    notifier.schedule();
    vi.advanceTimersByTime(50);
    expect(told).toBe(2);
  });

  it("tells with the frames of the screen", () => {
    const frames: (() => void)[] = [];
    vi.useFakeTimers();
    vi.stubGlobal("requestAnimationFrame", (run: () => void) => frames.push(run));
    let told = 0;
    const notifier = new Notifier("frame", () => told++);
    notifier.schedule();
    notifier.schedule();
    expect([frames.length, told]).toEqual([1, 0]);
    frames[0]?.();
    vi.advanceTimersByTime(1000);
    expect(told).toBe(1);
  });

  it("does not wait for frames that a hidden page does not get", () => {
    vi.useFakeTimers();
    vi.stubGlobal("requestAnimationFrame", () => 0);
    let told = 0;
    new Notifier("frame", () => told++).schedule();
    vi.advanceTimersByTime(200);
    expect(told).toBe(1);
  });

  it("tells at once where asked, and of what changes meanwhile after that", () => {
    const told: number[] = [];
    let changes = 0;
    const notifier = new Notifier("sync", () => {
      told.push(changes);
      if (changes < 3) {
        changes++;
        notifier.schedule();
      }
    });
    notifier.schedule();
    expect(told).toEqual([0, 1, 2, 3]);
  });

  it("tells what waits when it is asked to, and only then again", () => {
    vi.useFakeTimers();
    let told = 0;
    const notifier = new Notifier({ everyMs: 10 }, () => told++);
    notifier.flush();
    expect(told).toBe(0);
    notifier.schedule();
    notifier.flush();
    expect(told).toBe(1);
    vi.advanceTimersByTime(100);
    expect(told).toBe(1);
  });
});
