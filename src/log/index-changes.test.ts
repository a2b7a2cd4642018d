import { expect, test } from "vitest";
import { createEntry } from "./entry.ts";
import { MemoryLog } from "./memory-log.ts";

// A fork or import indexes everything at once; with a quadratic cost this would take minutes.
test("a session can be created with very many runs", async () => {
  const RUNS = 150_000;
  const entries = Array.from({ length: RUNS }, (_, index) =>
    createEntry({
      envelope: { session_id: "s", run_id: `r${index}`, event_id: index + 1, ts: index },
      event: { type: "reply", reply: "" },
    }),
  );
  const log = new MemoryLog();
  const began = performance.now();
  expect(await log.createSession("s", { entries })).toMatchObject({ lastId: RUNS, updatedAt: RUNS - 1 });
  expect(performance.now() - began).toBeLessThan(5000);
  expect(await log.getRun("s", `r${RUNS - 1}`)).toMatchObject({ status: "completed", firstId: RUNS });
});
