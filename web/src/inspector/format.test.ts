import { expect, it, test } from "vitest";
import { formatCurl, formatSize } from "./format.ts";

it("counts bytes, not characters", () => {
  expect(formatSize('{"type":"a"}', "en")).toBe("12 B");
  expect(formatSize("你好😀", "zh")).toBe("10 B");
  expect(formatSize("好".repeat(400), "en")).toBe("1.2 kB");
});

test("writes a command that a shell reads as one request, without a token", () => {
  const run = {
    base: "https://loom.example/agents/?x=1#/s/a",
    session: "it's $(rm) a/b",
    runId: "r&1",
    dialect: "loom",
  };
  expect(formatCurl(run)).toBe(
    [
      String.raw`curl --no-buffer 'https://loom.example/agents/v1/sessions/it'\''s%20%24(rm)%20a%2Fb/events?run=r%261&dialect=loom&modes=all'`,
      "-H 'Accept: text/event-stream'",
      '-H "Authorization: Bearer $LOOM_TOKEN"',
    ].join(" \\\n  "),
  );
});
