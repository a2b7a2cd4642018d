// Asks in the terminal before a tool runs. The model is scripted, so no key is needed.
//
//   npx node examples/approve.ts
import { createInterface } from "node:readline/promises";
import { agent, defineTool } from "loom-agent";
import { ScriptedModel } from "loom-agent/testing";
import { z } from "zod";

const pay = defineTool({
  name: "pay",
  description: "Pays an amount to a person.",
  input: z.object({ to: z.string(), amount: z.number() }),
  approval: ({ amount }) => amount > 10,
  execute: ({ to, amount }) => `Paid ${amount} to ${to}.`,
});
const model = new ScriptedModel([
  { calls: [{ name: "pay", input: { to: "Ann", amount: 100 } }] },
  { text: "That is all." },
]);
await using helper = agent({ model, tools: [pay] });

async function ask(question: string): Promise<boolean> {
  using terminal = createInterface({ input: process.stdin, output: process.stdout });
  return (await terminal.question(`${question} (y/n) `)) === "y";
}

for await (const event of helper.events("Pay Ann what I owe her")) {
  if (event.type === "tool_approval") {
    if (await ask(`Allow ${event.name} ${JSON.stringify(event.arguments)}?`)) await event.approve();
    else await event.reject("The user said no.");
  }
  if (event.type === "tool_end") console.log(event.is_error ? "Not allowed." : event.result);
  if (event.type === "message_chunk") process.stdout.write(event.content);
}
console.log();
