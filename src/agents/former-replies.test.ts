// Runs that an earlier version left unfinished: what they remember of the model's replies has another form.
import { expect, it } from "vitest";
import { z } from "zod";
import { type AgentFixture, createAgentFixture, eventsOf } from "../../test/agents/agent-fixture.ts";
import { cutLog } from "../../test/agents/cut-log.ts";
import { listNodes, playGot } from "../../test/contracts/got-script.ts";
import { playTree } from "../../test/contracts/tree-script.ts";
import { MemoryLog } from "../log/index.ts";
import type { EventOf, StampedRecord } from "../protocol/index.ts";
import { toJsonObject } from "../protocol/json.ts";
import { recallReply } from "./ask-for-json.ts";
import type { ScriptedRequest, ScriptedTurn } from "../models/scripted-model.ts";

type Play = (request: ScriptedRequest) => ScriptedTurn | Promise<ScriptedTurn>;

const graph = playGot({
  plan: listNodes([{ id: "a" }, { id: "b" }, { id: "s", needs: ["a", "b"], operation: "score" }]),
  expansions: { a: listNodes([{ id: "x" }, { id: "y", needs: ["x"] }]) },
  scores: () => ({ scores: { a: 0.25, b: 0.75 } }),
});
const tree = { first: { score: 0.2 }, second: { score: 0.9, next: { end: { score: 1, solved: true } } } };
const playScript: Play = (request) => playTree(tree, request);
const schema = z.object({ n: z.number() });

const RUNS: readonly (readonly [string, Play, NonNullable<Parameters<typeof createAgentFixture>[1]>])[] = [
  ["plans, scores and complexity", graph, { kind: "got", adaptive: true, retryMs: 0, concurrency: 1 }],
  ["ratings", playScript, { kind: "tot", tools: [], concurrency: 1 }],
  ["votes", playScript, { kind: "tot", tools: [], evaluate: "vote", concurrency: 1 }],
  ["structured output", () => ({ text: '{"n":3}' }), { answer: { schema } }],
];

/** The record as an earlier version wrote it. */
function toFormer(record: StampedRecord): StampedRecord {
  const { event } = JSON.parse(JSON.stringify(record).replaceAll('{"json":{"n":3}}', '{"n":3}')) as StampedRecord;
  if (event.type !== "updates") return { ...record, event };
  const { value, tokens = 0 } = toJsonObject(toJsonObject(event.state)["result"]);
  if (value === undefined) return { ...record, event };
  const { checkpoint_ns: path = "" } = event as EventOf<"updates">;
  const result = path.endsWith("|complex")
    ? value
    : /\|score-\d$/.test(path)
      ? { scores: value }
      : /(?:plan|expand:.*)-\d$/.test(path)
        ? { plan: value }
        : { verdict: value, tokens };
  return { ...record, event: { ...event, state: { ...toJsonObject(event.state), result } } };
}

/** What the run came to, without the calls that a cut repeated. */
async function describe(fixture: AgentFixture) {
  const records = await fixture.read();
  return {
    status: eventsOf(records, "run_end").map(({ status }) => status),
    replies: eventsOf(records, "reply").map(({ reply }) => reply),
    ratings: eventsOf(records, "tot_evaluate").map(({ scores }) => scores),
    nodes: eventsOf(records, "got_node_complete").map(({ id, result_summary }) => [id, result_summary]),
  };
}

it.each(RUNS)("are read: %s", async (_, play, options) => {
  const whole = await createAgentFixture(play, { ...options, log: new MemoryLog() });
  await (
    await whole.ask("Go")
  ).ended;
  const expected = await describe(whole);
  const records = await whole.read();
  const former = records.map(toFormer);
  expect(former).not.toEqual(records);
  for (const [index, { event }] of records.entries()) {
    if (event.type !== "updates") continue;
    const length = records[index + 1]?.event.type === "node_exit" ? index + 2 : index + 1;
    const fixture = await createAgentFixture(play, { ...options, log: await cutLog(former.slice(0, length)) });
    await fixture.session.idle();
    expect([length, await describe(fixture)]).toEqual([length, expected]);
    const left = whole.model.requests.length - eventsOf(records.slice(0, length), "llm_end").length;
    expect([length, fixture.model.requests.length]).toEqual([length, left]);
    await fixture.session.close();
  }
});

it("count no tokens if they remember none", () => {
  const remembered = { fault: "there is no plan", said: "Hm." } as unknown as { readonly tokens: number };
  expect(recallReply(remembered)).toEqual({ fault: "there is no plan", said: "Hm.", tokens: 0 });
});
