/** The options of an agent. `check-agent-options.ts` has their rules. */
import type { OnInterruption } from "../engine/run-origin.ts";
import type { CompressionOptions } from "../context/compression/compression-options.ts";
import type { Retriever } from "../context/retriever.ts";
import type { Log } from "../log/index.ts";
import type { ModelCallOptions, ModelChoice, ModelSettings } from "../models/model.ts";
import { checkModelName, isModel, parseModelName } from "../models/resolve-model.ts";
import type { CallbackOptions, MetricsCollector, Observer } from "../observe/index.ts";
import type { AnyCallback } from "../observe/callbacks/callback.ts";
import { LoomError, type ReasoningLevel, type ToolRules } from "../protocol/index.ts";
import type { Tool } from "../tools/tool.ts";
import type { MemoryOptions } from "./agent-sessions.ts";
import type { Approve } from "./answer-approval.ts";
import type { AgentBlobs, AttachmentOptions } from "./attachments.ts";
import type { RecordPromptsOptions } from "./content-recorder.ts";
import type { HistoryOptions } from "./conversation.ts";
import type { GotOptions } from "./got/got-settings.ts";
import type { ReactOptions } from "./react/react.ts";
import type { RetrievalOptions } from "./retrieve-context.ts";
import type { TotOptions } from "./tot/tot-settings.ts";

/** Options of every agent, whatever answers its messages. */
export interface AgentLifeOptions {
  /** Objects whose `onEvent`, or `on_event` as in specification 002, receives the events of every run. Default: none. */
  readonly callbacks?: readonly AnyCallback[];
  /** Backlog limits, timeout and error handler of `callbacks`. Defaults: see `CallbackOptions`. */
  readonly callbackOptions?: CallbackOptions;
  /**
   * Milliseconds that `run` and the end of `stream` wait for `callbacks` that have not handled all events of the run. 0
   * turns it off. Default: 1,000.
   */
  readonly callbackWaitMs?: number;
  /** Counts runs, tokens and tool calls; several agents may share one. `false` turns metrics off. Default: a new one. */
  readonly metrics?: MetricsCollector | false;
  /** Further observers of every run, such as traces and logs. Default: none. */
  readonly observers?: readonly Observer[];
  /** Log that `run` and `stream` write to. Default: a log in memory, bounded by `memory`. */
  readonly log?: Log;
  /** Limits of the log in memory that `run` and `stream` use without `log`. Defaults: see `MemoryOptions`. */
  readonly memory?: MemoryOptions;
  /** Answers approval requests of `run` and `stream`. Default: every request is rejected. */
  readonly approve?: Approve;
  /** Maximum simultaneous calls of `run` and `stream`, waiting ones included; code `too_many_open`. Default: 1,000. */
  readonly maxCalls?: number;
  /**
   * Milliseconds that a call of `run` and `stream` waits for a session that another process, another agent or an
   * `openSession` holds; code `lease_held`. A wait of more than 10 s is reported to `onError`. Default: 600,000.
   */
  readonly sessionWaitMs?: number;
  /** Maximum bytes of a call's `context` as JSON; code `invalid_command`. Default: 16,384. */
  readonly maxContextBytes?: number;
  /**
   * What to do with a run whose process died: run the interrupted nodes again (`resume`, the default), or end it as
   * `interrupted` (`fail`). A request can choose for its run.
   */
  readonly onInterruption?: OnInterruption;
  /** Maximum attempts of a run, the first included; code `too_many_attempts`. Default: 3. */
  readonly maxAttempts?: number;
  /**
   * Called with errors whose text users must not see. They receive `errorId` instead. The return value is ignored.
   * Default: the `onError` of the server or session in which the agent works, or none.
   */
  readonly onError?: (error: unknown, errorId: string) => void;
}

