/** `loom store`: shows, migrates, copies, renews, backs up, restores and verifies stores. */
import { resolve } from "node:path";
import { migrateStore, renewStore } from "../../log/maintain-store.ts";
import { POSTGRES_DEFAULTS, type PostgresOptions } from "../../postgres/postgres-options.ts";
import { SERVER_FORMATS } from "../../server/postgres-formats.ts";
import { CliError, type ParsedCommand, textOption } from "../command.ts";
import { readDatabaseOptions, readSchema } from "../database-settings.ts";
import { explainErrors } from "../explain-error.ts";
import { findStore, hideCredentials, isDatabase, rejectMemory, storeExists } from "../find-store.ts";
import { cleanText, formatJson, plural } from "../fit-text.ts";
import type { Terminal } from "../terminal.ts";
import { type CopiedStore, copyStore } from "./copy-store.ts";
import { STORE_COPY, STORE_MIGRATE, STORE_RENEW, STORE_STATUS } from "./store-commands.ts";
import { showStatus } from "./show-status.ts";

export async function runStore(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  // Files of a store are for their owner only.
  const before = process.umask(0o077);
  try {
    return await explainErrors(async () => {
      switch (parsed.command) {
        case STORE_STATUS:
          return showStatus(readStore(parsed), readOptions(parsed, "schema"), parsed, terminal);
        case STORE_MIGRATE:
          return migrate(parsed, terminal);
        case STORE_COPY:
          return copy(parsed, terminal);
        case STORE_RENEW:
          return renew(parsed, terminal);
        default:
          return (await import("../backup/run-backup.ts")).runBackup(parsed, terminal);
      }
    });
  } finally {
    process.umask(before);
    terminal.progress(undefined);
  }
}

async function migrate(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const store = readStore(parsed);
  const parts = await migrateStore(store, SERVER_FORMATS, readOptions(parsed, "schema"));
  if (parsed.options["json"] === true) {
    const changes = parts.map(({ name, stored, supported }) => ({ name, from: stored, to: supported }));
    await terminal.write(formatJson({ store: hideCredentials(store), parts: changes }));
    return 0;
  }
  for (const { name, stored, supported } of parts)
    await terminal.write(
      stored === supported
        ? `${name}: version ${supported}, up to date\n`
        : `${name}: ${stored === 0 ? "created" : `updated from version ${stored}`}, version ${supported}\n`,
    );
  return 0;
}

async function renew(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const store = readStore(parsed);
  if (!storeExists(store)) throw new CliError(`there is no store \`${cleanText(store)}\``);
  const showCount = (count: number): void => terminal.progress(`session ${count}`);
  const sessions = await renewStore(store, showCount, readOptions(parsed, "schema"));
  terminal.progress(undefined);
  const shown = { store: hideCredentials(store), sessions };
  const text = `${plural(sessions, "session")} renewed; clients load them again, and share links must be created again`;
  await terminal.write(parsed.options["json"] === true ? formatJson(shown) : `${text}\n`);
  return 0;
}

async function copy(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const [from, to] = ["from", "to"].map((name): CopiedStore => {
    const store = textOption(parsed, name);
    if (store === undefined) throw new CliError(`\`loom store copy\` needs --${name} STORE`);
    return isDatabase(store)
      ? { store, database: readOptions(parsed, `${name}-schema`) }
      : { store: resolve(store), database: {} };
  }) as [CopiedStore, CopiedStore];
  const isSame = hideCredentials(from.store) === hideCredentials(to.store);
  if (isSame && from.database.schema === to.database.schema) throw new CliError("--from and --to name the same store");
  if (!storeExists(from.store)) throw new CliError(`there is no store \`${cleanText(from.store)}\``);
  return copyStore(from, to, parsed.options["json"] === true, terminal);
}

/** The variables say how to connect; the option `flag` replaces the schema. */
function readOptions(parsed: ParsedCommand, flag: string): PostgresOptions {
  const given = textOption(parsed, flag);
  const options = { schema: POSTGRES_DEFAULTS.schema, ...readDatabaseOptions(process.env) };
  return given === undefined ? options : { ...options, schema: readSchema(`--${flag}`, given) };
}

function readStore(parsed: ParsedCommand): string {
  const store = textOption(parsed, "store") ?? findStore(process.env);
  rejectMemory(store);
  return isDatabase(store) ? store : resolve(store);
}
