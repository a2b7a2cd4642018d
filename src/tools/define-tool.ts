/**
 * Creates tools from a name, a schema and a function. Definitions are checked against the rules of all model providers,
 * so that a mistake shows at startup and not during a run.
 */
import { setImmediate as turn } from "node:timers/promises";
import { type JsonObject, LoomError } from "../protocol/index.ts";
import { isJsonObject } from "../protocol/json.ts";
import { describeValue } from "../protocol/fault.ts";
import {
  acceptInteger,
  ANY_OPTION,
  BOOLEAN_OPTION,
  FUNCTION_OPTION,
  isBoolean,
  type OptionTable,
  orElse,
  readOptions,
  type ReadOptionsContext,
} from "../protocol/read-options.ts";
import type { LocalizedText } from "../protocol/schema.ts";
import {
  describeIssues,
  isStandardSchema,
  type OutputOf,
  readJsonSchema,
  type StandardSchema,
} from "./standard-schema.ts";
import { describeFailure } from "./describe-failure.ts";
import { asToolResult, showValue } from "./tool-result.ts";
import {
  type ApprovalPolicy,
  DEFAULT_LIMITS,
  type Tool,
  type ToolCallResult,
  type ToolContext,
  type ToolOptions,
} from "./tool.ts";
import { MAX_TIMER_MS } from "../protocol/limit-timer.ts";
import { TOOL_NAME } from "../protocol/tool-rules.ts";

/** Definition of a tool for `defineTool`. */
export interface ToolDefinition<Schema extends StandardSchema> extends ToolOptions {
  /** 1 to 64 letters, digits, `_` and `-`. */
  readonly name: string;
  /**
   * Short text for users that says what the tool does. With `en` and `zh`, users see it in the language of their message.
   * Default: the first sentence of `description`.
   */
  readonly title?: string | LocalizedText;
  /**
   * Returns what a call with these arguments will do, such as "Make a to-do list: Trip", shown to users in place of
   * `title`. What it has done is the `summary` of its `toolResult`. Default: `title`.
   */
  readonly summarize?: (input: OutputOf<Schema>) => string | LocalizedText | undefined;
  /** Tells the model what the tool does and when to use it. */
  readonly description: string;
  /** Schema of the arguments: Zod, or any other library that implements Standard Schema. */
  readonly input: Schema;
  /** JSON Schema of the arguments for the model. Required if the library of `input` cannot produce one. */
  readonly inputSchema?: JsonObject;
  /** When the user must approve a call. Default: `never`. */
  readonly approval?: ApprovalPolicy<OutputOf<Schema>>;
  /**
   * Whether the user must approve a call: the same as `approval`, in the form of the AI SDK. A definition has one of
   * them. Default: false.
   */
  readonly needsApproval?: boolean | ((input: OutputOf<Schema>) => boolean | Promise<boolean>);
  /**
   * Returns what a call would change, as a unified diff, for the user who approves it; undefined if there is nothing to
   * compare. Shown up to 20,000 characters. Default: the user sees the arguments only.
   */
  readonly preview?: (input: OutputOf<Schema>, signal: AbortSignal) => string | undefined | Promise<string | undefined>;
  /**
   * Runs the tool. Returns a string, any JSON value, the result of `toolResult`, or nothing; or a promise of these.
   *
   * A generator or stream prints what it yields and returns the result. If it returns nothing, the result is the
   * printed text. A yielded `{ progress }` or `{ progress, message }` reports progress in percent instead.
   *
   * Default: a client carries out the calls. The run waits for the result that it sends.
   */
  readonly execute?: (input: OutputOf<Schema>, context: ToolContext) => unknown;
}

const LIMIT = acceptInteger(1, MAX_TIMER_MS);

const LIMITS: OptionTable<Omit<ToolOptions, "idempotent">> = {
  timeoutMs: LIMIT,
  approvalMs: LIMIT,
  concurrency: LIMIT,
  maxResultCharacters: LIMIT,
  maxPrintedCharacters: LIMIT,
  maxEvents: LIMIT,
  maxShownBytes: LIMIT,
};