/** Options of agents that answer with a model. */
export interface CommonOptions extends AgentLifeOptions {
  /**
   * `openai`, `anthropic`, `ollama`, `offline`, or any name together with `baseURL` for an OpenAI-compatible server.
   * Not needed if `model` includes the provider.
   */
  readonly provider?: string;
  /**
   * Model name at `provider`, a `provider/model` name such as `openai/gpt-5`, or an AI SDK model object. Default: the
   * default model of `provider`. An agent needs `model` or `provider`; code `unknown_model`.
   *
   * A list of up to 10 is a fallback chain: if a model refuses, fails or times out before its first token, the next one is
   * called. The switch is recorded.
   */
  readonly model?: ModelChoice | readonly ModelChoice[];
  /** Base URL of the provider's API. Default: the provider's environment variable, then its public URL. */
  readonly baseURL?: string;
  /** API key. Default: the provider's environment variable, such as `OPENAI_API_KEY`. */
  readonly apiKey?: string;
  /** Tools that the model may call. Default: none. */
  readonly tools?: readonly Tool[];
  /**
   * `allow`, `ask` or `deny` for each tool name; `*` applies to the tools not listed. A rule can only make a tool
   * stricter than its own definition. Default: no rules.
   */
  readonly toolRules?: ToolRules;
  /** System prompt. Default: none. */
  readonly systemInstructions?: string;
  /** Searched for passages before the model sees a message. Default: none. */
  readonly retriever?: Retriever | RetrievalOptions;
  /** Compresses prompts that would not fit the model's context window; `true` for the defaults. Default: false. */
  readonly compression?: boolean | CompressionOptions;
  /** How much of the conversation the model receives. Defaults: see `HistoryOptions`. */
  readonly history?: HistoryOptions;
  /**
   * Storage for the files of sessions. Without it, the model receives the name of a file but not its content. A server
   * provides its own. Default: none.
   */
  readonly blobs?: AgentBlobs;
  /** Which attached files the model receives, and how many. Defaults: see `AttachmentOptions`. */
  readonly attachments?: AttachmentOptions;
  /**
   * How much the model reasons before it answers. `auto` asks for visible reasoning where the model has it, `off` for
   * none. A provider that refuses is asked again without it. Default: `auto`.
   */
  readonly reasoning?: ReasoningLevel;
  /**
   * Marks tools, system prompt and earlier messages for the prompt cache, where a provider needs marks (Anthropic).
   * Default: true.
   */
  readonly caching?: boolean;
  /** Temperature, output tokens and other settings of every model call. Default: the provider's. */
  readonly settings?: ModelSettings;
  /** Retries, timeouts and limits of every model call. Defaults: see `ModelCallOptions`. */
  readonly callOptions?: Omit<ModelCallOptions, "signal">;
  /**
   * Stores what each model call sends and receives, so that the owner of a session can read the exact prompt. Each message
   * is stored once. Streams and share links never contain it. Default: false.
   */
  readonly recordPrompts?: boolean | RecordPromptsOptions;
  /**
   * Whether the model and users see the messages of unexpected exceptions in tools. If not, they receive the name of the
   * tool, a code and an ID, and `onError` the exception. A `ToolError` and invalid arguments are always shown. Default:
   * true.
   */
  readonly exposeToolErrors?: boolean;
}

/**
 * The options that only other kinds have. Excluding them makes an option without its `kind` a compile error: TypeScript
 * accepts an additional property that any member of a union has.
 */
type WithoutOthers<Own> = {
  readonly [Name in Exclude<keyof (ReactOptions & TotOptions & GotOptions), keyof Own>]?: undefined;
};

/**
 * Options of an agent. `kind` chooses how it works:
 *
 * - `react` (the default) alternates model calls and tool calls until it has an answer.
 * - `tot` searches a tree of thoughts.
 * - `got` plans a graph of tasks and works on independent tasks in parallel.
 */
export type AgentOptions = CommonOptions &
  (
    | ({ readonly kind?: "react" } & ReactOptions & WithoutOthers<ReactOptions>)
    | ({ readonly kind: "tot" } & TotOptions & WithoutOthers<TotOptions>)
    | ({ readonly kind: "got" } & GotOptions & WithoutOthers<GotOptions>)
  );

const MAX_MODELS = 10;

/** Returns the models that the options choose: the first, and those to fall back on. Throws `unknown_model`. */
export function chooseModels({ model, ...options }: CommonOptions): readonly [ModelChoice, ...ModelChoice[]] {
  if (!isList(model)) return [chooseModel({ ...options, ...(model === undefined ? {} : { model }) })];
  const { provider, baseURL, apiKey } = options;
  if (provider !== undefined || baseURL !== undefined || apiKey !== undefined)
    throw new LoomError(
      "unknown_model",
      "Each model of a list names its own provider; remove `provider`, `baseURL` and `apiKey`",
    );
  const [first, ...others] = model;
  if (first === undefined || others.length >= MAX_MODELS)
    throw new LoomError("unknown_model", `A list of models must have 1 to ${MAX_MODELS} entries, not ${model.length}`);
  return [chooseModel({ model: first }), ...others.map((other) => chooseModel({ model: other }))];
}

function isList(model: CommonOptions["model"]): model is readonly ModelChoice[] {
  return Array.isArray(model);
}

type OneModel = Pick<CommonOptions, "provider" | "baseURL" | "apiKey"> & { readonly model?: ModelChoice };

function chooseModel({ provider, model, baseURL, apiKey }: OneModel): ModelChoice {
  const where = {
    ...(baseURL === undefined ? {} : { baseURL }),
    ...(apiKey === undefined || apiKey === "" ? {} : { apiKey }),
  };
  if (typeof model === "object" && model !== null) {
    if (provider !== undefined || Object.keys(where).length > 0)
      throw new LoomError(
        "unknown_model",
        "A model object has its own provider, base URL and key; remove `provider`, `baseURL` and `apiKey`",
      );
    if (!isModel(model)) checkModelName(model);
    return model;
  }
  if (provider !== undefined) return { provider, ...(model == null ? {} : { model }), ...where };
  if (typeof model !== "string") throw new LoomError("unknown_model", "An agent needs a `model` or a `provider`");
  return { ...parseModelName(model), ...where };
}
