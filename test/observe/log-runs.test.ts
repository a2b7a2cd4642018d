// Runs of agents as log lines, with real pino.
import { Writable } from "node:stream";
import { pino } from "pino";
import { expect, it } from "vitest";
import { createLogObserver } from "../../src/observe/index.ts";
import { createAgentFixture } from "../agents/agent-fixture.ts";

it("logs a run of an agent with the caller's request id", async () => {
  let text = "";
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      done();
    },
  });
  const observer = await createLogObserver({ logger: pino({}, stream) });
  const script = [{ calls: [{ name: "add", input: { a: 1, b: 2 }, id: "c1" }] }, { text: "It is 3." }];
  const fixture = await createAgentFixture(script, { observers: [observer] });
  const run = await fixture.agent.answer(fixture.session, "Add these", {
    requestId: "req-9",
    context: { cookie: "sid=abcdef" },
  });
  await run.ended;
  await fixture.session.idle();
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
