// A very long conversation: each turn thinks, calls two tools and answers; every tenth is cancelled and every tenth
// fails. Memory must stay flat, and the last turn must work like the first.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { openSqliteLog } from "../../src/log/index.ts";
import type { ScriptedRequest, ScriptedTurn } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { createTools } from "./counted-tools.ts";
import { findRuleViolation } from "./find-rule-violation.ts";
import { LONG } from "../sampling.ts";

const TURNS = LONG ? 10_000 : 30;
/** Maximum heap growth between the first part of the test and its end. */
const MAX_GROWTH = 8 * 1024 * 1024;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function measureHeap(): number {
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

function play({ prompt }: ScriptedRequest): ScriptedTurn {
  expect(findRuleViolation(prompt)).toBeUndefined();
  const last = prompt.at(-1);
  if (last?.role === "tool") return { text: "That is all, and it took two sums to find out." };
  const [first] = last?.role === "user" ? last.content : [];
  const said = first?.type === "text" ? first.text : "";
  if (said.startsWith("fail")) return { text: "I was about to", fault: { kind: "cut", after: 2 } };
  if (said.startsWith("stop")) return { text: "I was about to", fault: { kind: "stall", after: 2 } };
  const add = (a: number) => ({ name: "add", input: { a, b: 1 } });
  return { reasoning: "Two sums.", calls: [add(1), add(2)] };
}

it.runIf(LONG)(`talks for ${TURNS} turns with flat memory`, { timeout: 900_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "loom-soak-"));
  const log = await openSqliteLog(join(folder, "loom.db"));
  const { tools, ran } = createTools();
  const actor = agent({
    model: new ScriptedModel((request) => play(request), { maxRequests: 1 }),
    tools,
    history: { maxRuns: 20 },
  });
  const session = await actor.openSession(log, "soak");
  const seen = { completed: 0, cancelled: 0, error: 0 };
  let early = 0;
  const answering = new Set<string | undefined>();
  session.onCommit((entries) => {
    for (const { record } of entries) if (record.event.type === "message_chunk") answering.add(record.envelope.run_id);
  });
  for (let turn = 1; turn <= TURNS; turn++) {
    const kind = turn % 10 === 3 ? "stop" : turn % 10 === 7 ? "fail" : "add";
    const run = await actor.answer(session, `${kind} ${turn}`);
    if (kind === "stop") {
      while (!answering.has(run.runId) && run.status === "live") await new Promise((resolve) => setImmediate(resolve));
      await run.cancel();
    }
    seen[(await run.ended).status]++;
    ran.length = 0;
    answering.clear();
    if (turn === Math.floor(TURNS / 5)) early = measureHeap();
  }
  const growth = measureHeap() - early;
  expect(seen).toEqual({ completed: (TURNS * 8) / 10, cancelled: TURNS / 10, error: TURNS / 10 });
  expect(growth).toBeLessThan(MAX_GROWTH);
  await session.close();
  await log.close();
  await rm(folder, { recursive: true, force: true });
});