/** A misspelled `needsApproval` would run the tool without asking. */
const FIELDS: OptionTable<ToolDefinition<StandardSchema>> = {
  // These are checked later, with explanations.
  name: ANY_OPTION,
  title: ANY_OPTION,
  description: ANY_OPTION,
  input: ANY_OPTION,
  inputSchema: ANY_OPTION,
  summarize: FUNCTION_OPTION,
  approval: orElse(FUNCTION_OPTION, '"never", "always"', (value) => value === "never" || value === "always"),
  needsApproval: orElse(FUNCTION_OPTION, "true, false", isBoolean),
  preview: FUNCTION_OPTION,
  execute: FUNCTION_OPTION,
  idempotent: BOOLEAN_OPTION,
  ...LIMITS,
};

/** Options about the execution of calls. They have no effect on calls that the client carries out. */
const EXECUTION_OPTIONS = [
  "concurrency",
  "idempotent",
  "maxResultCharacters",
  "maxPrintedCharacters",
  "maxEvents",
  "maxShownBytes",
] as const;
/** Names that other frameworks have for a field. */
const OTHER_NAMES = { parameters: "input", schema: "input", func: "execute", handler: "execute" };

/**
 * Defines a tool that an agent can call.
 *
 * ```ts
 * const weather = defineTool({
 *   name: "get_weather",
 *   description: "Returns the current weather of a city.",
 *   input: z.object({ city: z.string() }),
 *   execute: async ({ city }, { signal }) => fetchWeather(city, signal),
 * });
 * ```
 *
 * Without `execute`, a client carries out the calls, such as a page that reads the position of the user.
 *
 * Throws `tool_invalid` if the definition is not valid.
 */
export function defineTool<Schema extends StandardSchema>(definition: ToolDefinition<Schema>): Tool {
  const {
    name,
    description,
    input,
    approval,
    needsApproval,
    preview,
    summarize,
    execute,
    inputSchema: given,
    ...options
  } = definition;
  const refuse = refuseTool(name);
  readOptions(FIELDS, definition, { ...contextOf(name), otherNames: OTHER_NAMES });
  if (!isStandardSchema(input)) {
    const hint = isStandardSchema(given) ? "; `inputSchema` is for JSON Schema" : "";
    return refuse(`\`input\` must be a Standard Schema, such as a Zod object${hint}`);
  }
  const schema = input["~standard"];
  if (execute === undefined) {
    const useless = EXECUTION_OPTIONS.find((option) => options[option] !== undefined);
    if (useless !== undefined) refuse(`\`${useless}\` has no effect without \`execute\``);
  }
  if (approval !== undefined && needsApproval !== undefined)
    refuse("`approval` and `needsApproval` exclude each other");
  const policy = approval ?? needsApproval ?? "never";

  const tool: Tool = {
    ...options,
    name,
    description,
    inputSchema: given ?? requireJsonSchema(name, input),
    async validate(value) {
      try {
        const result = await schema.validate(value);
        if (result.issues === undefined) return { ok: true, value: result.value };
        return { ok: false, message: describeIssues(result.issues) };
      } catch (error) {
        return { ok: false, message: `The arguments could not be checked: ${describeFailure(error)}` };
      }
    },
    needsApproval(value) {
      return typeof policy === "function" ? policy(value) : policy === true || policy === "always";
    },
    ...(preview === undefined ? {} : { preview: async (value, signal) => preview(value, signal) }),
    ...(summarize === undefined ? {} : { summarize: (value) => summarizeInput(schema, value, summarize) }),
    ...(execute === undefined ? { executor: "client" } : {}),
    async execute(value, context) {
      if (execute === undefined) throw new LoomError("unsupported", `The tool ${name} is carried out by the client`);
      const made = await execute(value, context);
      const steps = findSteps(made);
      if (steps === undefined) return asToolResult(made);
      return drain(steps, context, options.maxResultCharacters ?? DEFAULT_LIMITS.maxResultCharacters);
    },
  };
  assertTool(tool);
  return tool;
}

/** Throws `tool_invalid` unless all model providers accept the tool and its limits are in range. */
export function assertTool(tool: Tool): void {
  const { name, title, description, inputSchema } = tool;
  const refuse = refuseTool(name);
  if (typeof name !== "string" || !TOOL_NAME.test(name))
    refuse("the name must have 1 to 64 letters, digits, `_` and `-`");
  if (!isTitle(title)) refuse("`title` must be a string, or an object with the strings `en` and `zh`");
  if (typeof description !== "string") refuse("`description` must be a string");
  if (!isJsonObject(inputSchema) || inputSchema["type"] !== "object")
    refuse('`inputSchema` must have the type "object"');
  readOptions(LIMITS, tool, { ...contextOf(name), isPart: true });
}

