// A tool in one line: a function of yours, a name and a schema. The agent calls it, and a callback sees it happen. The
// model plays a script here, so that the example needs no key; a real one decides by itself.
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
