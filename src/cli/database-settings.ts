/**
 * The settings of a store in PostgreSQL. `loom serve` has them as flags and in its file; all commands read their
 * environment variables.
 */
import { isSchemaName, POSTGRES_DEFAULTS, type PostgresOptions } from "../postgres/postgres-options.ts";
import { dropUndefined } from "../protocol/drop-undefined.ts";
import { type Environment, isDatabase, readVariable } from "./find-store.ts";
import {
  define,
  defineOptional,
  durationOrNone,
  readValue,
  type Setting,
  textOf,
  timerFrom,
  type ValueOf,
  variableOf,
  wholeNumber,
} from "./serve/setting.ts";

const START_WAIT_MS = 300_000;

const SCHEMA_NAME = "a schema name of at most 63 lower-case letters, digits and underscores";

export const DATABASE_SETTINGS = {
  "store-schema": define(
    textOf("NAME", SCHEMA_NAME, isSchemaName),
    POSTGRES_DEFAULTS.schema as string,
    "schema of the tables in the database",
  ),
  "store-listen-url": {
    ...defineOptional(
      textOf("URL", "a postgres:// URL", (value) => /^postgres(?:ql)?:\/\//i.test(value) && URL.canParse(value)),
      "URL that reaches the database without PgBouncer, for notifications",
      "the URL of `store`",
    ),
    isSecret: true,
  },
  "store-connections": define(
    wholeNumber("a number", 2, 1000),
    POSTGRES_DEFAULTS.maxConnections as number,
    "maximum number of connections to the database, and one more for notifications",
  ),
  "store-timeout": define(
    timerFrom(1000),
    POSTGRES_DEFAULTS.statementMs as number,
    "maximum time of one statement in the database",
  ),
  "store-start-wait": define(
    durationOrNone,
    START_WAIT_MS as number,
    "time that a server that starts waits for a database that is not available",
  ),
  "store-wait": define(
    durationOrNone,
    POSTGRES_DEFAULTS.waitMs as number,
    "time that changes wait for a database that is not available; then runs fail with store_unavailable",
  ),
} as const;

type DatabaseSettingKey = keyof typeof DATABASE_SETTINGS;

const KEYS = Object.keys(DATABASE_SETTINGS) as readonly DatabaseSettingKey[];

/** Values of the settings. Those that are absent have their defaults. */
type DatabaseValues = {
  readonly [K in DatabaseSettingKey]?: ValueOf<(typeof DATABASE_SETTINGS)[K]> | undefined;
};

export function collectDatabaseOptions(values: DatabaseValues): PostgresOptions {
  return dropUndefined({
    schema: values["store-schema"],
    listenUrl: values["store-listen-url"],
    maxConnections: values["store-connections"],
    statementMs: values["store-timeout"],
    waitMs: values["store-wait"],
  });
}

/** Reads the variables. Throws a CliError that names the one with an invalid value. */
export function readDatabaseOptions(env: Environment): PostgresOptions {
  const values = KEYS.map((key) => {
    const given = readVariable(env, variableOf(key));
    const setting: Setting<unknown> = DATABASE_SETTINGS[key];
    return [key, given === undefined ? undefined : readValue(setting, variableOf(key), given)];
  });
  return collectDatabaseOptions(Object.fromEntries(values) as DatabaseValues);
}

/** Reads the name of a schema from an option of the command line. Throws a CliError. */
export function readSchema(flag: string, given: string): string {
  return readValue(DATABASE_SETTINGS["store-schema"], flag, given);
}

/** Names the settings that differ from their defaults although the store is a file. */
export function findUnusedSettings(store: string, values: DatabaseValues): readonly string[] {
  if (isDatabase(store)) return [];
  return KEYS.filter((key) => values[key] !== DATABASE_SETTINGS[key].defaultValue);
}
