/**
 * Agents of the user in the command line: `--agents FILE` of `loom run` and `loom serve`, as processes. The modules
 * import the sources of this package in place of `loom-agent`, and a second copy of them.
 */
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Agents } from "../src/server/api/shapes.generated.ts";
import { folder, loom, writeInput } from "./cli-run.ts";
import { LONG } from "./sampling.ts";
import { packageRoot } from "./source-files.ts";
import { killServers, startServe } from "./start-serve.ts";

afterEach(killServers);

const source = (root: string, folderName: string): string =>
  JSON.stringify(pathToFileURL(join(root, "src", folderName, "index.ts")).href);

const OWN = `
import { foreignAgent, fromAsyncIterable } from ${source(packageRoot, "adapters")};
// Keeps the process alive, as an open connection would.
setInterval((): void => undefined, 1000);
const helper = foreignAgent((message: string) => fromAsyncIterable(["You said: ", message]));
const careful = foreignAgent((): object => ({
  framework: "custom",
  async *start() {
    yield { type: "tool_call", call_id: "c1", name: "erase", arguments: {} };
    yield { type: "tool_approval", call_id: "c1", name: "erase", arguments: {} };
  },
  async *resume([{ decision }]) {
    yield { type: "tool_end", call_id: "c1", name: "erase", result: decision, is_error: false };
    yield \`erase was \${decision}\`;
  },
}));
`;

const SERVED = `
import { simulateReadableStream, streamText } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { agent } from ${source(packageRoot, "agents")};
import { fromAISDK } from ${source(packageRoot, "adapters")};
import { foreignAgent as otherAgent, fromAsyncIterable as otherSource } from ${source(join(folder, "copy"), "adapters")};
import { LoomError } from ${source(packageRoot, "protocol")};
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const model = new MockLanguageModelV4({
  doStream: async () => ({
    stream: simulateReadableStream({
      chunks: [
        { type: "stream-start", warnings: [] },
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: "It is cold." },
        { type: "text-end", id: "1" },
        { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage },
      ],
    }),
  }),
});
export default {
  helper,
  sdk: { agent: foreignAgent((prompt: string) => fromAISDK(streamText({ model, prompt }))), description: "Weather" },
  react: agent({ model: "offline" }),
  other: otherAgent((message) => otherSource(["Other: ", message])),
  refusing: otherAgent(() => {
    throw new LoomError("invalid_arguments", "Not on Sundays");
  }),
  broken: otherAgent(() => {
    throw new Error("the cable is loose");
  }),
};
`;

beforeAll(() => {
  const isUsed = (path: string): boolean => !/\.test\.tsx?$|\/src\/(?:react|client|server|cli)(?:\/|$)/.test(path);
  cpSync(join(packageRoot, "src"), join(folder, "copy", "src"), { recursive: true, filter: isUsed });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  symlinkSync(join(packageRoot, "node_modules"), join(folder, "node_modules"));
});

const run = (...args: readonly string[]) =>
  loom(["run", "--store", join(folder, "run.db"), ...args], { isChild: true });

describe("--agents", () => {
  // Its tools are unknown, and its module keeps the process alive.
  test("loom run answers with an agent of the user, asks for its approvals, and ends", async () => {
    writeInput("own.ts", `${OWN} export default { helper, careful };`);
    const { code, out, err } = await run("--agents", "own.ts", "--agent", "careful", "--approve", "always", "go");
    expect([code, out, err]).toMatchObject([0, "erase was approved\n", expect.stringMatching(/^session \w+\n$/)]);
  });

  test.runIf(LONG)("loom chat changes between agents of the user and built-in ones", async () => {
    writeInput("chat.ts", `${OWN} export default { helper, careful };`);
    const input = "one\n/agent react\nWhat is 6*7?\n/agent helper\ntwo\n";
    const args = ["chat", "--plain", "--store", join(folder, "chat.db"), "--agents", "chat.ts"];
    const { code, out } = await loom(args, { input, isChild: true, env: { LOOM_KB: "none" } });
    expect([code, out.match(/^assistant: .*$/gm)]).toEqual([
      0,
      ["assistant: You said: one", "assistant: Offline model: 6*7 = 42.", "assistant: You said: two"],
    ]);
  });

  test.runIf(LONG)("reports where a module is wrong", async () => {
    writeInput("wrong.ts", "const a: number = 1;\nconst : = 2;\n");
    writeInput("gone.mjs", 'import { agent } from "loom-agent-2";\n');
    const [wrong, gone] = await Promise.all([run("--agents", "wrong.ts", "hi"), run("--agents", "gone.mjs", "hi")]);
    expect([wrong.code, wrong.err]).toMatchObject([2, expect.stringContaining("cannot parse `wrong.ts`")]);
    expect(wrong.err).toContain("(wrong.ts:2)");
    expect([gone.code, gone.err]).toMatchObject([2, expect.stringContaining("Cannot find package 'loom-agent-2'")]);
    expect(gone.err).toContain("npm install loom-agent-2");
  });

  test("says how to name the file in a folder of `npm init`", async () => {
    mkdirSync(join(folder, "plain"), { recursive: true });
    writeFileSync(join(folder, "plain", "package.json"), JSON.stringify({ type: "commonjs" }));
    const results = await Promise.all(
      ["import 'node:fs';", "export default {};"].map((text, index) => {
        const file = join("plain", `agents-${index}.ts`);
        writeFileSync(join(folder, file), text);
        return run("--agents", file, "hi");
      }),
    );
    for (const { code, err } of results)
      expect([code, err]).toMatchObject([2, expect.stringMatching(/cannot parse[^]*\.mts[^]*"type": "module"/)]);
  });

  test.runIf(LONG)("loom serve lists and runs agents of the user, also of another copy of the package", async () => {
    writeInput("served.ts", OWN + SERVED);
    const server = await startServe(join(folder, "serve.db"), ["--agents", "served.ts"]);
    const { agents } = (await (await fetch(`${server.url}/v1/agents`)).json()) as Agents;
    expect(agents.slice(0, 6).map(({ name, kind, is_default }) => [name, kind, is_default])).toEqual([
      ["helper", "foreign", true],
      ["sdk", "foreign", false],
      ["react", "react", false],
      ["other", "foreign", false],
      ["refusing", "foreign", false],
      ["broken", "foreign", false],
    ]);
    expect(agents[1]).toMatchObject({ description: "Weather" });
    expect(agents.map(({ name }) => name)).toEqual(expect.arrayContaining(["tot", "got", "agot"]));
    const chat = async (agent?: string): Promise<string> => {
      const body = JSON.stringify({ session_id: `chat-${agent ?? ""}`, content: "What is 6*7?", agent });
      const headers = { "content-type": "application/json" };
      return (await fetch(`${server.url}/api/chat`, { method: "POST", headers, body })).text();
    };
    expect(await chat()).toContain("You said: ");
    expect(await chat("sdk")).toContain("It is cold.");
    expect(await chat("react"), "has no tools").toContain("available.");
    expect(await chat("other")).toContain("Other: ");
    expect(await chat("refusing")).toContain("Not on Sundays");
    expect(await chat("broken")).not.toContain("the cable is loose");
    expect(server.readErrors()).toContain("the cable is loose");
    server.process.kill("SIGTERM");
    expect((await server.ended).code).toBe(0);
  });
});
