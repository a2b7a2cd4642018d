/** A graph of LangGraph whose checkpoints survive the process, in a file. Its tool needs an approval. */
import { MemorySaver } from "@langchain/langgraph";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { deserialize, serialize } from "node:v8";
import { fromLangGraph, type ForeignSource } from "../../src/adapters/index.ts";
import { createScriptedAgent } from "../../src/adapters/langgraph/play-script.contract.ts";

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

/** Starts the graph in the thread of the run, or continues it if the thread has work left. */
export async function createDurableGraph(
  path: string,
  runId: string,
  say: (word: string, rest: string) => void,
): Promise<ForeignSource> {
  const isNew = !existsSync(path);
  const first = { text: ["I look."], cities: ["Oslo"] };
  const last = { text: ["It is ", "cold."] };
  const graph = createScriptedAgent(
    {
      turns: isNew ? [first, last] : [last],
      needsApproval: true,
      onTool: ({ city }) => say("tool", city as string),
    },
    new FileSaver(path),
  );
  const config = { configurable: { thread_id: runId } };
  const { next } = await graph.getState(config);
  say("attempt", `${isNew ? 1 : 2} ${next.join(",")}`);
  const input = { messages: [{ role: "user", content: "How cold is it?" }] };
  return fromLangGraph(graph, next.length > 0 ? null : input, config);
}
