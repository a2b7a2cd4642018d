import { expect, it } from "vitest";
import { formatSlowest } from "../scripts/slowest-files.ts";

it("lists the ten slowest files, slowest first", () => {
  const times = Array.from({ length: 12 }, (_, at) => ({ path: `${at}.test.ts`, ms: at * 1000 + 40 }));
  const [title, ...rows] = formatSlowest(times).split("\n");
  expect(title).toBe("Slowest files, of 12 files and 66.5 s in total:");
  expect(rows).toHaveLength(10);
  expect([rows[0], rows[9]]).toEqual(["  11.0 s  11.test.ts", "   2.0 s  2.test.ts"]);
});
