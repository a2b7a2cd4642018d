// A call of the model is in the log before it is made: whoever is killed has paid for nothing that nobody knows of, and
// what the question was made of is not asked for again.
import { expect, it } from "vitest";
import { createFaultyLog, readRecords } from "../engine/sender.contract.ts";
import { eventsOf, SESSION, setStage } from "../../test/agents/stage.ts";

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("asks the model when what it is asked about is durable, and not before", async () => {
  const log = await createFaultyLog();
  const stage = await setStage([{ calls: [{ name: "add", input: { a: 1, b: 2 }, id: "c1" }] }, { text: "3" }], { log });
  const seen: number[] = [];
  log.onAppend = async (_, next) => {
    // However long it takes.
    for (let turn = 0; turn < 5; turn++) await tick();
    seen.push(stage.model.requests.length);
    const done = await next();
    const starts = eventsOf(await readRecords(log, SESSION), "llm_start").length;
    expect(stage.model.requests.length).toBeLessThanOrEqual(starts);
    return done;
  };
  const run = await stage.ask("1 + 2?");
  expect(await run.ended).toMatchObject({ status: "completed" });
  expect(stage.model.requests).toHaveLength(2);
  // Some appends came while nobody had been asked, and some between the two.
  expect(new Set(seen)).toEqual(new Set([0, 1, 2]));
  await stage.read();
});
