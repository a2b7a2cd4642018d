/**
 * What we declare and send, compared with the tables of the specifications (`specification-tables.ts`). The sent frames
 * are the encodings of the golden runs; `test/agents/golden-runs.test.ts` proves that agents produce them.
 */
import { describe, expect, test } from "vitest";
import { agent } from "../src/agents/index.ts";
import { SETTINGS } from "../src/cli/serve/settings.ts";
import { createStreamCheck, DIALECTS } from "../src/dialects/index.ts";
import { BaseCallback } from "../src/observe/index.ts";
import { EVENTS } from "../src/protocol/events/index.ts";
import type { AnyEvent, JsonObject } from "../src/protocol/index.ts";
import { startProviderServer } from "./models/provider-server.ts";
import {
  BASE_OF_004,
  COMMON_OF_002,
  EVENTS_OF_001,
  EVENTS_OF_002,
  EVENTS_OF_003,
  findDifference,
  FRAMES_OF_004,
  KEYS_OF_001,
  METADATA_OF_003,
  readTable,
} from "./specification-tables.ts";
import { listVectorFiles, readVector } from "./vectors.ts";

const RUNS = listVectorFiles("runs").map(readVector);
const SAMPLES = listVectorFiles("samples").map(readVector);

/** The frames that we send for a run in a form, without those of other programs that we only pass on. */
function sentFrames(form: string): { readonly name: string; readonly frame: JsonObject }[] {
  return RUNS.flatMap(({ name, encodings, records }) =>
    (encodings[form] ?? []).flatMap((frames, index) =>
      records[index]?.some(({ event }) => event.type === "foreign") === true
        ? []
        : (frames as readonly JsonObject[]).map((frame) => ({ name, frame })),
    ),
  );
}

/** A value that each kind of the tables accepts. */
const VALUES: { readonly [kind: string]: unknown } = {
  string: "a",
  number: 1,
  boolean: false,
  object: {},
  "string[]": ["a", "b"],
  "number[]": [0.5, 1],
  '"Ok"|Err': "Ok",
};
/** Where 001 §4.2 states no type: the value of the protocol's own notes. */
const UNTYPED: { readonly [field: string]: unknown } = {
  checkpoint_id: "c",
  timestamp: "2026-01-01T00:00:00Z",
  step: 0,
  thread_id: "s",
  checkpoint_ns: "",
  node_count: 1,
  edge_count: 0,
  node_ids: ["a"],
  nodes_added: 1,
  edges_added: 0,
};

function createExample(type: string): JsonObject {
  const fields = readTable(EVENTS_OF_001[type] ?? "").map(({ name, kind }) => [
    name,
    VALUES[kind] ?? UNTYPED[name] ?? { x: 1 },
  ]);
  return { type, ...(Object.fromEntries(fields) as JsonObject) };
}

function findErrors(frame: JsonObject): readonly string[] {
  const { issues } = createStreamCheck(DIALECTS.loom, { frames: true }).check(JSON.stringify(frame));
  return issues.filter(({ level }) => level === "error").map(({ rule, message }) => `${rule} ${message}`);
}

test("000 has the examples of 001", () => {
  const collect = (document: string): unknown =>
    SAMPLES.filter(({ name }) => name.startsWith(document)).map(({ name, frames }) => [name.slice(3), frames]);
  expect(collect("000")).toEqual(collect("001"));
  expect(collect("000")).toHaveLength(4);
});

