// Property test: after any sequence of operations and failures, the stored session is valid, and the counts of every
// ended run are right.
import fc from "fast-check";
import { expect, it } from "vitest";
import type { CommandKind } from "../log/log.ts";
import { type AnyEvent, LoomError } from "../protocol/index.ts";
import type { NodeRun } from "./node-run.ts";
import type { Run } from "./run.ts";
import { createLog, expectValid, type FaultyLog, SESSION, wrapLog } from "../../test/contracts/sender.ts";
import { openSession, type Session } from "./session.ts";
import type { SessionOptions } from "./session-options.ts";
import { LONG } from "../../test/sampling.ts";

const SAMPLES = LONG ? 20_000 : 250;

const callId = fc.constantFrom("c1", "c2", "c3");
const name = fc.constantFrom("t", "u");
const text = fc.constantFrom("", "a", "你好", "longer text");

const event: fc.Arbitrary<AnyEvent> = fc.oneof(
  fc.record({ type: fc.constant("tool_call"), call_id: callId, name, arguments: fc.constant({}) }),
  fc.record({ type: fc.constant("tool_call_chunk"), call_id: callId, name, arguments_delta: text }),
  fc.record({ type: fc.constant("tool_call_chunk"), arguments_delta: text }),
  fc.record({ type: fc.constant("tool_start"), call_id: callId, name }),
  fc.record({ type: fc.constant("tool_start"), call_id: callId, name, executor: fc.constant("client") }),
  fc.record({ type: fc.constant("tool_output"), call_id: callId, name, content: text }),
  fc.record({ type: fc.constant("tool_progress"), call_id: callId, progress: fc.nat({ max: 120 }) }),
  fc.record({ type: fc.constant("tool_end"), call_id: callId, name, result: text, is_error: fc.boolean() }),
  fc.record({ type: fc.constant("tool_approval"), call_id: callId, name, arguments: fc.constant({}) }),
  fc.record({
    type: fc.constant("tool_approval_result"),
    call_id: callId,
    decision: fc.constantFrom("approved", "rejected"),
  }),
  fc.record({
    type: fc.constant("message_chunk"),
    content: text,
    id: fc.constant("n"),
    channel: fc.constantFrom("answer", "thought"),
  }),
  fc.record({ type: fc.constant("llm_start"), llm_call_id: callId }),
  fc.record({ type: fc.constant("llm_end"), llm_call_id: callId }),
  fc.record({
    type: fc.constant("todo_list"),
    list_id: callId,
    items: fc.constant([{ id: "i", text: "", completed: false }]),
  }),
  fc.record({
    type: fc.constant("todo_update"),
    list_id: callId,
    item_id: fc.constantFrom("i", "j"),
    completed: fc.boolean(),
  }),
  fc.constant({ type: "checkpoint", checkpoint_id: "cp", timestamp: "2026-01-01T00:00:00Z", step: 0, state: {} }),
  fc.constant({ type: "run_end", status: "completed" }),
  fc.constant({ type: "custom", value: 1 }),
);

type Step = (world: World) => unknown;

interface World {
  readonly log: FaultyLog;
  session: Session;
  runs: Run[];
  nodes: NodeRun[];
  commands: number;
}

const options: SessionOptions = {
  onError: () => undefined,
  repairMs: 1_000_000,
  inboxMs: 0,
  onRun: async (run) => {
    await run.span("queued", (node) => node.write("hello"));
  },
};

const lastRun = ({ runs }: World): Run | undefined => runs.at(-1);
const pick = <T>(items: readonly T[], index: number): T | undefined => items[index % Math.max(1, items.length)];

async function command(world: World, kind: CommandKind, body: object): Promise<void> {
  await world.log.submit({ commandId: `m${++world.commands}`, sessionId: SESSION, kind, body: { ...body } });
}

async function reopen(world: World, more: SessionOptions): Promise<void> {
  world.log.onAppend = undefined;
  world.session = await openSession(world.log, SESSION, { ...options, ...more, takeover: true });
  if (world.session.liveRun !== undefined) world.runs.push(world.session.liveRun);
}

