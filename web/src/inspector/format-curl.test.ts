import { expect, test } from "vitest";
import { formatCurl } from "./format-curl.ts";

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
