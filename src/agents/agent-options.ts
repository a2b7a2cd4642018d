/**
 * What an agent can be told: its model, its tools, what it is shown and who looks on. It knows no run.
 */
import type { CompressionOptions } from "../context/compression/compression-options.ts";
import type { Retriever } from "../context/retriever.ts";
import type { Log } from "../log/index.ts";
import type { ModelCallOptions, ModelChoice, ModelSettings } from "../models/model.ts";
import { parseModelName } from "../models/resolve-model.ts";
import type { Callback, CallbackOptions, MetricsCollector, Observer } from "../observe/index.ts";
import { describeValue, isToolRules, LoomError, type ToolRules } from "../protocol/index.ts";
import type { Tool } from "../tools/tool.ts";
import type { MemoryOptions } from "./agent-sessions.ts";
import type { Approve } from "./answer-question.ts";
import type { AgentBlobs, AttachmentOptions } from "./attachments.ts";
import type { HistoryOptions } from "./conversation.ts";
import type { GotOptions } from "./got/got.ts";
import type { ReactOptions } from "./react/react.ts";
import type { RetrievalOptions } from "./retrieve-context.ts";
import type { TotOptions } from "./tot/tot.ts";

/** What agents of all kinds have. */
export interface CommonOptions {
  /** `openai`, `anthropic`, `ollama`, `offline`, or any name with `baseURL`. */
  readonly provider?: string;
  /** The model's name at its provider, `provider/name`, or a model object of the AI SDK. */
  readonly model?: ModelChoice;
  readonly baseURL?: string;
  readonly apiKey?: string;
  readonly tools?: readonly Tool[];
  /** What may be done with tools, by their names, `*` for the others. They only make a tool stricter than it is. */
  readonly toolRules?: ToolRules;
  /** What the model is told before everything else. */
  readonly systemInstructions?: string;
  /** Finds passages for each question before the model is asked. */
  readonly retriever?: Retriever | RetrievalOptions;
  /** Makes prompts fit the model when they grow too long; true for the defaults. */
  readonly compression?: boolean | CompressionOptions;
  /** Told of every run, in the words of 002: objects with an `onEvent`. */
  readonly callbacks?: readonly Callback[];
  readonly callbackOptions?: CallbackOptions;
  /** Counts every run; one of its own when absent. Agents may share one. With `false` nobody counts. */
  readonly metrics?: MetricsCollector | false;
  /** Told of every run: traces, logs, metrics of another kind. */
  readonly observers?: readonly Observer[];
  /** Where `run` and `stream` write. Without it in memory, for as long as the agent remembers; see `memory`. */
  readonly log?: Log;
  /** Bounds what `run` and `stream` keep in memory where no log is given. */
  readonly memory?: MemoryOptions;
  /** Answers for the user under `run` and `stream`; without it, what needs consent is refused. */
  readonly approve?: Approve;
  /** Calls of `run` and `stream` at once, those included that wait for their turn; 1,000 when absent. `too_many_open`. */
  readonly maxCalls?: number;
  /** Bytes of a call's `context` as JSON; 16 KiB when absent. Code `invalid_command`. */
  readonly maxContextBytes?: number;
  readonly history?: HistoryOptions;
  /** Where the files of sessions are; a server has its own. Without it, files are named to the model and not shown. */
  readonly blobs?: AgentBlobs;
  /** Which files the model is given, and how many. */
  readonly attachments?: AttachmentOptions;
  readonly settings?: ModelSettings;
  /** Retries, time-outs and limits of a model call. */
  readonly callOptions?: Omit<ModelCallOptions, "signal">;
  /** Told of errors that are not ours; users see the id only. Nobody waits for what it returns. */
  readonly onError?: (error: unknown, errorId: string) => void;
}

/**
 * `react` thinks, acts and observes until it can answer; `tot` searches a tree of thoughts; `got` plans a graph of
 * thoughts and works on them side by side.
 */
export type AgentOptions = CommonOptions &
  (
    | ({ readonly kind?: "react" } & ReactOptions)
    | ({ readonly kind: "tot" } & TotOptions)
    | ({ readonly kind: "got" } & GotOptions)
  );

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;
const hasMethod = (value: unknown, ...names: readonly string[]): boolean =>
  isObject(value) && names.every((name) => typeof (value as { readonly [name: string]: unknown })[name] === "function");
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 1;
const isListOf = (value: unknown, ...methods: readonly string[]): boolean =>
  Array.isArray(value) && value.every((item) => hasMethod(item, ...methods));

/** What those who write no types most easily get wrong. The rest is checked by whoever it is for. */
const FORMS: { readonly [name in keyof CommonOptions]?: readonly [(value: unknown) => boolean, string] } = {
  systemInstructions: [(value) => typeof value === "string", "a text"],
  tools: [Array.isArray, "a list of tools"],
  toolRules: [isToolRules, "an object that says allow, ask or deny for each tool"],
  compression: [(value) => typeof value === "boolean" || isObject(value), "true, false or an object"],
  callbacks: [(value) => isListOf(value, "onEvent"), "a list of objects with `onEvent`"],
  metrics: [(value) => value === false || hasMethod(value, "openRun", "summary"), "a MetricsCollector or false"],
  observers: [(value) => isListOf(value, "openRun"), "a list of objects with `openRun`"],
  log: [(value) => hasMethod(value, "append", "read"), "a log"],
  memory: [isObject, "an object"],
  blobs: [(value) => hasMethod(value, "read"), "an object with `read`"],
  attachments: [isObject, "an object"],
  approve: [(value) => value === "wait" || typeof value === "function", 'a function or "wait"'],
  maxCalls: [isCount, "a whole number from 1 on"],
  maxContextBytes: [(value) => Number.isSafeInteger(value) && (value as number) >= 0, "a whole number from 0 on"],
  onError: [(value) => typeof value === "function", "a function"],
};

/** Throws `invalid_arguments` for options whose form is wrong. */
export function checkAgentOptions(options: CommonOptions): void {
  if (!isObject(options)) throw refuse("the options of an agent", "an object", options);
  for (const [name, [isRight, form]] of Object.entries(FORMS)) {
    const value: unknown = options[name as keyof CommonOptions];
    if (value !== undefined && !isRight(value)) throw refuse(`\`${name}\``, form, value);
  }
  const { maxSessions, maxBytes } = options.memory ?? {};
  for (const [name, value] of Object.entries({ maxSessions, maxBytes }))
    if (value !== undefined && !isCount(value)) throw refuse(`\`memory.${name}\``, "a whole number from 1 on", value);
}

function refuse(what: string, form: string, value: unknown): LoomError {
  const given = Array.isArray(value) ? "something else in a list" : describeValue(value);
  return new LoomError("invalid_arguments", `${what} must be ${form}, not ${given}`);
}

/** The model the options name. Throws `unknown_model`. */
export function chooseModel({ provider, model, baseURL, apiKey }: CommonOptions): ModelChoice {
  const where = {
    ...(baseURL === undefined ? {} : { baseURL }),
    ...(apiKey === undefined || apiKey === "" ? {} : { apiKey }),
  };
  if (typeof model === "object" && model !== null) {
    if (provider !== undefined || Object.keys(where).length > 0)
      throw new LoomError("unknown_model", "a model that is given as an object has its own provider, address and key");
    return model;
  }
  if (provider !== undefined) return { provider, ...(model == null ? {} : { model }), ...where };
  if (typeof model !== "string") throw new LoomError("unknown_model", "an agent needs a `model`, or a `provider`");
  return { ...parseModelName(model), ...where };
}
