// Approvals with OpenAI Agents JS on the Responses API, as the guide configures it: the agent of Loom runs its tools, and
// the client knows them as those of a hosted MCP server.
import { Agent, hostedMcpTool, OpenAIResponsesModel, run, RunState, setTracingDisabled } from "@openai/agents";
import { describe, expect, it } from "vitest";
import { createOpenaiFixture } from "./openai-fixture.ts";

setTracingDisabled(true);

const REMOVE = [
  { text: "Let me see. ", calls: [{ name: "remove", input: { path: "x" }, id: "t1" }] },
  { text: "Done." },
  { text: "You are welcome." },
];

type Options = Partial<Parameters<typeof hostedMcpTool>[0]>;

async function createAgents(options: Options = {}) {
  const fixture = await createOpenaiFixture(REMOVE);
  const tools = [hostedMcpTool({ serverLabel: "loom", requireApproval: "always", ...options } as never)];
  const model = new OpenAIResponsesModel(fixture.client, "main");
  return { ...fixture, outer: new Agent({ name: "outer", model, tools }) };
}

describe.each([true, false])("an approval in @openai/agents (approved: %s)", (approve) => {
  const removed = approve ? [["remove", { path: "x" }]] : [];

  it.each([true, false])("is answered by `onApproval` (stream: %s)", async (stream) => {
    const asked: string[] = [];
    const onApproval = async (_context: unknown, { rawItem }: { readonly rawItem: { readonly name: string } }) => {
      asked.push(rawItem.name);
      return { approve, reason: "Because" };
    };
    const { outer, ran, model } = await createAgents({ onApproval } as never);
    const result = stream ? await run(outer, "Remove x", { stream: true }) : await run(outer, "Remove x");
    if ("completed" in result) await result.completed;
    expect(result.finalOutput).toBe("Done.");
    expect(asked).toEqual(["remove"]);
    expect(ran).toEqual(removed);
    if (!approve) expect(JSON.stringify(model.prompts[1])).toContain("Because");
  });

  it("is answered later, from a saved state, and the conversation goes on", async () => {
    const { outer, ran, log } = await createAgents();
    const first = await run(outer, "Remove x");
    expect(first.interruptions).toHaveLength(1);
    expect(ran).toEqual([]);
    const state = await RunState.fromString(outer, first.state.toString());
    for (const interruption of state.getInterruptions()) {
      if (approve) state.approve(interruption);
      else state.reject(interruption);
    }
    const second = await run(outer, state);
    expect(second.finalOutput).toBe("Done.");
    expect(ran).toEqual(removed);
    expect(await log.listSessions()).toHaveLength(1);
    const third = await run(outer, [...second.history, { role: "user", content: "Thanks" }]);
    expect(third.finalOutput).toBe("You are welcome.");
    expect(ran).toEqual(removed);
  });

  it("continues the response that asked", async () => {
    const { outer, ran, log } = await createAgents({ onApproval: async () => ({ approve }) });
    const first = await run(outer, "Remove x");
    const second = await run(outer, "Thanks", { previousResponseId: first.lastResponseId ?? "" });
    expect(second.finalOutput).toBe("You are welcome.");
    expect(ran).toEqual(removed);
    expect(await log.listSessions()).toHaveLength(1);
  });
});

describe("a hosted MCP server", () => {
  const refusal = (tools: readonly object[]) => async () => {
    const { client } = await createOpenaiFixture([]);
    const input = "Hi";
    return client.responses.create({ model: "main", input, tools: tools as never }).catch((error: unknown) => error);
  };
  const MCP = { type: "mcp", server_label: "loom", require_approval: "never" };

  it.each([
    [
      "with another label",
      [{ ...MCP, server_label: "other", server_url: "https://example.org" }],
      "tools[0].server_label",
    ],
    ["with a choice of tools", [MCP, { ...MCP, allowed_tools: ["add"] }], "tools[1].allowed_tools"],
  ])("%s is refused", async (_name, tools, param) => {
    expect(await refusal(tools)()).toMatchObject({ status: 400, code: "invalid_request", param });
  });

  it("is not repeated among the tools of the response", async () => {
    const { client } = await createOpenaiFixture([{ text: "Hello." }]);
    const locate = { type: "function", name: "locate", parameters: {}, strict: true } as const;
    const response = await client.responses.create({ model: "main", input: "Hi", tools: [MCP as never, locate] });
    expect(response.tools).toEqual([{ ...locate, parameters: {} }]);
  });
});
