/**
 * The fields of a message that say how its run works, in control frames and in request bodies. Decoders do not load this
 * file, see `control/frames.ts`.
 */
import { REASONING_LEVELS } from "./reasoning-level.ts";
import {
  type Field,
  type Fields,
  listOf,
  map,
  number,
  objectOf,
  oneOf,
  openSet,
  optional,
  required,
  type Schema,
  string,
} from "./schema.ts";
import { type SettingUse, STRATEGY_SETTING_NAMES, STRATEGY_SETTINGS } from "./strategy-settings.ts";

function schemaOf(uses: readonly SettingUse[]): Schema {
  const [{ words, isFraction } = {} as Partial<SettingUse>] = uses;
  if (words !== undefined) return openSet(...words);
  if (isFraction === true) return number;
  const ranges = uses.map(({ range = [0, 0] }) => range);
  const [min, max] = [Math.min(...ranges.map(([least]) => least)), Math.max(...ranges.map(([, most]) => most))];
  return { kind: "integer", min, max };
}

const FIELDS: Fields = Object.fromEntries(
  STRATEGY_SETTING_NAMES.map((name): [string, Field] => {
    const { uses, about } = STRATEGY_SETTINGS[name];
    const agents = Object.keys(uses).join(", ");
    return [name, optional(schemaOf(Object.values(uses)), `${about.en}. For ${agents}`)];
  }),
);

/** How the run of a message works. */
export const MESSAGE_FIELDS = {
  reasoning: optional(
    oneOf(...REASONING_LEVELS),
    "How much the model reasons before it answers; default: the setting of the agent",
  ),
  strategy: optional(
    objectOf(FIELDS),
    "How the agent searches, for this message only; default: the settings of the agent. Each agent has its own settings, and the operator caps those that multiply the cost: see `GET /v1/agents`. `invalid_command` for a setting that the agent does not have and for a value above its cap",
  ),
  capabilities: optional(
    listOf(string),
    "What the client can do: `approval` if it can answer tool approvals, `tools` if it can carry out tools of the agent. If the list lacks one, calls that need it are refused at once; default: they wait for an answer",
  ),
  client_tools: optional(
    listOf(
      objectOf({
        name: required(string, "1 to 64 letters, digits, `_` and `-`"),
        description: optional(string, "Tells the model what the tool does"),
        input_schema: optional(map, "JSON Schema of the arguments"),
      }),
    ),
    "Tools that the client carries out, in addition to those of the agent: at most 128, and 32 KiB together. Fails with `invalid_command` if the agent has a tool of the same name",
  ),
  instructions: optional(
    string,
    "Instructions added to the system prompt of the agent for this run only, at most 32 KiB",
  ),
  output_schema: optional(
    map,
    "JSON Schema of the reply, at most 32 KiB: the reply is JSON that matches it. Needs an agent of the kind `react`; fails with `invalid_command` if the schema has a keyword that cannot be checked",
  ),
  on_interruption: optional(
    oneOf("resume", "fail"),
    "What happens when the process of the run dies: `resume` runs the interrupted nodes again, `fail` ends the run as `interrupted`; default: the setting of the server",
  ),
} satisfies Fields;