describe("001", () => {
  test("has 23 event types, which are those declared for its §4.2", () => {
    const declared = Object.entries(EVENTS).filter(([, { section }]) => section === "001 §4.2");
    expect(declared.map(([type]) => type).toSorted()).toEqual(Object.keys(EVENTS_OF_001).toSorted());
    expect(declared).toHaveLength(23);
  });

  test.each(Object.keys(EVENTS_OF_001))("%s: accepts the fields of §4.2 and requires those not optional", (type) => {
    const example = createExample(type);
    expect(findErrors(example)).toEqual([]);
    for (const { name, isOptional, kind } of readTable(EVENTS_OF_001[type] ?? "")) {
      const { [name]: _left, ...rest } = example;
      expect(findErrors(rest).length > 0, `without ${name}`).toBe(!isOptional);
      // A list with an object in it is of none of the types that the tables name.
      if (kind !== "any") expect(findErrors({ ...example, [name]: [{}] }), name).not.toEqual([]);
    }
  });

  test.each(Object.entries(KEYS_OF_001))("%s: is %s in the form of §6, and is read back", (type, key) => {
    const { type: _type, ...payload } = createExample(type);
    const record = { envelope: { session_id: "s", event_id: 1 }, event: { type, ...payload } as unknown as AnyEvent };
    const frames = DIALECTS.export.createEncoder().encode(record);
    expect(frames.map((frame) => Object.keys(JSON.parse(frame) as JsonObject))).toEqual([[key]]);
    const decoded = DIALECTS.export.createDecoder().decode(frames[0] ?? "").records;
    expect(decoded.map(({ event }) => event)).toEqual([{ type, ...payload }]);
  });

  test.each(["loom", "loom-strict", "loom-bare"])("%s: every frame has the fields of §4.2 or §5", (form) => {
    for (const { name, frame } of sentFrames(form)) {
      const table = "reply" in frame ? "reply: string" : EVENTS_OF_001[frame["type"] as string];
      if (table !== undefined)
        expect(findDifference(table, frame), `${name}: ${JSON.stringify(frame)}`).toBeUndefined();
      else expect(form, JSON.stringify(frame)).not.toBe("loom-strict");
    }
  });

  test("every frame has session_id and event_id, and event_id increases from 1 (§7.1)", () => {
    for (const { name, encodings } of RUNS.filter(({ name }) => name.startsWith("agent-"))) {
      const frames = (encodings["loom"] ?? []).flat() as readonly JsonObject[];
      let last = 0;
      for (const { event_id, prev_event_id = (event_id as number) - 1 } of frames) {
        // A frame names its predecessor if frames between them are not sent.
        expect(prev_event_id, name).toBe(last);
        last = event_id as number;
      }
      expect(new Set(frames.map(({ session_id }) => session_id)).size, name).toBe(1);
      expect(frames[0]?.["session_id"], name).toBeTypeOf("string");
    }
  });
});

test("001: a checkpoint has all six fields, and checkpoint_ns is empty at the root", () => {
  const checkpoints = RUNS.filter(({ name }) => name.startsWith("agent-"))
    .flatMap(({ encodings }) => (encodings["loom"] ?? []).flat() as readonly JsonObject[])
    .filter(({ type }) => type === "checkpoint");
  const table = 'checkpoint_id: any, timestamp: any, step: any, state: any, thread_id: any, checkpoint_ns: ""';
  for (const checkpoint of checkpoints) expect(findDifference(table, checkpoint)).toBeUndefined();
  expect(checkpoints.length).toBeGreaterThan(5);
});

test("001: updates has the whole state after the merge, as the snapshot of the step shows", () => {
  let compared = 0;
  for (const { name, encodings } of RUNS.filter((run) => run.name.startsWith("agent-"))) {
    let merged: unknown[] = [];
    for (const { type, state } of (encodings["loom"] ?? []).flat() as readonly JsonObject[]) {
      if (type === "updates") merged.push(state);
      if (type !== "values" && type !== "checkpoint") continue;
      if (merged.length === 1) expect(merged[0], name).toEqual(state);
      compared += merged.length === 1 ? 1 : 0;
      merged = [];
    }
  }
  expect(compared).toBeGreaterThan(5);
});

describe("002", () => {
  test("every event has the common fields and its own", () => {
    for (const { name, frame } of sentFrames("stream-event")) {
      const table = EVENTS_OF_002[frame["type"] as string];
      expect(table, JSON.stringify(frame)).toBeDefined();
      expect(findDifference(`${COMMON_OF_002}, ${table}`, frame), `${name}: ${JSON.stringify(frame)}`).toBeUndefined();
      expect(frame["ts"] as number, "seconds, not milliseconds").toBeLessThan(100_000_000_000);
      for (const call of (frame["tool_calls"] ?? []) as readonly JsonObject[])
        expect(findDifference("id: string, name: string", call)).toBeUndefined();
    }
  });

  test("the programs of the quick start work", async () => {
    const logged: string[] = [];
    class LoggingCallback extends BaseCallback {
      async onEvent(eventType: string, payload: { readonly type: string }): Promise<void> {
        logged.push(`${eventType} ${payload.type}`);
      }
    }
    const server = await startProviderServer();
    server.script = () => ({ text: "A loom walks into a bar." });
    const { url: baseURL, key: apiKey } = server;
    await using joker = agent({
      provider: "openai",
      model: "gpt-4o",
      callbacks: [new LoggingCallback()],
      baseURL,
      apiKey,
    });
    let text = "";
    for await (const event of joker.stream("Tell me a joke")) {
      if (event.type === "text_delta") text += event.content;
    }
    await joker.flush();
    await server.close();
    expect(text).toBe("A loom walks into a bar.");
    expect(server.requests[0]?.body["model"]).toBe("gpt-4o");
    expect(logged).toEqual(["request_start request_start", "agent_finish agent_finish"]);
  });
});

