// Requests of OpenAI clients that try to break the server: each is refused with the path of the fault, and reported to no
// one as an error of the server.
import { describe, expect, it } from "vitest";
import { createServerFixture } from "../server/server-fixture.ts";

const DEEP = {
  arrays: "[".repeat(60_000) + "]".repeat(60_000),
  objects: `${'{"a":'.repeat(30_000)}1${"}".repeat(30_000)}`,
};
const nest = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

/** A conversation with a call that has these arguments. */
const toChat = (args: string) => ({
  model: "main",
  messages: [
    { role: "user", content: "a" },
    { role: "assistant", tool_calls: [{ id: "x", type: "function", function: { name: "f", arguments: args } }] },
    { role: "tool", tool_call_id: "x", content: "1" },
    { role: "user", content: "b" },
  ],
});
const toResponse = (args: string) => ({
  model: "main",
  input: [
    { type: "function_call", call_id: "x", name: "f", arguments: args },
    { type: "function_call_output", call_id: "x", output: "1" },
    { role: "user", content: "b" },
  ],
});

describe("arguments of a call in the history", () => {
  it.each(Object.keys(DEEP))("are refused if they are deeply nested %s", async (kind) => {
    const { ask, reported, log } = await createServerFixture({ script: [{ text: "Hello." }] });
    const args = DEEP[kind as keyof typeof DEEP];
    const chat = await ask("POST", "/openai/v1/chat/completions", toChat(args), { status: 400 });
    expect(chat).toMatchObject({ code: "invalid_request", details: { path: "messages[1].tool_calls[0]" } });
    const response = await ask("POST", "/openai/v1/responses", toResponse(args), { status: 400 });
    expect(response).toMatchObject({ code: "invalid_request", details: { path: "input[0]" } });
    expect([reported, await log.listSessions({})]).toEqual([[], []]);
  });

  it("are accepted up to the limit, and never fail beyond it", async () => {
    const { fetch, reported } = await createServerFixture({ script: () => ({ text: "Hello." }) });
    const send = async (depth: number): Promise<number> => {
      const headers = { "content-type": "application/json" };
      const body = JSON.stringify(toChat(nest(depth)));
      return (await fetch("/openai/v1/chat/completions", { method: "POST", headers, body })).status;
    };
    const statuses = await Promise.all([100, 240, 241, 256, 257].map(send));
    expect(statuses).toEqual([200, 200, 400, 400, 400]);
    expect(reported).toEqual([]);
  });
});

describe("an input without a message of the user", () => {
  it.each([
    ["/openai/v1/responses", { model: "main", input: [] }, "input"],
    ["/openai/v1/chat/completions", { model: "main", messages: [] }, "messages"],
  ])("is refused at %s with the name of the field", async (path, body, field) => {
    const { ask } = await createServerFixture();
    expect(await ask("POST", path, body, { status: 400 })).toMatchObject({ details: { path: field } });
  });
});
