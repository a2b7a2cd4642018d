// What the model and users see of errors in tools.
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { agent } from "../src/agents/index.ts";
import { ScriptedModel } from "../src/models/testing.ts";
import { LoomError } from "../src/protocol/index.ts";
import { defineTool, ToolError } from "../src/tools/index.ts";
import { createToolRecorder, run, toolOf } from "./tool-recorder.ts";

const SECRET = "db at 10.0.0.5 refused";
const failing = (error: Error) =>
  toolOf(() => {
    throw error;
  });

describe("with `exposeErrors: false`", () => {
  it("an unexpected exception is shown as a name, a code and an ID, and reported with the same ID", async () => {
    const onError = vi.fn();
    const host = createToolRecorder({ exposeErrors: false, onError });
    const error = new Error(SECRET);
    const { result } = await run(failing(error), host);
    expect(onError).toHaveBeenCalledOnce();
    const [reported, id] = onError.mock.calls[0] as [unknown, string];
    expect(reported).toBe(error);
    expect(result).toBe(`The tool tool failed (code tool_failed, error ID ${id})`);
    expect(host.events.slice(1)).toMatchObject([
      { type: "tool_end", result, is_error: true, error_code: "tool_failed" },
      { type: "error", message: result, code: "tool_failed", stage: "tool_execute", details: { error_id: id } },
    ]);
    expect(JSON.stringify(host.events)).not.toContain("10.0.0.5");
  });

  it("an exception while the arguments are checked is hidden, too", async () => {
    const host = createToolRecorder({ exposeErrors: false });
    const tool = { ...toolOf(() => ""), validate: () => Promise.reject(new Error(SECRET)) };
    expect((await run(tool, host)).result).not.toContain("10.0.0.5");
    expect(JSON.stringify(host.events)).not.toContain("10.0.0.5");
  });

  it.each([
    ["a ToolError", new ToolError("No customer has this number", { cause: new Error(SECRET) })],
    ["an error of this package", new LoomError("tool_failed", "No customer has this number")],
  ])("%s is shown", async (_, error) => {
    const host = createToolRecorder({ exposeErrors: false });
    expect(await run(failing(error), host)).toMatchObject({ result: error.message, errorCode: "tool_failed" });
    expect(JSON.stringify(host.events)).not.toContain("10.0.0.5");
  });

  it.each(["model_failed", "model_stream_cut", "store_failed", "run_failed"] as const)(
    "%s of a model or store that the tool used is hidden",
    async (code) => {
      const host = createToolRecorder({ exposeErrors: false });
      const { result, errorCode } = await run(failing(new LoomError(code, SECRET)), host);
      expect([result, errorCode]).toEqual([expect.stringContaining(`The tool tool failed (code ${code}, `), code]);
      expect(JSON.stringify(host.events)).not.toContain("10.0.0.5");
    },
  );

  it("invalid arguments are shown", async () => {
    const host = createToolRecorder({ exposeErrors: false });
    const tool = { ...toolOf(() => ""), validate: async () => ({ ok: false, message: "n must be a number" }) as const };
    expect(await run(tool, host)).toMatchObject({ result: "n must be a number", errorCode: "invalid_arguments" });
  });
});

it.each([
  [undefined, true],
  [true, true],
  [false, false],
])("an agent with exposeToolErrors: %s tells the model the message: %s", async (exposeToolErrors, isShown) => {
  const model = new ScriptedModel([{ calls: [{ name: "look" }] }, { text: "Done" }]);
  const look = defineTool({
    name: "look",
    description: "Looks",
    input: z.object({}),
    execute: () => Promise.reject(new Error(SECRET)),
  });
  const options = exposeToolErrors === undefined ? {} : { exposeToolErrors };
  await agent({ model, tools: [look], ...options }).run("Look");
  const told = JSON.stringify(model.prompts[1]);
  expect(told.includes(SECRET)).toBe(isShown);
  if (!isShown) expect(told).toMatch(/The tool look failed \(code tool_failed, error ID [0-9a-f-]{36}\)/);
});
