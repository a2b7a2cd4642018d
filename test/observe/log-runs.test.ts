// Runs of agents as log lines, with real pino.
import { Writable } from "node:stream";
import { pino } from "pino";
import { expect, it } from "vitest";
import { createLogObserver } from "../../src/observe/index.ts";
import { setStage } from "../agents/stage.ts";

it("a run of an agent is told line by line, with the caller's request id", async () => {
  let text = "";
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      done();
    },
  });
  const observer = await createLogObserver({ logger: pino({}, stream) });
  const script = [{ calls: [{ name: "add", input: { a: 1, b: 2 }, id: "c1" }] }, { text: "It is 3." }];
  const stage = await setStage(script, { observers: [observer] });
  const run = await stage.agent.answer(stage.session, "Add these", {
    requestId: "req-9",
    context: { cookie: "sid=abcdef" },
  });
  await run.ended;
  await stage.session.idle();
  const lines = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly msg: string; readonly request_id: string; readonly run_id: string });
  expect(lines.map(({ msg }) => msg)).toEqual([
    "run started",
    "model call ended",
    "tool ended",
    "model call ended",
    "run ended",
  ]);
  for (const line of lines) expect(line).toMatchObject({ request_id: "req-9", run_id: run.runId });
  expect(text).not.toMatch(/Add these|It is 3|abcdef/);
});
