// State and activity deltas of AG-UI: the real clients end with the same state as with snapshots, and the size of a change
// does not depend on the size of the state.
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createStamper } from "../../src/dialects/index.ts";
import { agUi } from "../../src/dialects/ag-ui/index.ts";
import { MemoryLog, openStream } from "../../src/log/index.ts";
import { type AnyEvent, type Json, type JsonObject, StateFold, type StampedRecord } from "../../src/protocol/index.ts";
import { makeGraphRun, statefulSessionArbitrary, writeRecords } from "../log-sessions.ts";
import { SAMPLES } from "../sampling.ts";
import { say, startAgUiServer, VERSIONS } from "./ag-ui-fixture.ts";

const STARTED = { type: "RUN_STARTED", threadId: "t", runId: "r" };
const FINISHED = { type: "RUN_FINISHED", threadId: "t", runId: "r" };

/** Clients warn about a patch that they drop. */
const warn = vi.fn();
beforeEach(() => {
  warn.mockReset();
  vi.spyOn(console, "warn").mockImplementation(warn);
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** Sends frames to a client, and returns it. */
async function receive(Agent: (typeof VERSIONS)[number][1], frames: readonly string[]) {
  const body = frames.map((frame) => `data: ${frame}\n\n`).join("");
  const fetch = () => Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  const client = new Agent({ url: "http://127.0.0.1/", threadId: "t", fetch });
  client.fetch = fetch;
  await client.runAgent();
  return client;
}

function encode(records: readonly StampedRecord[]): readonly string[] {
  const encoder = agUi.createEncoder();
  return records.flatMap((record) => encoder.encode(record));
}

/** The frames about states, as a run. */
function wrapStates(frames: readonly string[]): readonly string[] {
  const states = frames.filter((text) => text.startsWith('{"type":"STATE_'));
  return [JSON.stringify(STARTED), ...states, JSON.stringify(FINISHED)];
}

/** The state of the root graph after the last `values` of each run that has one. */
function findStates(records: readonly StampedRecord[]): ReadonlyMap<string, Json> {
  const folds = new Map<string, StateFold>();
  const states = new Map<string, Json>();
  for (const { envelope, event } of records) {
    const run = envelope.run_id ?? "";
    if (event.type === "run_start") folds.delete(run);
    const fold = folds.get(run) ?? new StateFold();
    folds.set(run, fold);
    fold.add(event);
    const whole = event.type === "values" ? (fold.withFullState(event) as JsonObject | undefined) : undefined;
    if (whole !== undefined && (whole["checkpoint_ns"] ?? "") === "") states.set(run, whole["state"] as Json);
  }
  return states;
}

/** Names that are hard in a path, and a few that collide. */
const name = fc.constantFrom("a", "b", "", "/", "~", "~1", "a/b", "0", "-", "toString", "constructor");
const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as Json);
/** Clients before 1.0 ignore a state such as false or 0. */
const whole = fc.oneof(fc.dictionary(name, json, { maxKeys: 3 }), fc.array(json, { maxLength: 2 }));
const change = fc.oneof(
  json.map((set) => ({ set })),
  fc.array(json, { maxLength: 3 }).map((append) => ({ append })),
  fc.dictionary(name, json, { maxKeys: 3 }).map((merge) => ({ merge })),
);
const patch = fc.dictionary(name, change, { maxKeys: 3 });
const checkpoint = { checkpoint_id: "c", timestamp: "2026-01-01T00:00:00.000Z", step: 1, thread_id: "t" };
const stateEvent: fc.Arbitrary<AnyEvent> = fc.oneof(
  { arbitrary: patch.map((state): AnyEvent => ({ type: "values", state, delta: true })), weight: 3 },
  {
    arbitrary: fc
      .tuple(patch, fc.nat(2))
      .map(([state, task]): AnyEvent => ({ type: "updates", id: "n", state, task, delta: true })),
    weight: 4,
  },
  patch.map((state): AnyEvent => ({ type: "checkpoint", ...checkpoint, state, delta: true })),
  whole.map((state): AnyEvent => ({ type: "values", state, delta: false })),
  whole.map((state): AnyEvent => ({ type: "checkpoint", ...checkpoint, state, delta: false })),
);

function stamp(events: readonly AnyEvent[]): readonly StampedRecord[] {
  return events.map((event) => ({ envelope: { session_id: "s", run_id: "r" }, event })).map(createStamper());
}

describe.each(VERSIONS)("HttpAgent %s", (_version, Agent) => {
  test("has the state that the log restores, whatever changes it", async () => {
    await fc.assert(
      fc.asyncProperty(whole, fc.array(stateEvent, { maxLength: 20 }), async (first, events) => {
        const records = stamp([
          { type: "run_start", run_id: "r" },
          { type: "values", state: first, delta: false },
          ...events,
        ]);
        const frames = encode(records);
        const client = await receive(Agent, wrapStates(frames));
        expect(client.state).toEqual(findStates(records).get("r"));
        expect(warn).not.toHaveBeenCalled();
        // What is read back has the same state.
        const decoder = agUi.createDecoder();
        const read = frames.flatMap((text) => decoder.decode(text).records);
        expect(findStates(read.map(createStamper())).get("r")).toEqual(client.state);
      }),
      { numRuns: SAMPLES.sessions },
    );
  });

  test("has a channel that was set to null", async () => {
    const records = stamp([
      { type: "run_start", run_id: "r" },
      { type: "values", state: { a: 1 }, delta: false },
      { type: "values", state: { a: { set: null } }, delta: true },
    ]);
    expect((await receive(Agent, wrapStates(encode(records)))).state).toEqual({ a: null });
  });

  test("has the writes of a step in the order of its tasks", async () => {
    const write = (task: number, state: Json): AnyEvent => ({ type: "updates", id: "n", state, task, delta: true });
    const records = stamp([
      { type: "run_start", run_id: "r" },
      { type: "values", state: { a: 0, list: [] }, delta: false },
      write(1, { a: { set: 1 }, list: { append: ["second"] } }),
      write(0, { a: { set: 2 }, list: { append: ["first"] } }),
      { type: "values", state: {}, delta: true },
    ]);
    const client = await receive(Agent, wrapStates(encode(records)));
    expect(client.state).toEqual({ a: 1, list: ["first", "second"] });
  });

  test("applies the same patches as the decoder, and drops the same ones", async () => {
    // Without an index such as `01`: clients accept it, which RFC 6901 forbids.
    const pointer = fc
      .array(fc.constantFrom("a", "b", "0", "1", "-", "~1"), { maxLength: 3 })
      .map((tokens) => tokens.map((token) => `/${token}`).join(""));
    const operation = fc.oneof(
      fc.record({ op: fc.constantFrom("add", "replace", "test"), path: pointer, value: json }),
      fc.record({ op: fc.constant("remove"), path: pointer }),
      fc.record({ op: fc.constantFrom("move", "copy"), path: pointer, from: pointer }),
    );
    const start = { a: { a: 1, b: [1, { a: 2 }] }, b: [0, [1], { b: [] }] };
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(operation, { maxLength: 4 }), { maxLength: 12 }), async (patches) => {
        const deltas = patches
          .filter((each) => each.every(({ path }) => path !== ""))
          // Clients move the whole state into itself, which then is not JSON any more.
          .filter((each) => each.every((given) => given.op !== "move" || given.from !== ""))
          .map((delta) => ({ type: "STATE_DELTA", delta }));
        const frames = [STARTED, { type: "STATE_SNAPSHOT", snapshot: start }, ...deltas, FINISHED];
        const texts = frames.map((frame) => JSON.stringify(frame));
        const client = await receive(Agent, texts);
        const decoder = agUi.createDecoder();
        const read = texts.flatMap((text) => decoder.decode(text).records);
        expect(findStates(read.map(createStamper())).get("r")).toEqual(client.state);
      }),
      { numRuns: SAMPLES.sessions * 3 },
    );
  });

  test("has the to-do list with all changes, in its place", async () => {
    const items = ["i", "j", "i"].map((id, index) => ({ id, text: `Item ${index}`, completed: false }));
    const frames = encode(
      stamp([
        { type: "run_start", run_id: "r" },
        { type: "todo_list", list_id: "l", items },
        { type: "message_chunk", content: "Wor", id: "think" },
        { type: "todo_update", list_id: "l", item_id: "j", completed: true },
        { type: "message_chunk", content: "king", id: "think" },
        { type: "todo_update", list_id: "l", item_id: "i", text: "Both" },
        { type: "todo_update", list_id: "l", item_id: "missing", text: "None" },
        { type: "run_end", status: "completed" },
        { type: "reply", reply: "Working" },
      ]),
    );
    const { messages } = await receive(Agent, frames);
    expect(messages.map(({ role }) => role)).toEqual(["activity", "assistant"]);
    expect(messages.map(({ content }) => content)).toEqual([
      {
        list_id: "l",
        items: [
          { id: "i", text: "Both", completed: false },
          { id: "j", text: "Item 1", completed: true },
          { id: "i", text: "Both", completed: false },
        ],
      },
      "Working",
    ]);
  });
});

