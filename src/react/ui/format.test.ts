import { describe, expect, it } from "vitest";
import { formatBytes, formatDuration, formatRecentTime, formatTime } from "./format.ts";

describe("formatDuration", () => {
  it.each([
    [0, "under 0.1 s", "0.1 秒以内"],
    [49, "under 0.1 s", "0.1 秒以内"],
    [50, "0.1 s", "0.1 秒"],
    [1834, "1.8 s", "1.8 秒"],
    [9949, "9.9 s", "9.9 秒"],
    [9950, "10 s", "10 秒"],
    [59_499, "59 s", "59 秒"],
    [59_500, "1 min", "1 分钟"],
    [61_000, "1 min 1 s", "1 分 1 秒"],
    [3_600_000, "60 min", "60 分钟"],
  ])("formats %d ms as %s", (ms, en, zh) => {
    expect([formatDuration(ms, "en"), formatDuration(ms, "zh")]).toEqual([en, zh]);
  });
});

describe("formatBytes", () => {
  it.each([
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1 kB"],
    [1250, "1.3 kB"],
    [123_456, "123 kB"],
    [5_000_000_000_000, "5,000 GB"],
  ])("formats %d bytes as %s", (bytes, text) => {
    expect(formatBytes(bytes, "en")).toBe(text);
  });
});

describe("a time", () => {
  it("has a date unless it is today", () => {
    const noon = new Date(2026, 4, 3, 12, 5).getTime();
    expect(formatTime(noon, "en")).toMatch(/^May 3, 2026, 12:05\sPM$/);
    expect(formatRecentTime(noon, "en", noon + 3_600_000)).toMatch(/^12:05\sPM$/);
    expect(formatRecentTime(noon, "zh", noon)).toBe("12:05");
    expect(formatRecentTime(noon, "en", noon + 86_400_000)).toBe(formatTime(noon, "en"));
    expect([formatTime(Number.NaN, "en"), formatRecentTime(Number.NaN, "en")]).toEqual(["", ""]);
  });
});
