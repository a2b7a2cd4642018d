/** Prints the models that providers report, for `loom run --list-models`. */
import { listModels, type ModelName } from "../../models/index.ts";
import { listKeyedModels, parseModelName } from "../../models/resolve-model.ts";
import { isLoomError } from "../../protocol/index.ts";
import type { ParsedCommand } from "../command.ts";
import { textOption } from "../command.ts";
import { type Environment, readVariable } from "../find-store.ts";
import type { Terminal } from "../terminal.ts";

/** Lists the provider of `--model`, or all that can be used. Returns the exit code: 1 if the named provider failed. */
export async function printModels(
  parsed: ParsedCommand,
  terminal: Terminal,
  env: Environment = process.env,
): Promise<number> {
  const named = textOption(parsed, "model") ?? readVariable(env, "LOOM_MODEL");
  const baseURL = textOption(parsed, "base-url");
  const providers = named === undefined ? listUsable(env) : [parseModelName(named).provider];
  let hasFailed = false;
  for (const provider of providers) {
    const choice: ModelName = { provider, ...(baseURL === undefined ? {} : { baseURL }) };
    try {
      const models = await listModels(choice, { env });
      await terminal.write(models.map((model) => `${model}\n`).join(""));
    } catch (error) {
      if (!isLoomError(error)) throw error;
      // Ollama may not be installed.
      if (named === undefined && provider === "ollama") continue;
      terminal.warn(error.message);
      hasFailed = true;
    }
  }
  return hasFailed ? 1 : 0;
}

function listUsable(env: Environment): readonly string[] {
  return ["offline", ...listKeyedModels(env).map((model) => parseModelName(model).provider), "ollama"];
}