/** How mistakes of a definition are reported. */
function contextOf(name: unknown): ReadOptionsContext {
  return { code: "tool_invalid", noun: "field", subject: `Tool ${describeValue(name)}` };
}

function refuseTool(name: unknown): (what: string) => never {
  return (what) => {
    throw new LoomError("tool_invalid", `Tool ${describeValue(name)}: ${what}`);
  };
}

/** A call is described before its arguments are checked. Without a result at once, it has the title of the tool. */
function summarizeInput<Input>(
  schema: StandardSchema<unknown, Input>["~standard"],
  given: JsonObject,
  summarize: (input: Input) => string | LocalizedText | undefined,
): string | LocalizedText | undefined {
  const checked = schema.validate(given);
  if (!(checked instanceof Promise)) return checked.issues === undefined ? summarize(checked.value) : undefined;
  checked.catch(() => undefined);
  return undefined;
}

function isTitle(title: unknown): boolean {
  if (title === undefined || typeof title === "string") return true;
  return isJsonObject(title) && typeof title["en"] === "string" && typeof title["zh"] === "string";
}

function requireJsonSchema(name: string, input: StandardSchema): JsonObject {
  const read = readJsonSchema(input);
  if (read.ok) return read.schema;
  const { reason, hint = "pass `inputSchema` too", cause } = read;
  throw new LoomError("tool_invalid", `Tool ${describeValue(name)}: ${reason}; ${hint}`, {}, { cause });
}

type StepIterator = AsyncIterator<unknown, unknown, void> | Iterator<unknown, unknown, void>;

/** Returns the iterator of a generator or stream. Arrays are values. */
function findSteps(value: unknown): StepIterator | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (Symbol.asyncIterator in value) return (value as AsyncIterable<unknown, unknown, void>)[Symbol.asyncIterator]();
  const isGenerator = Symbol.iterator in value && "next" in value && typeof value.next === "function";
  return isGenerator ? (value as Iterable<unknown, unknown, void>)[Symbol.iterator]() : undefined;
}

/** Steps after which the event loop gets a turn, so that timeouts can fire. */
const STEPS_PER_TURN = 64;

async function drain(
  steps: StepIterator,
  { signal, print, report, ready }: ToolContext,
  limit: number,
): Promise<ToolCallResult> {
  const decoder = new TextDecoder();
  let printed = "";
  try {
    for (let count = 1; ; count++) {
      const step = await steps.next();
      if (step.done === true) return asToolResult(step.value ?? (printed === "" ? undefined : printed));
      if (count % STEPS_PER_TURN === 0) await turn();
      signal.throwIfAborted();
      const { value } = step;
      if (isProgress(value)) {
        report(value.progress, value.message);
        await ready();
        continue;
      }
      const text = value instanceof Uint8Array ? decoder.decode(value, { stream: true }) : showValue(value);
      // One character more than the limit, so that the truncation is noticed.
      if (printed.length <= limit) printed += text.slice(0, limit + 1 - printed.length);
      print(text);
      await ready();
    }
  } catch (error) {
    // Runs the `finally` block of the generator. The call does not wait for it.
    void (async () => steps.return?.())().catch(() => undefined);
    throw error;
  }
}

/** A step with these fields and no other reports progress. */
function isProgress(step: unknown): step is { readonly progress: number; readonly message?: string } {
  if (!isJsonObject(step) || typeof step["progress"] !== "number") return false;
  const { progress: _, message = "", ...others } = step;
  return typeof message === "string" && Object.keys(others).length === 0;
}

/**
 * Normalizes the arguments of a tool after validation. The approval policy, the user and the tool then see the same
 * arguments, so a different spelling cannot bypass a check.
 */
export function refineInput<Input extends object>(tool: Tool, refine: (input: Input) => Input | Promise<Input>): Tool {
  return {
    ...tool,
    async validate(input) {
      const checked = await tool.validate(input);
      if (!checked.ok) return checked;
      const value = await refine(checked.value as Input);
      return { ok: true, value, arguments: value as JsonObject };
    },
  };
}
