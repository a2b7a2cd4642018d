import { describe, expect, it } from "vitest";
import type { JsonObject } from "../protocol/index.ts";
import type { Run } from "./run.ts";
import { createRunStart, readQueuedMessage, readRunStart, type RunOrigin, writeQueuedMessage } from "./run-origin.ts";
import { createLog, expectValid, SESSION } from "../../test/contracts/sender.ts";
import { openSession } from "./session.ts";

const FILE = { blob_id: "b", name: "a.txt", media_type: "text/plain", bytes: 3 };
const TOOL = { name: "locate", description: "Where?", input_schema: { type: "object" } };

const ORIGIN: Required<RunOrigin> = {
  runId: "r",
  message: "Hello",
  agent: "react",
  source: "stream",
  requestId: "q",
  context: { tenant: "t" },
  attachments: [FILE],
  reasoning: "low",
  strategy: { beam: 3 },
  actor: "token:a",
  toolRules: { rm: "deny" },
  onInterruption: "fail",
  capabilities: ["approval"],
  clientTools: [{ name: "locate", description: "Where?", inputSchema: { type: "object" } }],
  instructions: "Be brief.",
  outputSchema: { type: "object" },
  notices: ["`color` is ignored"],
};

/** As earlier versions write it, and read it. */
const QUEUED: JsonObject = {
  run_id: "r",
  request_id: "q",
  message: "Hello",
  agent: "react",
  source: "stream",
  context: { tenant: "t" },
  attachments: [FILE],
  reasoning: "low",
  strategy: { beam: 3 },
  notices: ["`color` is ignored"],
  actor: "token:a",
  tools: { rm: "deny" },
  capabilities: ["approval"],
  on_interruption: "fail",
  client_tools: [TOOL],
  instructions: "Be brief.",
  output_schema: { type: "object" },
};

const STARTED =
  '{"type":"run_start","run_id":"r","message":"Hello","agent":"react","contiguous":true,"source":"stream","request_id":"q",' +
  '"context":{"tenant":"t"},"attachments":[{"blob_id":"b","name":"a.txt","media_type":"text/plain","bytes":3}],' +
  '"reasoning":"low","strategy":{"beam":3},"actor":"token:a","tool_rules":{"rm":"deny"},"on_interruption":"fail",' +
  '"capabilities":["approval"],"client_tools":[{"name":"locate","description":"Where?","input_schema":{"type":"object"}}],' +
  '"instructions":"Be brief.","output_schema":{"type":"object"}}';

describe("a request", () => {
  it("is the same after it was queued, and after it was recorded", () => {
    const [start, ...notices] = createRunStart(ORIGIN);
    expect(JSON.stringify(start)).toBe(STARTED);
    expect(notices).toMatchObject([{ type: "error", message: "`color` is ignored" }]);
    const { notices: _, ...recorded } = ORIGIN;
    expect(readRunStart(start)).toEqual({ origin: recorded, isReadable: true });
    expect(writeQueuedMessage(ORIGIN)).toEqual(QUEUED);
    expect(readQueuedMessage(QUEUED)).toEqual(ORIGIN);
  });

  it("may lack every field", () => {
    expect(createRunStart({ runId: "r" })).toEqual([{ type: "run_start", run_id: "r", contiguous: true }]);
    expect(writeQueuedMessage({ runId: "r" })).toEqual({ run_id: "r" });
    expect(readQueuedMessage({ message: null })).toEqual({});
  });

  it("cannot be changed by its caller", () => {
    const [toolRules, outputSchema, capabilities] = [{ rm: "deny" } as const, { type: "object" }, ["approval"]];
    const [start] = createRunStart({ runId: "r", toolRules, outputSchema, capabilities });
    Object.assign(toolRules, { rm: "allow" });
    Object.assign(outputSchema, { type: "string" });
    capabilities.push("tools");
    const { origin } = readRunStart(start);
    expect(origin).toEqual({
      runId: "r",
      toolRules: { rm: "deny" },
      outputSchema: { type: "object" },
      capabilities: ["approval"],
    });
  });

  it("is refused if a list is another value", () => {
    const invalid = { runId: "r", clientTools: 7 } as unknown as RunOrigin;
    const refusal = { code: "invalid_command", message: "`client_tools` must be a list of tools, not 7" };
    for (const write of [createRunStart, writeQueuedMessage])
      expect(() => write(invalid)).toThrow(expect.objectContaining(refusal));
  });

  it.each([7, "approval"])("keeps capabilities that are not a list, so that %j is refused", (capabilities) => {
    const invalid = { runId: "r", capabilities } as unknown as RunOrigin;
    const body = writeQueuedMessage(invalid);
    expect(body).toEqual({ run_id: "r", capabilities });
    expect(() => readQueuedMessage(body)).toThrow("`capabilities` must be an array, not ");
    expect(createRunStart(invalid)).toMatchObject([{ capabilities }]);
  });

  it("uses no tool and no choice that its record does not have", () => {
    const start = {
      type: "run_start",
      tool_rules: { rm: "maybe" },
      reasoning: "much",
      on_interruption: "wait",
    } as const;
    const client_tools = [{ name: "not a name" }];
    expect(readRunStart({ ...start, client_tools })).toEqual({
      origin: { toolRules: { "*": "deny" } },
      isReadable: true,
    });
    const { isReadable } = readRunStart({ ...start, strategy: { beams: 3 } });
    expect(isReadable).toBe(false);
  });
});

describe("a queued message of an earlier version", () => {
  it("is executed with all that it asks for", async () => {
    const log = await createLog();
    await log.submit({ commandId: "c", sessionId: SESSION, kind: "enqueue", body: QUEUED }, { create: {} });
    const runs: Run[] = [];
    await using session = await openSession(log, SESSION, {
      onRun: async (run) => {
        runs.push(run);
      },
    });
    await session.idle();
    expect((await log.getCommand(SESSION, "c"))?.outcome).toMatchObject({ code: "done", details: { run_id: "r" } });
    const { notices, ...request } = ORIGIN;
    expect(runs).toMatchObject([{ runId: "r", message: "Hello", agent: "react", requestId: "q", request }]);
    const [start, notice] = await expectValid(log);
    expect(JSON.stringify(start?.event)).toBe(STARTED);
    expect(notice?.event).toMatchObject({ type: "error", message: notices?.[0] });
  });
});
