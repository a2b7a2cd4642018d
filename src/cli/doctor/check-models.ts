/** Checks each model provider that has a key: its package, its address and its key. */
import { listModels, resolveModel } from "../../models/index.ts";
import { formatModelName, listKeyedModels, parseModelName, resolveProvider } from "../../models/resolve-model.ts";
import { isLoomError } from "../../protocol/index.ts";
import type { Environment } from "../find-store.ts";
import { plural } from "../fit-text.ts";
import { compareClocks, type DoctorFinding, report } from "./doctor-finding.ts";

const TIMEOUT_MS = 5000;
const ADVICE: { readonly [code: string]: string } = {
  missing_key: "set the key in the environment of the server",
  model_failed: "check the key, the address (…_BASE_URL) and the network",
  model_unauthorized: "check the key",
  model_rate_limited: "check the limits and the quota of the key at the provider",
  model_unavailable: "check the status page of the provider, or try again later",
  unknown_model: "write a provider and a model, such as openai/gpt-5",
};

/** `named` is the model that the server uses by default. */
export async function checkModels(named: string, env: Environment): Promise<readonly DoctorFinding[]> {
  const models = new Set([named, ...listKeyedModels(env)]);
  const online = [...models].filter((model) => model !== "offline");
  if (online.length > 0) {
    const findings = await Promise.all(online.map((model) => checkModel(model, model === named, env)));
    const [reached] = online.filter((_, index) => findings[index]?.status !== "failed");
    return reached === undefined ? findings : [...findings, ...(await checkClock(reached, env))];
  }
  const advice = "set OPENAI_API_KEY or ANTHROPIC_API_KEY, or LOOM_MODEL to a local model such as ollama/qwen3";
  return [report("models", "warning", "no key of a provider is set; the offline model answers", advice)];
}

async function checkModel(model: string, isNamed: boolean, env: Environment): Promise<DoctorFinding> {
  try {
    const name = parseModelName(model);
    // Loads the package of the provider.
    await resolveModel(name, { env });
    const known = await listModels({ provider: name.provider }, { env });
    const message = `${name.provider} answers and has ${plural(known.length, "model")}`;
    if (!isNamed || known.length === 0 || known.includes(formatModelName(name))) return report("models", "ok", message);
    return report("models", "warning", `${message}, but not ${model}`, "`loom models` prints their names");
  } catch (error) {
    if (!isLoomError(error)) throw error;
    return report("models", "failed", error.message, ADVICE[error.code]);
  }
}

/** Compares the clock with that of a provider, whose responses have a date in seconds. */
async function checkClock(model: string, env: Environment): Promise<readonly DoctorFinding[]> {
  const { name, baseURL = "" } = resolveProvider(parseModelName(model), { env });
  try {
    const before = Math.floor(Date.now() / 1000) * 1000;
    const response = await fetch(baseURL, { method: "HEAD", signal: AbortSignal.timeout(TIMEOUT_MS) });
    const date = response.headers.get("date");
    return date === null ? [] : [compareClocks(name, Date.parse(date), before, Date.now())];
  } catch {
    return [];
  }
}
