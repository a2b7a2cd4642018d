// An agent with a model on this machine, or with any other server that speaks the API of OpenAI: Ollama, vLLM, LM Studio,
// llama.cpp. No key is needed.
//
//   npm install @ai-sdk/openai-compatible
//   npx node examples/local-model.ts http://127.0.0.1:11434/v1 qwen3 "What is 17*23?"
import { agent } from "loom-agent";
import { createBuiltinTools } from "loom-agent/tools";

const [baseURL = "http://127.0.0.1:11434/v1", model = "qwen3", question = "What is 17*23?"] = process.argv.slice(2);
await using helper = agent({ provider: "local", model, baseURL, tools: createBuiltinTools() });

for await (const event of helper.events(question)) {
  if (event.type === "tool_end") console.log(`${event.name}: ${event.result}`);
  if (event.type === "message_chunk") process.stdout.write(event.content);
  if (event.type === "run_end") console.log(`\n${event.status}`);
}
