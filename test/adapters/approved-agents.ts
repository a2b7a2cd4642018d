/** Agents whose tool needs an approval: a graph whose checkpoints survive the process in a file, and two that forget all. */
import { MemorySaver } from "@langchain/langgraph";
import { Agent, run, setTracingDisabled, tool } from "@openai/agents";
import { assistantMessage, functionCall, ScriptedModel } from "@openai/agents/testing";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { deserialize, serialize } from "node:v8";
import { z } from "zod";
import { fromLangGraph, fromOpenAIAgents, type ForeignSource } from "../../src/adapters/index.ts";
import type { JsonObject } from "../../src/protocol/index.ts";
import { createScriptedAgent } from "../contracts/play-script.ts";

/** Writes everything to its file after each change. */
class FileSaver extends MemorySaver {
  readonly #path: string;

  constructor(path: string) {
    super();
    this.#path = path;
    if (existsSync(path)) Object.assign(this, deserialize(readFileSync(path)));
  }

  override async put(...args: Parameters<MemorySaver["put"]>): ReturnType<MemorySaver["put"]> {
    const config = await super.put(...args);
    this.#save();
    return config;
  }

  override async putWrites(...args: Parameters<MemorySaver["putWrites"]>): Promise<void> {
    await super.putWrites(...args);
    this.#save();
  }

  #save(): void {
    const { storage, writes } = this;
    writeFileSync(`${this.#path}.new`, serialize({ storage, writes }));
    renameSync(`${this.#path}.new`, this.#path);
  }
}

type Say = (word: string, rest: string) => void;

const FIRST = { text: ["I look."], cities: ["Oslo"] };
const LAST = { text: ["It is ", "cold."] };
const INPUT = { messages: [{ role: "user", content: "How cold is it?" }] };

/** Starts the graph in the thread of the run, or continues it if the thread has work left. */
export async function createDurableGraph(path: string, runId: string, say: Say): Promise<ForeignSource> {
  const isNew = !existsSync(path);
  const graph = createScriptedAgent(
    {
      turns: isNew ? [FIRST, LAST] : [LAST],
      needsApproval: true,
      onTool: ({ city }) => say("tool", city as string),
    },
    new FileSaver(path),
  );
  const config = { configurable: { thread_id: runId } };
  const { next } = await graph.getState(config);
  say("attempt", `${isNew ? 1 : 2} ${next.join(",")}`);
  return fromLangGraph(graph, next.length > 0 ? null : INPUT, config);
}

/** A graph without a thread: each process starts it again. */
export function createForgetfulGraph(say: Say): ForeignSource {
  const onTool = ({ city }: JsonObject): void => say("tool", city as string);
  return fromLangGraph(createScriptedAgent({ turns: [FIRST, LAST], needsApproval: true, onTool }), INPUT);
}

/** An agent of OpenAI Agents. The call has another ID in each process. */
export function createOpenAIAgent(say: Say): ForeignSource {
  setTracingDisabled(true);
  const weather = tool({
    name: "weather",
    description: "Reports the weather",
    parameters: z.object({ city: z.string() }),
    needsApproval: true,
    execute: ({ city }) => {
      say("tool", city);
      return "-3 degrees";
    },
  });
  const call = functionCall("weather", { city: "Oslo" }, { callId: `call-${process.pid}` });
  const model = new ScriptedModel([[call], [assistantMessage("It is cold.")]]);
  const agent = new Agent({ name: "Weather", model, tools: [weather] });
  return fromOpenAIAgents(({ signal, state }) => run(agent, (state as string) ?? "?", { stream: true, signal }));
}