function failOnce(log: FaultyLog, commitFirst: boolean): void {
  log.onAppend = async (_batch, next) => {
    log.onAppend = undefined;
    if (commitFirst) await next();
    throw new LoomError("store_busy", "not now");
  };
}

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.tuple(event, fc.nat(9)).map(
      ([given, index]): Step =>
        (world) =>
          void lastRun(world)?.emit(given, {
            nodeId: pick([undefined, ...world.nodes.map(({ nodeId }) => nodeId)], index),
          }),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom("n", "m").map(
      (node): Step =>
        (world) =>
          void (lastRun(world)?.status === "live" && world.nodes.push(lastRun(world)!.enter(node))),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.nat(5), fc.constantFrom("done", "fail", "drop")).map(([index, how]): Step => (world) => {
      const node = pick(world.nodes, index);
      if (how === "done") void node?.done();
      else if (how === "fail") void node?.fail(new Error("x"));
      else node?.[Symbol.dispose]();
    }),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(callId, fc.nat(3)).map(
      ([id, index]): Step =>
        (world) =>
          void lastRun(world)?.requestApproval(
            { callId: id, name: "t", arguments: {} },
            pick([{}, ...world.nodes], index),
          ),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(callId, fc.constantFrom("approved", "rejected")).map(
      ([id, decision]): Step =>
        (world) =>
          command(world, "approve", { run_id: lastRun(world)?.runId ?? "none", call_id: id, decision }),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(callId, fc.nat(3)).map(
      ([id, index]): Step =>
        (world) =>
          void lastRun(world)?.callClient({ callId: id, name: "t" }, pick([{}, ...world.nodes], index)),
    ),
  },
  {
    weight: 2,
    arbitrary: callId.map(
      (id): Step =>
        (world) =>
          command(world, "tool_result", { run_id: lastRun(world)?.runId ?? "none", call_id: id, output: { a: 1 } }),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom("enqueue", "reject", "interrupt").map((whenBusy): Step => (world) => {
      const started = world.session.startRun({ whenBusy: whenBusy as "reject" });
      started.then((run) => world.runs.push(run)).catch(() => undefined);
    }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom("finish", "fail", "cancel").map((how): Step => (world) => {
      const run = lastRun(world);
      if (how === "finish") void run?.finish();
      else if (how === "fail") void run?.fail({ message: "broken", code: "tool_failed" });
      else void run?.cancel();
    }),
  },
  {
    weight: 1,
    arbitrary: fc.boolean().map(
      (named): Step =>
        (world) =>
          command(world, "cancel", named ? { run_id: lastRun(world)?.runId ?? "none" } : {}),
    ),
  },
  {
    weight: 1,
    arbitrary: callId.map(
      (list): Step =>
        (world) =>
          command(world, "toggle", { list_id: list, item_id: "i", completed: true }),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Step>((world) => command(world, "enqueue", { message: "hi" })) },
  {
    weight: 1,
    arbitrary: event.map(
      (given): Step =>
        (world) =>
          void world.session.record(given).catch(() => undefined),
    ),
  },
  { weight: 3, arbitrary: fc.constant<Step>(() => new Promise((resolve) => setImmediate(resolve))) },
  { weight: 1, arbitrary: fc.constant<Step>((world) => world.session.idle().catch(() => undefined)) },
  {
    weight: 1,
    arbitrary: fc.boolean().map(
      (commitFirst): Step =>
        (world) =>
          failOnce(world.log, commitFirst),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Step>((world) => world.session.repair().catch(() => undefined)) },
  {
    weight: 1,
    arbitrary: fc.boolean().map(
      (resumes): Step =>
        (world) =>
          reopen(world, resumes ? { resume: async () => undefined } : {}),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom("interrupt", "leave").map((how): Step => async (world) => {
      await world.session.close({ run: how as "leave" });
      await reopen(world, {});
    }),
  },
);

it("stores only valid sessions", async () => {
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60, size: "max" }), async (steps) => {
      const log = wrapLog(await createLog());
      const world: World = { log, session: await openSession(log, SESSION, options), runs: [], nodes: [], commands: 0 };
      world.runs.push(await world.session.startRun());
      for (const each of steps) await each(world);
      log.onAppend = undefined;
      // Recover as after a restart, then check the records.
      await world.session.close();
      const last = await openSession(log, SESSION, { ...options, takeover: true });
      await last.idle();
      await last.close();
      const records = await expectValid(log);
      runs += records.filter(({ event: { type } }) => type === "run_end").length;
      const live = (await log.listRuns(SESSION, { limit: 1000 })).filter(({ status }) => status === "live");
      // A run stays live only if it waits for an approval or for the client.
      for (const { runId } of live) {
        const own = records.filter(({ envelope }) => envelope.run_id === runId).map(({ event }) => event);
        expect(own.some((each) => each.type === "tool_approval" || "executor" in each)).toBe(true);
      }
      expect(live.length).toBeLessThanOrEqual(1);
    }),
    { numRuns: SAMPLES },
  );
  // Check that the samples did something.
  expect(runs).toBeGreaterThan(SAMPLES);
}, 600_000);