describe("003", () => {
  test("every message has type, data and metadata with the fields of §1", () => {
    for (const { name, frame } of sentFrames("engine")) {
      const text = `${name}: ${JSON.stringify(frame)}`;
      const { type, data, metadata } = frame as { type: string; data: JsonObject; metadata: JsonObject };
      expect(Object.keys(frame), text).toEqual(["type", "data", "metadata"]);
      expect(EVENTS_OF_003[type], text).toBeDefined();
      expect(findDifference(EVENTS_OF_003[type] ?? "", data), text).toBeUndefined();
      expect(findDifference(METADATA_OF_003, metadata), text).toBeUndefined();
      if (type === "tool_call_end") expect("error" in data, text).toBe(data["status"] === "failed");
    }
  });
});

const readType = ({ type }: JsonObject): string => (typeof type === "string" ? type : "");

/** The fields of our agents' frames that a specification does not name, sorted. The `details` of an error are open. */
function listAdditionalFields(dialect: "engine" | "lumine", known: (type: string) => Record<string, string>): string[] {
  const found = new Set<string>();
  const frames = RUNS.filter(({ name }) => name.startsWith("agent-")).flatMap(
    ({ encodings }) => encodings[dialect] ?? [],
  );
  for (const frame of frames.flat() as readonly JsonObject[])
    for (const [path, table] of Object.entries(known(readType(frame)))) {
      let value: unknown = frame;
      for (const name of path.split(".").filter((each) => each !== ""))
        value = (value as JsonObject | undefined)?.[name];
      const names = readTable(table).map(({ name }) => name);
      for (const name of Object.keys(value ?? {}))
        if (!names.includes(name))
          found.add([path === "metadata" ? "" : readType(frame), path, name].filter((each) => each !== "").join("."));
    }
  return [...found].sort();
}

test("frames of 003 and 004 have these additional fields and no others", () => {
  const engine = listAdditionalFields("engine", (type) => ({
    data: EVENTS_OF_003[type] ?? "",
    metadata: METADATA_OF_003,
    ...(type === "tool_call_end" ? { "data.error": "message: string, code: string" } : {}),
    ...(type === "session_end" ? { "data.summary": "total_tokens: n, duration_ms: n, tool_calls: n" } : {}),
  }));
  const lumine = listAdditionalFields("lumine", (type) => ({ "": `${BASE_OF_004}, ${FRAMES_OF_004[type] ?? ""}` }));
  expect(engine).toEqual([
    "error.data.code",
    "error.data.stage",
    "metadata.attempt",
    "session_end.data.summary.completion_tokens",
    "session_end.data.summary.prompt_tokens",
    "tool_call_end.data.error.detail",
  ]);
  expect(lumine).toEqual(["error.attempt", "error.detail", "tool_result.code", "tool_result.detail", "tool_use.code"]);
});

describe("004", () => {
  test("every frame has the twelve base fields and those of its type", () => {
    for (const { name, frame } of sentFrames("lumine")) {
      const text = `${name}: ${JSON.stringify(frame)}`;
      const table = FRAMES_OF_004[frame["type"] as string];
      expect(table, text).toBeDefined();
      expect(findDifference(BASE_OF_004, frame), text).toBeUndefined();
      expect(findDifference(table ?? "", frame), text).toBeUndefined();
    }
  });

  test("the port is the default of loom serve", () => {
    expect([SETTINGS.host.defaultValue, SETTINGS.port.defaultValue]).toEqual(["127.0.0.1", 10338]);
  });

  test("IDs of frames and conversations are UUIDs", () => {
    const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
    // Frames that came from another program keep their IDs.
    for (const { name, encodings } of RUNS.filter((run) => run.name.startsWith("agent-")))
      for (const { type, id, session_id, conversation_id } of (
        encodings["lumine"] ?? []
      ).flat() as readonly JsonObject[]) {
        // As in the example of §1. These sessions were named by a client.
        if (type === "session_id") expect([id, conversation_id], name).toEqual([session_id, null]);
        else expect([id, conversation_id], name).toEqual([expect.stringMatching(uuid), expect.stringMatching(uuid)]);
      }
  });

  test("reasoning ends with status done and an empty content before other content", () => {
    let ended = 0;
    for (const { name, encodings } of RUNS) {
      let isOpen = false;
      for (const { type, status, content } of (encodings["lumine"] ?? []).flat() as readonly JsonObject[]) {
        if (type !== "reasoning") expect(isOpen, `${name}: ${JSON.stringify(type)}`).toBe(false);
        else if (status === "done") expect(content, name).toBe("");
        isOpen = type === "reasoning" && status === "thinking";
        if (status === "done") ended++;
      }
    }
    expect(ended).toBeGreaterThan(10);
  });
});

describe("a table", () => {
  test.each([
    ["a missing field", {}],
    ["another type", { id: 1, result: "Ok" }],
    ["another value", { id: "a", result: "ok" }],
  ])("reports %s", (_fault, value) => {
    expect(findDifference(EVENTS_OF_001["node_exit"] ?? "", value)).toBeTypeOf("string");
  });
});
