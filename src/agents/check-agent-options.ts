/** The rules of the options of agents and of their calls. Mistakes are refused when the agent or the call is created. */
import { isCallback } from "../observe/callbacks/callback.ts";
import { COMPRESSION_OPTIONS } from "../context/compression/compression-options.ts";
import { CALL_OPTIONS, MODEL_SETTINGS, OTHER_SETTINGS } from "../models/call-settings.ts";
import { CALLBACK_OPTIONS } from "../observe/callbacks/callback-observer.ts";
import { AGENT_KINDS } from "../protocol/agent-kinds.ts";
import {
  acceptInteger,
  acceptListOf,
  acceptMethods,
  acceptObject,
  acceptOneOf,
  ANY_OPTION,
  BOOLEAN_OPTION,
  FUNCTION_OPTION,
  hasMethods,
  isBoolean,
  MILLISECONDS_OPTION,
  OBJECT_OPTION,
  type OptionTable,
  orElse,
  readOptions,
  TEXT_OPTION,
} from "../protocol/read-options.ts";
import { REASONING_LEVELS } from "../protocol/reasoning-level.ts";
import { isToolRules } from "../protocol/tool-rules.ts";
import { MAX_NAME_LENGTH } from "../log/log.ts";
import type { AgentCallOptions } from "./agent-call.ts";
import type { AgentLifeOptions, AgentOptions, CommonOptions } from "./agent-options.ts";
import { MEMORY_OPTIONS } from "./agent-sessions.ts";
import { ATTACHMENT_OPTIONS } from "./attachments.ts";
import { RECORD_PROMPTS_OPTIONS } from "./content-recorder.ts";
import { HISTORY_OPTIONS } from "./conversation.ts";
import { GOT_OPTIONS } from "./got/got-settings.ts";
import { OUTPUT_OPTIONS } from "./output-format.ts";
import { REACT_OPTIONS } from "./react/react.ts";
import { TOT_OPTIONS } from "./tot/tot-settings.ts";

const isObject = (value: unknown): boolean => OBJECT_OPTION.accepts(value);

/** The options that every agent has. */
export const LIFE_OPTIONS: OptionTable<AgentLifeOptions> = {
  callbacks: acceptListOf("an array of objects with `onEvent`", isCallback),
  callbackOptions: acceptObject(CALLBACK_OPTIONS),
  callbackWaitMs: MILLISECONDS_OPTION,
  metrics: orElse(acceptMethods("a MetricsCollector", "openRun", "summary"), "false", (value) => value === false),
  observers: acceptListOf("an array of objects with `openRun`", (item) => hasMethods(item, "openRun")),
  log: acceptMethods("a Log", "append", "read"),
  memory: acceptObject(MEMORY_OPTIONS),
  approve: orElse(FUNCTION_OPTION, '"wait"', (value) => value === "wait"),
  maxCalls: acceptInteger(1),
  sessionWaitMs: MILLISECONDS_OPTION,
  maxContextBytes: acceptInteger(0),
  onInterruption: acceptOneOf(["resume", "fail"]),
  maxAttempts: acceptInteger(1),
  onError: FUNCTION_OPTION,
};

const COMMON: OptionTable<CommonOptions & Pick<AgentOptions, "kind">> = {
  ...LIFE_OPTIONS,
  kind: acceptOneOf(AGENT_KINDS),
  provider: TEXT_OPTION,
  model: ANY_OPTION,
  baseURL: TEXT_OPTION,
  apiKey: ANY_OPTION,
  tools: acceptListOf("an array of tools", isObject),
  toolRules: {
    expected: "an object with allow, ask or deny for each tool",
    accepts: (value) => isObject(value) && isToolRules(value),
  },
  systemInstructions: TEXT_OPTION,
  retriever: ANY_OPTION,
  compression: orElse(acceptObject(COMPRESSION_OPTIONS), "true, false", isBoolean),
  history: acceptObject(HISTORY_OPTIONS),
  blobs: acceptMethods("an object with `read`", "read"),
  attachments: acceptObject(ATTACHMENT_OPTIONS),
  reasoning: acceptOneOf(REASONING_LEVELS),
  caching: BOOLEAN_OPTION,
  settings: acceptObject(MODEL_SETTINGS, OTHER_SETTINGS),
  callOptions: acceptObject(CALL_OPTIONS),
  recordPrompts: orElse(acceptObject(RECORD_PROMPTS_OPTIONS), "true, false", isBoolean),
  exposeToolErrors: BOOLEAN_OPTION,
};

const OF_KINDS = { react: REACT_OPTIONS, tot: TOT_OPTIONS, got: GOT_OPTIONS } as const;

/** Names that other frameworks have for an option. */
const OTHER_NAMES = {
  system: "systemInstructions",
  systemPrompt: "systemInstructions",
  instructions: "systemInstructions",
  prompt: "systemInstructions",
  maxSteps: "maxIterations",
  maxTurns: "maxIterations",
  stopWhen: "maxIterations",
};

/** `clientTools` and `instructions` are checked where they are read, as those of other clients. */
const OF_CALLS: OptionTable<AgentCallOptions> = {
  ...OUTPUT_OPTIONS,
  requestId: {
    expected: `a string of 1 to ${MAX_NAME_LENGTH} characters without unpaired surrogates`,
    accepts: (value) =>
      typeof value === "string" && value !== "" && value.length <= MAX_NAME_LENGTH && value.isWellFormed(),
  },
  context: OBJECT_OPTION,
  // Also signals of another realm or of a library.
  signal: {
    expected: "an AbortSignal",
    accepts: (value) =>
      hasMethods(value, "addEventListener", "removeEventListener") && isBoolean((value as AbortSignal).aborted),
  },
  sessionId: TEXT_OPTION,
  whenBusy: acceptOneOf(["enqueue", "reject", "interrupt"]),
  approve: LIFE_OPTIONS.approve,
  clientTools: ANY_OPTION,
  instructions: ANY_OPTION,
  onInterruption: LIFE_OPTIONS.onInterruption,
};

/** Throws `invalid_arguments` for a wrong value, and for an option that `run`, `stream` and `events` do not have. */
export function readCallOptions(options: AgentCallOptions): AgentCallOptions {
  return readOptions(OF_CALLS, options, { otherNames: { abortSignal: "signal" } });
}

/** Throws `invalid_arguments` for a wrong value, and for an option that agents of this kind do not have. */
export function checkAgentOptions(options: AgentOptions): void {
  const { kind = "react" } = readOptions({ kind: COMMON.kind }, options, { isPart: true });
  const explain = (name: string): string | undefined => {
    const owners = AGENT_KINDS.filter((other) => Object.hasOwn(OF_KINDS[other], name));
    return owners.length === 0 ? undefined : `\`${name}\` needs the kind ${owners.join(" or ")}, not ${kind}`;
  };
  const own: OptionTable<CommonOptions> = { ...COMMON, ...OF_KINDS[kind] };
  readOptions(own, options, { otherNames: OTHER_NAMES, explain });
}
