// An agent with the tools of an MCP server. The model is scripted, so no key is needed.
//
//   npm install @modelcontextprotocol/sdk @modelcontextprotocol/server-everything
//   npx node examples/mcp.ts
import { agent } from "loom-agent";
import { ScriptedModel } from "loom-agent/testing";
import { openMcpServers } from "loom-agent/tools";

await using mcp = await openMcpServers({
  mcpServers: { everything: { command: "npx", args: ["@modelcontextprotocol/server-everything"] } },
});
for (const { name, state, error } of mcp.servers) console.log(name, state, error ?? "");

const model = new ScriptedModel([
  { calls: [{ name: "everything__echo", input: { message: "Hello, MCP" } }] },
  { text: "The server answered." },
]);
await using helper = agent({ model, tools: mcp.tools, approve: () => true });

for await (const event of helper.events("Say hello")) {
  if (event.type === "tool_end") console.log(event.result);
  if (event.type === "message_chunk") process.stdout.write(event.content);
}
console.log();
