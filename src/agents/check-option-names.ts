/** Rejects misspelled options and kinds of agents, and suggests the name that was probably meant. */
import type { JsonObject } from "../protocol/index.ts";
import { LoomError } from "../protocol/loom-error.ts";
import { describeValue } from "../protocol/fault.ts";
import { findNearest } from "../protocol/find-nearest.ts";
import { AGENT_KINDS } from "../protocol/agent-kinds.ts";
import type { AgentCallOptions } from "./agent-call.ts";
import type { AgentLifeOptions, AgentOptions, CommonOptions } from "./agent-options.ts";
import type { GotOptions } from "./got/got.ts";
import type { ReactOptions } from "./react/react.ts";
import type { TotOptions } from "./tot/tot-settings.ts";

/** All names of an options type. A missing name does not compile. */
type OptionNames<Options> = { readonly [name in keyof Options]-?: true };

/** Names of the options that every agent has. */
export const LIFE_OPTION_NAMES: OptionNames<AgentLifeOptions> = {
  callbacks: true,
  callbackOptions: true,
  callbackWaitMs: true,
  metrics: true,
  observers: true,
  log: true,
  memory: true,
  approve: true,
  maxCalls: true,
  sessionWaitMs: true,
  maxContextBytes: true,
  onInterruption: true,
  maxAttempts: true,
  onError: true,
};

const COMMON: OptionNames<CommonOptions & Pick<AgentOptions, "kind">> = {
  ...LIFE_OPTION_NAMES,
  kind: true,
  provider: true,
  model: true,
  baseURL: true,
  apiKey: true,
  tools: true,
  toolRules: true,
  systemInstructions: true,
  retriever: true,
  compression: true,
  history: true,
  blobs: true,
  attachments: true,
  reasoning: true,
  caching: true,
  settings: true,
  callOptions: true,
  recordPrompts: true,
  exposeToolErrors: true,
};

const OF_KINDS: {
  readonly react: OptionNames<ReactOptions>;
  readonly tot: OptionNames<TotOptions>;
  readonly got: OptionNames<GotOptions>;
} = {
  react: { maxIterations: true, answer: true },
  tot: {
    strategy: true,
    beam: true,
    threshold: true,
    generate: true,
    candidates: true,
    evaluate: true,
    evaluations: true,
    maxDepth: true,
    maxBacktracks: true,
    maxThoughts: true,
    maxTokens: true,
    maxMs: true,
    concurrency: true,
  },
  got: {
    adaptive: true,
    branches: true,
    keepBest: true,
    improvements: true,
    goodScore: true,
    maxLayers: true,
    maxNodes: true,
    maxTotalNodes: true,
    maxDepth: true,
    concurrency: true,
    attempts: true,
    retryMs: true,
    maxIterations: true,
    maxCharacters: true,
  },
};

/** Names that other frameworks have for an option. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ["system", "systemInstructions"],
  ["systemPrompt", "systemInstructions"],
  ["instructions", "systemInstructions"],
  ["prompt", "systemInstructions"],
  ["maxSteps", "maxIterations"],
  ["maxTurns", "maxIterations"],
  ["stopWhen", "maxIterations"],
]);

const CALL_OPTION_NAMES: OptionNames<AgentCallOptions> = {
  requestId: true,
  context: true,
  signal: true,
  sessionId: true,
  whenBusy: true,
  approve: true,
  clientTools: true,
  instructions: true,
  onInterruption: true,
  output: true,
  outputSchema: true,
  outputRetries: true,
};

/** Throws `invalid_arguments` for an option that `run`, `stream` and `events` do not have. */
export function checkCallOptionNames(options: AgentCallOptions): void {
  const other = new Map([["abortSignal", "signal"]]);
  checkOptionNames(options, CALL_OPTION_NAMES, (name) => suggestOther(name, other));
}

function suggestOther(name: string, others: ReadonlyMap<string, string>): string | undefined {
  const meant = others.get(name);
  return meant === undefined ? undefined : `Unknown option \`${name}\`; did you mean \`${meant}\`?`;
}

/** Throws `invalid_arguments` for an unknown kind, and for an option that agents of this kind do not have. */
export function checkAgentOptionNames(options: AgentOptions): void {
  const kind: string = options.kind ?? "react";
  if (!Object.hasOwn(OF_KINDS, kind))
    throw unknown("kind", `\`kind\` must be react, tot or got, not ${describeValue(kind)}`, kind, AGENT_KINDS);
  const own = { ...COMMON, ...OF_KINDS[kind as keyof typeof OF_KINDS] };
  checkOptionNames(options, own, (name) => {
    const owners = AGENT_KINDS.filter((other) => Object.hasOwn(OF_KINDS[other], name));
    return owners.length === 0
      ? suggestOther(name, OTHER_NAMES)
      : `\`${name}\` needs the kind ${owners.join(" or ")}, not ${kind}`;
  });
}

/**
 * Throws `invalid_arguments` for an option that is not in `known`, unless its value is undefined. `explain` may describe
 * the mistake; otherwise the nearest name is suggested.
 */
export function checkOptionNames(
  options: object,
  known: { readonly [name: string]: true },
  explain: (name: string) => string | undefined = () => undefined,
): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || Object.hasOwn(known, name)) continue;
    const reason = explain(name);
    if (reason !== undefined) throw new LoomError("invalid_arguments", reason, { option: name });
    throw unknown(name, `Unknown option \`${name.slice(0, 60)}\``, name, Object.keys(known));
  }
}

function unknown(option: string, message: string, word: unknown, names: readonly string[]): LoomError {
  const suggestion = typeof word === "string" ? findNearest(word, names) : undefined;
  const details: JsonObject = { option, ...(suggestion === undefined ? {} : { suggestion }) };
  const quoted = option === "kind" ? JSON.stringify(suggestion) : `\`${suggestion}\``;
  const hint = suggestion === undefined ? "" : `; did you mean ${quoted}?`;
  return new LoomError("invalid_arguments", message + hint, details);
}
