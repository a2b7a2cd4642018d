// An agent in one line, used twice: for a complete answer, and for a streamed one.
//
//   npx node examples/one-line.ts [QUESTION]
//
// With a key: agent({ provider: "openai", model: "gpt-5" }).
import { agent } from "loom-agent";
import { createBuiltinTools } from "loom-agent/tools";

const [question = "What is 17*23?"] = process.argv.slice(2);
await using helper = agent({ provider: "offline", tools: createBuiltinTools() });

console.log((await helper.run(question)).reply);

for await (const event of helper.stream("Tell me a joke"))
  if (event.type === "text_delta") process.stdout.write(event.content);
console.log();
