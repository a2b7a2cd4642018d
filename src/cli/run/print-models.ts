/** Prints the models that providers report, for `loom run --list-models`. */
import { listModels } from "../../models/index.ts";
import { listKeyedModels, parseModelName } from "../../models/resolve-model.ts";
import { isLoomError } from "../../protocol/index.ts";
import { type ParsedCommand, textOption } from "../command.ts";
import { describeError, explainErrors } from "../explain-error.ts";
import { type Environment, readVariable } from "../find-store.ts";
import { cleanText } from "../fit-text.ts";
import { printJson } from "../sessions/run-sessions.ts";
import type { Terminal } from "../terminal.ts";

/**
 * Lists the provider of `--model`, or all that can be used. Throws a CliError if the named provider fails. Returns the
 * exit code: 1 if one of the others failed.
 */
export async function printModels(
  parsed: ParsedCommand,
  terminal: Terminal,
  env: Environment = process.env,
): Promise<number> {
  const named = textOption(parsed, "model") ?? readVariable(env, "LOOM_MODEL");
  if (named !== undefined)
    return explainErrors(async () => printProvider(parseModelName(named).provider, parsed, terminal, env));
  let code = 0;
  for (const provider of listUsable(env))
    try {
      await printProvider(provider, parsed, terminal, env);
    } catch (error) {
      if (!isLoomError(error)) throw error;
      // Ollama may not be installed.
      if (provider === "ollama") continue;
      terminal.warn(`loom: ${cleanText(describeError(error)[0])}`);
      code = 1;
    }
  return code;
}

async function printProvider(
  provider: string,
  parsed: ParsedCommand,
  terminal: Terminal,
  env: Environment,
): Promise<number> {
  const baseURL = textOption(parsed, "base-url");
  const models = await listModels({ provider, ...(baseURL === undefined ? {} : { baseURL }) }, { env });
  for (const name of models)
    if (parsed.options["json"] === true) {
      const { model = provider } = parseModelName(name);
      await printJson(terminal, { provider, model });
    } else await terminal.write(`${cleanText(name)}\n`);
  return 0;
}

function listUsable(env: Environment): readonly string[] {
  return ["offline", ...listKeyedModels(env).map((model) => parseModelName(model).provider), "ollama"];
}
