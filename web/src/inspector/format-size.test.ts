import { expect, it } from "vitest";
import { formatSize } from "./format-size.ts";

it("counts bytes, not characters", () => {
  expect(formatSize('{"type":"a"}', "en")).toBe("12 B");
  expect(formatSize("你好😀", "zh")).toBe("10 B");
  expect(formatSize("好".repeat(400), "en")).toBe("1.2 kB");
});