describe.each(VERSIONS)("HttpAgent %s with ?modes=all", (_version, Agent) => {
  const ADD = { name: "add", input: { a: 1, b: 2 }, id: "c1" };
  const REMOVE = { name: "remove", input: { path: "a" }, id: "c2" };
  const SCRIPT = [{ text: "I add.", calls: [ADD] }, { text: "I remove.", calls: [REMOVE] }, { text: "Done." }];

  /** The state of the last run in the log. */
  async function readState(log: MemoryLog): Promise<Json | undefined> {
    const { records } = await log.read("t", { after: 0, limit: 10_000 });
    return [...findStates(records).values()].at(-1);
  }

  test("has the state of the graph, also in a client that answers after a reload", async () => {
    const types: string[][] = [];
    for (const query of ["", "?modes=all"]) {
      const { url, log } = await startAgUiServer(SCRIPT);
      const client = new Agent({ url: url + query, threadId: "t" });
      const seen: string[] = [];
      types.push(seen);
      const note = {
        onEvent: ({ event }: { event: { type: string; name?: string } }) =>
          void seen.push(event.type === "CUSTOM" ? `CUSTOM ${event.name}` : event.type),
      };
      client.subscribe(note);
      await say(client, "Remove a", "r-1");
      const atPause = await readState(log as MemoryLog);
      const reloaded = new Agent({ url: url + query, threadId: "t", initialMessages: client.messages });
      reloaded.subscribe(note);
      const resume = [{ interruptId: "c2", status: "resolved" as const, payload: true }];
      expect((await reloaded.runAgent({ runId: "r-2", resume })).result).toBe("Done.");
      if (query === "") continue;
      expect(client.state).toEqual(atPause);
      expect(reloaded.state).toEqual(await readState(log as MemoryLog));
      // A third client repeats both requests. The first one now gives the whole run.
      const again = new Agent({ url: url + query, threadId: "t", initialMessages: client.messages.slice(0, 1) });
      for (const input of [{ runId: "r-1" }, { runId: "r-2", resume }]) {
        again.setState({});
        await again.runAgent(input);
        expect(again.state).toEqual(reloaded.state);
      }
    }
    const [plain = [], all = []] = types;
    const extra = all.filter((type) => !plain.includes(type));
    expect(new Set(extra)).toEqual(new Set(["STATE_SNAPSHOT", "STATE_DELTA"]));
    expect(all.filter((type) => plain.includes(type))).toEqual(plain);
    expect(extra.filter((type) => type === "STATE_SNAPSHOT")).toHaveLength(2);
    expect(warn).not.toHaveBeenCalled();
  });
});

