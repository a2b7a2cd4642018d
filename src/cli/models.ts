/** `loom models`: prints the models that providers report. */
import { listModels } from "../models/index.ts";
import { listKeyedModels, parseModelName } from "../models/resolve-model.ts";
import { isLoomError } from "../protocol/index.ts";
import { CliError, type ParsedCommand, textOption } from "./command.ts";
import { describeError, explainErrors } from "./explain-error.ts";
import { type Environment, readVariable } from "./find-store.ts";
import { cleanText, formatJson } from "./fit-text.ts";
import type { Terminal } from "./terminal.ts";

/**
 * Lists the models of one provider, or of all that can be used. Throws a CliError if the named provider fails. Returns
 * the exit code: 1 if one of several failed.
 */
export async function runModels(
  parsed: ParsedCommand,
  terminal: Terminal,
  env: Environment = process.env,
): Promise<number> {
  const { argument } = parsed;
  if (argument === undefined && parsed.options["base-url"] !== undefined)
    throw new CliError("`--base-url` needs PROVIDER");
  return explainErrors(async () => {
    if (argument !== undefined) return printProvider(parseModelName(argument).provider, parsed, terminal, env);
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
  });
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
      await terminal.write(formatJson({ provider, model }));
    } else await terminal.write(`${cleanText(name)}\n`);
  return 0;
}

/** The offline model, providers with a key, that of LOOM_MODEL, and Ollama. */
function listUsable(env: Environment): readonly string[] {
  const models = [...listKeyedModels(env), readVariable(env, "LOOM_MODEL") ?? "offline"];
  return [...new Set(["offline", ...models.map((model) => parseModelName(model).provider), "ollama"])];
}
