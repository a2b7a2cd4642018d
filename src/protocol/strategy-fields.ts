/** The fields of strategy settings in frames and request bodies. Decoders do not load this file, see `control/frames.ts`. */
import { type Field, type Fields, number, objectOf, openSet, optional, type Schema } from "./schema.ts";
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

/** How the agent searches, in a message. */
export const STRATEGY_FIELD = optional(
  objectOf(FIELDS),
  "How the agent searches, for this message only; default: the settings of the agent. Each agent has its own settings, and the operator caps those that multiply the cost: see `GET /v1/agents`. `invalid_command` for a setting that the agent does not have and for a value above its cap",
);
