/**
 * Makes a tool of a name, a schema and a function. Here a definition is held against what every provider accepts, so
 * that a mistake shows when the program starts and not in the middle of a run. It knows no run.
 */
import { setImmediate as turn } from "node:timers/promises";
import { describeValue, isJsonObject, type JsonObject, LoomError } from "../protocol/index.ts";
import { describeIssues } from "./describe-issues.ts";
import { describeFailure } from "./describe-failure.ts";
import type { OutputOf, StandardSchema } from "./standard-schema.ts";
import { toJson } from "./to-json.ts";
import { asToolResult, showValue } from "./tool-result.ts";
import { DEFAULT_LIMITS } from "./tool-limits.ts";
import type { ApprovalPolicy, Tool, ToolContext, ToolOptions, ToolResult } from "./tool.ts";

export interface ToolDefinition<Schema extends StandardSchema> extends ToolOptions {
  /** 1 to 64 letters, digits, `_` and `-`. */
  readonly name: string;
  /** For people: what it does, in a few words. Where it is absent, they see the first sentence of the description. */
  readonly title?: string;
  /** For the model: what the tool does, and when to use it. */
  readonly description: string;
  /** What the arguments must be: a schema of Zod, or of any library that follows Standard Schema. */
  readonly input: Schema;
  /** JSON Schema of the arguments, for the model; needed where the library gives none. */
  readonly inputSchema?: JsonObject;
  /** When the user must agree first; `never` when absent. */
  readonly approval?: ApprovalPolicy<OutputOf<Schema>>;
  /**
   * Gives the result: a text, any JSON, what `toolResult` makes, or nothing; or a promise of it. A generator or a stream
   * prints what it yields, and returns the result; where it returns nothing, the result is what it has printed.
   */
  readonly execute: (input: OutputOf<Schema>, context: ToolContext) => unknown;
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Throws `tool_invalid`, which says what is wrong with the definition. */
export function defineTool<Schema extends StandardSchema>(definition: ToolDefinition<Schema>): Tool {
  const { name, description, input, approval = "never", execute, inputSchema: given, ...options } = definition;
  const schema = isStandardSchema(input) ? input["~standard"] : undefined;
  if (schema === undefined)
    throw new LoomError("tool_invalid", `tool ${describeValue(name)}: \`input\` must be a Standard Schema`);
  if (
    typeof execute !== "function" ||
    (approval !== "never" && approval !== "always" && typeof approval !== "function")
  )
    throw new LoomError(
      "tool_invalid",
      `tool ${describeValue(name)}: \`execute\` or \`approval\` is not what it must be`,
    );

  const tool: Tool = {
    ...options,
    name,
    description,
    inputSchema: given ?? readJsonSchema(name, input),
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
      return typeof approval === "function" ? approval(value) : approval !== "never";
    },
    async execute(value, context) {
      const made = await execute(value, context);
      const steps = findSteps(made);
      if (steps === undefined) return asToolResult(made);
      return drain(steps, context, options.maxResultCharacters ?? DEFAULT_LIMITS.maxResultCharacters);
    },
  };
  assertTool(tool);
  return tool;
}

/** Throws `tool_invalid` unless every provider would accept the tool and every limit is one. */
export function assertTool(tool: Tool): void {
  const { name, title = "", description, inputSchema } = tool;
  const refuse = (what: string): never => {
    throw new LoomError("tool_invalid", `tool ${describeValue(name)}: ${what}`);
  };
  if (typeof name !== "string" || !NAME.test(name)) refuse("a name has 1 to 64 letters, digits, `_` and `-`");
  if (typeof title !== "string") refuse("the title must be a text");
  if (typeof description !== "string") refuse("the description must be a text");
  if (!isJsonObject(inputSchema) || inputSchema["type"] !== "object")
    refuse('the arguments must be an object: `inputSchema` must have the type "object"');
  for (const limit of LIMITS) {
    const value = tool[limit];
    if (value === undefined || (Number.isInteger(value) && value >= 1 && value <= MAX_LIMIT)) continue;
    refuse(`\`${limit}\` must be a whole number from 1 to ${MAX_LIMIT}`);
  }
}

const LIMITS = [
  "timeoutMs",
  "approvalMs",
  "concurrency",
  "maxResultCharacters",
  "maxPrintedCharacters",
  "maxEvents",
  "maxShownBytes",
] as const;
/** The longest a timer can run. */
const MAX_LIMIT = 2 ** 31 - 1;

function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const inner = (value as Partial<StandardSchema>)["~standard"];
  return typeof inner === "object" && inner !== null && typeof inner.validate === "function";
}

function readJsonSchema(name: string, input: StandardSchema): JsonObject {
  const { jsonSchema, vendor } = input["~standard"];
  if (jsonSchema === undefined)
    throw new LoomError(
      "tool_invalid",
      `tool ${describeValue(name)}: ${vendor} does not give JSON Schema; say \`inputSchema\` too`,
    );
  try {
    // The version is for programs that read many; models are told what is inside.
    const { $schema: _, ...schema } = toJson(jsonSchema.input({ target: "draft-07" })).value as JsonObject;
    return schema;
  } catch (cause) {
    const why = describeFailure(cause);
    throw new LoomError(
      "tool_invalid",
      `tool ${describeValue(name)}: ${vendor} has no JSON Schema for its input (${why}); say \`inputSchema\` too`,
      {},
      { cause },
    );
  }
}

type Steps = AsyncIterator<unknown, unknown, void> | Iterator<unknown, unknown, void>;

/** What comes bit by bit: a generator of either kind, a stream. A list is a value. */
function findSteps(value: unknown): Steps | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (Symbol.asyncIterator in value) return (value as AsyncIterable<unknown, unknown, void>)[Symbol.asyncIterator]();
  const isGenerator = Symbol.iterator in value && "next" in value && typeof value.next === "function";
  return isGenerator ? (value as Iterable<unknown, unknown, void>)[Symbol.iterator]() : undefined;
}

/** Steps after which others get their turn: time-outs too must be able to come. */
const STEPS_AT_ONCE = 64;

async function drain(steps: Steps, { signal, print, ready }: ToolContext, limit: number): Promise<ToolResult> {
  const decoder = new TextDecoder();
  let printed = "";
  try {
    for (let count = 1; ; count++) {
      const step = await steps.next();
      if (step.done === true) return asToolResult(step.value ?? (printed === "" ? undefined : printed));
      if (count % STEPS_AT_ONCE === 0) await turn();
      signal.throwIfAborted();
      const { value } = step;
      const text = value instanceof Uint8Array ? decoder.decode(value, { stream: true }) : showValue(value);
      // One more than is kept, so that whoever cuts the result can see that there was more.
      if (printed.length <= limit) printed += text.slice(0, limit + 1 - printed.length);
      print(text);
      await ready();
    }
  } catch (error) {
    // Its `finally` must run; what it does there is nobody's business any more.
    void (async () => steps.return?.())().catch(() => undefined);
    throw error;
  }
}