test("the size of a change does not depend on the size of the state", () => {
  const sizes = [100, 4000].map((steps) => {
    const frames = encode(makeGraphRun("r", { steps })).filter((text) => text.startsWith('{"type":"STATE_'));
    expect(frames).toHaveLength(steps);
    return frames.reduce((sum, text) => sum + text.length, 0) / steps;
  });
  expect(sizes[1] as number).toBeLessThan((sizes[0] as number) * 1.2);
});

test("a stream of the log has the state in the mode `values`, wherever it starts", async () => {
  await fc.assert(
    fc.asyncProperty(statefulSessionArbitrary, async (records) => {
      // The second read continues a saved encoder.
      const log = new MemoryLog({ limits: { snapshotRecords: 3 } });
      await writeRecords(log, records);
      const read = async (modes: "all" | readonly "values"[], after: number) => {
        const found: (readonly [string, string])[] = [];
        for await (const batch of openStream(log, "s", { dialect: "ag-ui", modes, after }))
          // The record only: with `all`, it may have more frames around the state, such as the end of a run that waits.
          for (const { text, cursor } of batch) found.push([text, cursor.split(".").slice(0, 3).join(".")]);
        return found.filter(([text]) => text.startsWith('{"type":"STATE_') || text.includes('"loom.values"'));
      };
      const whole = await read("all", 0);
      expect(await read(["values"], 0)).toEqual(whole);
      const after = Math.floor(records.length / 2);
      const rest = await read("all", after);
      expect(whole.slice(whole.length - rest.length)).toEqual(rest);
    }),
    { numRuns: SAMPLES.sessions },
  );
});
