import { expect, test } from "vitest";
import { createEntry } from "./entry.ts";
import { MemoryLog } from "./memory-log.ts";
import { LONG } from "../../test/sampling.ts";

// A fork or import indexes everything at once. With a quadratic cost, the test would time out.
test.runIf(LONG)("a session can be created with very many runs", async () => {
  const RUNS = 100_000;
  const entries = Array.from({ length: RUNS }, (_, index) =>
    createEntry({
      envelope: { session_id: "s", run_id: `r${index}`, event_id: index + 1, ts: index },
      event: { type: "reply", reply: "" },
    }),
  );
  const log = new MemoryLog();
  expect(await log.createSession("s", { entries })).toMatchObject({ lastId: RUNS, updatedAt: RUNS - 1 });
  expect(await log.getRun("s", `r${RUNS - 1}`)).toMatchObject({ status: "completed", firstId: RUNS });
});
