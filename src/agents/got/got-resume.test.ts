// A graph of thoughts resumed by a process with other options, or with an edited plan.
import { describe, expect, it } from "vitest";
import { eventsOf, SESSION, createAgentFixture } from "../../../test/agents/agent-fixture.ts";
import { LONG, sampleCases } from "../../../test/sampling.ts";
import { forkSession, MemoryLog } from "../../log/index.ts";
import type { EventOf, Json, StampedRecord } from "../../protocol/index.ts";
import type { GotOptions } from "./got-settings.ts";
import {
  cutLog,
  describeWork,
  listNodes,
  playGot,
  readGotPrompt,
  rebuildGraph,
} from "../../../test/contracts/got-script.ts";

const PAIR = listNodes([{ id: "x" }, { id: "y", needs: ["x"] }]);

const play = playGot({
  plan: listNodes([{ id: "a" }, { id: "b" }, { id: "c", needs: ["a", "b"] }]),
  expansions: { a: PAIR, b: PAIR, "a.y": PAIR, c: PAIR },
  work: (asked, { tools = [] }) =>
    ["b", "b.x"].includes(asked.id) && asked.turn === 0 && tools.length > 0
      ? { calls: [{ name: "add", input: { a: 1, b: 2 }, id: `add-${asked.id}` }] }
      : describeWork(asked),
});

function createGotFixture(options: GotOptions, log = new MemoryLog()) {
  return createAgentFixture(play, { kind: "got", retryMs: 0, callOptions: { maxRetries: 0 }, log, ...options });
}

async function record(options: GotOptions): Promise<readonly StampedRecord[]> {
  const fixture = await createGotFixture(options);
  await (
    await fixture.ask("Go")
  ).ended;
  return fixture.read();
}

/** After each remembered result, with everything in its append; after every third in the short run. */
function listCuts(records: readonly StampedRecord[]): readonly number[] {
  const cuts = records.flatMap(({ event }, index) => {
    if (event.type !== "updates") return [];
    const next = records[index + 1]?.event.type;
    return [next === "node_exit" ? index + 2 : index + 1];
  });
  return LONG ? cuts : cuts.filter((_, at) => at % 3 === 0 || at === cuts.length - 1);
}

const CHANGES: readonly (readonly [GotOptions, GotOptions])[] = [
  [{ adaptive: true }, { adaptive: false }],
  [{ adaptive: true }, { adaptive: true, maxDepth: 0 }],
  [{ adaptive: true }, { adaptive: true, maxDepth: 1, maxNodes: 1 }],
  [{ adaptive: true }, { adaptive: true, maxTotalNodes: 7, concurrency: 1 }],
  [
    { adaptive: true, maxTotalNodes: 7 },
    { adaptive: true, maxTotalNodes: 7 },
  ],
  [{ adaptive: true }, { adaptive: false, maxIterations: 0 }],
  [{ adaptive: false }, { adaptive: true }],
];

describe("a graph of thoughts resumed with other options", () => {
  it.each(sampleCases(CHANGES, { perKind: 3 }))(
    "from %o to %o finishes what was planned, once, and respects the new limits",
    async (first, second) => {
      const records = await record(first);
      for (const length of listCuts(records)) {
        const prefix = records.slice(0, length);
        const before = rebuildGraph(prefix);
        const fixture = await createGotFixture(second, await cutLog(SESSION, prefix));
        await fixture.session.idle();
        const after = await fixture.read();
        const where = `after record ${length}, ${prefix.at(-1)?.event.type}`;
        expect([where, eventsOf(after, "run_end")]).toMatchObject([where, [{ status: "completed" }]]);
        const { nodes, completed } = rebuildGraph(after);
        expect([where, completed.toSorted()]).toEqual([where, nodes.toSorted()]);
        const { maxTotalNodes = 200, adaptive = false } = second;
        expect([where, nodes.length <= Math.max(before.nodes.length, maxTotalNodes)]).toEqual([where, true]);
        if (!adaptive && before.nodes.length > 0)
          expect([where, nodes.toSorted()]).toEqual([where, before.nodes.toSorted()]);
        // A thought that has started to use tools continues and is not expanded.
        const begun = eventsOf(prefix, "updates").flatMap(({ checkpoint_ns: path = "" }) =>
          path.endsWith("|think-1") ? [path.split("|").at(-2)] : [],
        );
        const again = fixture.model.prompts
          .map(readGotPrompt)
          .filter(({ id, turn }) => turn === 0 && begun.includes(id));
        expect([where, again]).toEqual([where, []]);
        await fixture.session.close();
      }
    },
  );
});

describe("a graph of thoughts with an edited plan", () => {
  const node = { id: "a", task: "do a", needs: [] as readonly string[], operation: "generate" };
  it.each<readonly [string, Json]>([
    [
      "has a cycle",
      {
        nodes: [
          { ...node, needs: ["b"] },
          { ...node, id: "b", needs: ["a"] },
        ],
      },
    ],
    ["needs a missing node", { nodes: [{ ...node, needs: ["gone"] }] }],
    ["has an unknown operation", { nodes: [{ ...node, operation: "guess" }] }],
    ["has no nodes", { nodes: [] }],
    ["is not a plan", "do a, then b"],
  ])("fails immediately if it %s", async (_, plan) => {
    const log = new MemoryLog();
    const { session, ask } = await createGotFixture({}, log);
    await (
      await ask("Go")
    ).ended;
    await session.close();
    const checkpoints = (await log.read(SESSION, { after: 0 })).records.filter(
      ({ event }) => event.type === "checkpoint",
    );
    const [, { event }] = checkpoints as unknown as readonly [unknown, { readonly event: EventOf<"checkpoint"> }];
    const checkpointId = event.checkpoint_id;
    const state = { plan, results: {}, missing: [], missingCount: 0 };
    await forkSession(log, { from: SESSION, checkpointId, to: "edited", state });
    const { agent, model } = await createGotFixture({});
    await using edited = await agent.openSession(log, "edited");
    await edited.idle();
    const { records } = await log.read("edited", { after: 0 });
    expect(records.filter(({ event }) => event.type === "run_end").map(({ event }) => event)).toMatchObject([
      { status: "error", code: "graph_invalid" },
    ]);
    expect(model.prompts).toEqual([]);
  });
});
