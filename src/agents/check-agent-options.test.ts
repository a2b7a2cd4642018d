import { describe, expect, it } from "vitest";
import { LoomError } from "../protocol/index.ts";
import { agent, type AgentOptions } from "./agent.ts";

function refusalOf(options: object): LoomError {
  try {
    agent({ provider: "offline", ...options });
  } catch (error) {
    if (error instanceof LoomError) return error;
    throw error;
  }
  throw new Error("The options were accepted");
}

describe("agent()", () => {
  it("does not compile with an option of another kind", () => {
    // @ts-expect-error `kind: "tot"` is missing
    expect(() => agent({ provider: "offline", beam: 3 })).toThrow("`beam` needs the kind tot");
    // @ts-expect-error `beam` is not an option of `got`
    expect(() => agent({ provider: "offline", kind: "got", beam: 3 })).toThrow("`beam` needs the kind tot");
    // @ts-expect-error `answer` is not an option of `tot`
    expect(() => agent({ provider: "offline", kind: "tot", answer: {} })).toThrow("`answer` needs the kind react");
    // @ts-expect-error an option that no kind has
    expect(() => agent({ provider: "offline", beans: 3 })).toThrow("Unknown option `beans`");
    const options: AgentOptions = { provider: "offline", kind: "tot", beam: 3 };
    expect(agent(options).kind).toBe("tot");
  });

  it.each([
    [
      { kind: "reactt" },
      '`kind` must be react, tot or got, not "reactt"; did you mean "react"?',
      { option: "kind", suggestion: "react" },
    ],
    [{ kind: "swarm" }, '`kind` must be react, tot or got, not "swarm"', { option: "kind" }],
    [{ kind: "toString" }, '`kind` must be react, tot or got, not "toString"', { option: "kind" }],
    [{ kind: 7 }, "`kind` must be react, tot or got, not 7", { option: "kind" }],
    [
      { sytemInstructions: "Be brief" },
      "Unknown option `sytemInstructions`; did you mean `systemInstructions`?",
      { option: "sytemInstructions", suggestion: "systemInstructions" },
    ],
    [{ system_instructions: "Be brief" }, "did you mean `systemInstructions`?", { option: "system_instructions" }],
    [{ quantumEntanglement: true }, "Unknown option `quantumEntanglement`", { option: "quantumEntanglement" }],
    [{ systemPrompt: "Be brief" }, "did you mean `systemInstructions`?", { option: "systemPrompt" }],
    [{ instructions: "Be brief" }, "did you mean `systemInstructions`?", { option: "instructions" }],
    [{ maxSteps: 3 }, "did you mean `maxIterations`?", { option: "maxSteps" }],
    [{ beam: 3 }, "`beam` needs the kind tot, not react", { option: "beam" }],
    [{ kind: "react", maxDepth: 3 }, "`maxDepth` needs the kind tot or got, not react", { option: "maxDepth" }],
    [{ kind: "tot", answer: { schema: {} } }, "`answer` needs the kind react, not tot", { option: "answer" }],
    [
      { callOptions: { timeoutMs: 5 } },
      "Unknown option `callOptions.timeoutMs`; did you mean `callOptions.idleTimeoutMs`?",
      { option: "callOptions.timeoutMs", suggestion: "callOptions.idleTimeoutMs" },
    ],
    [{ callOptions: { maxRetries: -1 } }, "`callOptions.maxRetries` must be an integer from 0, not -1", {}],
    [{ settings: { temprature: 0 } }, "Unknown option `settings.temprature`; did you mean `settings.temperature`?", {}],
    [{ settings: { maxTokens: 9 } }, "did you mean `settings.maxOutputTokens`?", {}],
    [{ settings: { temperature: "hot" } }, '`settings.temperature` must be a number from 0, not "hot"', {}],
    [
      { compression: { treshold: 1 } },
      "Unknown option `compression.treshold`; did you mean `compression.threshold`?",
      {},
    ],
    [{ compression: { threshold: 2 } }, "`compression.threshold` must be a number above 0 and at most 1, not 2", {}],
    [{ history: { maxRun: 5 } }, "Unknown option `history.maxRun`; did you mean `history.maxRuns`?", {}],
    [{ history: [] }, "`history` must be an object, not an array", {}],
    [{ memory: { sessions: 5 } }, "Unknown option `memory.sessions`; did you mean `memory.maxSessions`?", {}],
    [{ attachments: { limit: 1 } }, "; the options are accepts, maxFiles, maxBytes, maxTextCharacters", {}],
    [{ recordPrompts: { maxByte: 1 } }, "did you mean `recordPrompts.maxBytes`?", {}],
    [{ callbackOptions: { maxBacklogs: 1 } }, "did you mean `callbackOptions.maxBacklog`?", {}],
    [{ answer: { shema: {} } }, "did you mean `answer.schema`?", {}],
    [{ retriever: { retriever: { retrieve() {} }, limits: 3 } }, "did you mean `retriever.limit`?", {}],
    [{ log: Promise.resolve({}) }, "`log` must be a Log, not a promise; did you forget `await`?", { option: "log" }],
    ...["settings", "callOptions", "compression", "history", "memory", "attachments", "recordPrompts"].map(
      (name): [object, string, object] => [
        { [name]: Promise.resolve({}) },
        "not a promise; did you forget `await`?",
        { option: name },
      ],
    ),
    [{ toolRules: Promise.resolve({}) }, "not a promise; did you forget `await`?", { option: "toolRules" }],
    [{ retriever: Promise.resolve({}) }, "not a promise; did you forget `await`?", { option: "retriever" }],
    [{ tools: [Promise.resolve({})] }, "`tools` must be an array of tools, not an array with a promise", {}],
    [{ tools: [null] }, "`tools` must be an array of tools, not an array with null", { option: "tools" }],
    [{ observers: [{}] }, "not an array with an object", { option: "observers" }],
    [{ settings: { providerOptions: "x" } }, '`settings.providerOptions` must be an object, not "x"', {}],
    [{ settings: { temp: 0 } }, "did you mean `settings.temperature`?", {}],
    [{ settings: { seed: 0.5 } }, "`settings.seed` must be an integer, not 0.5", {}],
    [{ settings: { reasoningEffort: "low" } }, "did you mean `settings.reasoning`?", {}],
    [{ callbackOptions: { timeoutMs: "1" } }, "`callbackOptions.timeoutMs` must be Infinity or a number from 1", {}],
    [{ callbackOptions: { maxBacklog: 0 } }, "`callbackOptions.maxBacklog` must be an integer from 1, not 0", {}],
    [{ provider: 7 }, "`provider` must be a string, not 7", { option: "provider" }],
    [{ baseURL: new URL("http://127.0.0.1") }, "`baseURL` must be a string, not an object", { option: "baseURL" }],
    [{ maxIterations: -1 }, "`maxIterations` must be an integer from 0, not -1", {}],
    [{ kind: "got", branches: 0 }, "`branches` must be an integer from 1 to 20, not 0", {}],
  ])("explains a mistake in its options: %o", (options, message, details) => {
    const error = refusalOf(options);
    expect(error.code).toBe("invalid_arguments");
    expect(error.message).toContain(message);
    expect(error.details).toMatchObject(details);
  });

  it.each<[object, string]>([
    [{ sesionId: "chat-7" }, "Unknown option `sesionId`; did you mean `sessionId`?"],
    [{ abortSignal: AbortSignal.abort() }, "Unknown option `abortSignal`; did you mean `signal`?"],
    [{ temperature: 1 }, "Unknown option `temperature`"],
    [Promise.resolve({}), "The options must be an object, not a promise; did you forget `await`?"],
    [{ outputSchema: { type: "object" } }, "`outputSchema` has no effect without `output`"],
    [{ context: Promise.resolve({}) }, "`context` must be an object, not a promise; did you forget `await`?"],
  ])("explains a mistake in the options of a call: %o", async (options, message) => {
    await using actor = agent({ provider: "offline" });
    await expect(actor.run("Hi", options)).rejects.toThrow(message);
    await expect(actor.events("Hi", options).next()).rejects.toThrow(message);
  });

  it.each<[unknown, string, string]>([
    [{ provider: "openai", baseUrl: "http://127.0.0.1/v1" }, "did you mean `model.baseURL`?", "model.baseUrl"],
    [[{ provider: "openai", model: "gpt-5", key: "k" }], "Unknown option `model.key`", "model.key"],
    [Promise.resolve("openai"), "`model` must be an object, not a promise; did you forget `await`?", "model"],
  ])("explains a mistake in the name of a model: %o", (model, message, option) => {
    expect(() => agent({ model: model as string })).toThrow(
      expect.objectContaining({
        code: "invalid_arguments",
        message: expect.stringContaining(message) as string,
        details: expect.objectContaining({ option }) as object,
      }),
    );
  });

  it("needs an object", () => {
    const given = Promise.resolve({}) as unknown as Parameters<typeof agent>[0];
    expect(() => agent(given)).toThrow("The options must be an object, not a promise; did you forget `await`?");
    expect(() => agent(undefined as unknown as typeof given)).toThrow("The options must be an object, not undefined");
  });

  it("passes on free-form options", () => {
    const providerOptions = { openai: { anything: { goes: true } } };
    const model = { provider: "offline", headers: { "x-anything": "goes" } };
    expect(agent({ model, settings: { providerOptions } }).kind).toBe("react");
  });

  it("accepts options that are undefined", () => {
    const others = { beam: undefined };
    expect(agent({ provider: "offline", ...others }).kind).toBe("react");
  });

  it("explains mistakes in the options of its methods", async () => {
    await using actor = agent({ provider: "offline" });
    const tool = { name: "ask", description: "Asks" };
    expect(() => actor.asTool({ ...tool, maxDept: 2 } as typeof tool)).toThrow("did you mean `maxDepth`?");
    expect(() => actor.asTool({ ...tool, idempotent: true } as typeof tool)).toThrow("Unknown option `idempotent`");
    await expect(actor.close({ flushMS: 5 } as object)).rejects.toThrow("did you mean `flushMs`?");
  });
});
