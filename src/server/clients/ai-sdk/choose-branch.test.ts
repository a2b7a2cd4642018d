import { expect, it } from "vitest";
import { createServerFixture } from "../../../../test/server/server-fixture.ts";
import { LOCAL } from "../../auth/principal.ts";
import { chooseBranch } from "./choose-branch.ts";
import type { KnownMessage } from "./read-ui-request.ts";

it("reads the client's messages a fixed number of times, however many runs the chat has", async () => {
  const { core, ask } = await createServerFixture({ script: () => ({ text: "Hello." }) });
  const RUNS = 30;
  for (let run = 0; run < RUNS; run++)
    await ask(
      "POST",
      "/v1/sessions/c/runs",
      { message: "Hi", run_id: `r${run}`, request_id: `u${run}` },
      { status: 202 },
    );
  await expect.poll(async () => (await core.log.listRuns("c")).length, { timeout: 20_000 }).toBe(RUNS);
  let reads = 0;
  const known = Array.from({ length: 1000 }, (_, index): KnownMessage => ({
    isAnswer: false,
    hasText: true,
    get id() {
      reads++;
      return `other-${index}`;
    },
  }));
  const headers = new Headers();
  const url = new URL("http://127.0.0.1/");
  const caller = { method: "POST", headers, url, address: undefined, origin: "", principal: LOCAL, shares: [] };
  await chooseBranch(core, caller, {
    chat: "c",
    input: { id: "new", message: "Hi" },
    known,
    isComplete: false,
    editsByOmission: false,
    replaces: undefined,
    isRegenerated: false,
    key: undefined,
    signal: new AbortController().signal,
  });
  expect(reads).toBeLessThan(4 * known.length);
});
