// Defines a tool with a name, a schema and a function. An agent calls it, and a callback prints the events. A scripted
// model is used, so no key is needed.
//
//   npx node examples/define-a-tool.ts
import { agent, type CallbackPayload, defineTool } from "loom-agent";
import { ScriptedModel } from "loom-agent/testing";
import { z } from "zod";

const roll = ({ sides }: { sides: number }) => 1 + Math.floor(Math.random() * sides);
const die = defineTool({ name: "roll", description: "A die.", input: z.object({ sides: z.int() }), execute: roll });

const model = new ScriptedModel([{ calls: [{ name: "roll", input: { sides: 6 } }] }, { text: "There it is." }]);
const watch = { onEvent: (type: string, payload: CallbackPayload) => console.log(type, payload.source) };
await using player = agent({ model, tools: [die], callbacks: [watch] });

const { reply, toolCalls } = await player.run("Roll a die");
await player.flush();
console.log(`${reply} (${toolCalls} call)`);
