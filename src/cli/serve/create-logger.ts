/**
 * The log of a server on standard error, and what goes there: plain lines, or JSON written by pino. Secrets are redacted: values that look
 * like secrets, and the secrets in the environment of this process. Disabled levels cost nothing.
 */
import { Writable } from "node:stream";
import type { LoggerLike } from "../../observe/logs/create-log-observer.ts";
import { createRedactor } from "../../observe/logs/create-redactor.ts";
import { createSecretNames } from "../../observe/logs/secret-names.ts";
import { isLoomError } from "../../protocol/index.ts";
import { loadPackage } from "../../protocol/load-package.ts";
import type { Notice, Notify } from "../../server/guard/notice.ts";
import type { Environment } from "../find-store.ts";
import { cleanText, escapeJson } from "../fit-text.ts";
import type { Terminal } from "../terminal.ts";
import type { Settings } from "./settings.ts";
import { shorten } from "../../protocol/cut-text.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;
/** Fields left out of plain lines; JSON has them all. */
const HIDDEN_FIELDS: ReadonlySet<string> = new Set(["event", "event_id", "node_id", "ts"]);
/** Maximum characters of a message, and of all its fields together; longer texts are cut. */
const MAX_CHARACTERS = 8000;
/** Characters shown of one value in a plain line. */
const MAX_SHOWN = 200;
/** Shorter values are not treated as secrets. */
const MIN_SECRET = 8;
/** Variables whose names match a secret but hold a folder. */
const NOT_SECRETS: ReadonlySet<string> = new Set(["PWD", "OLDPWD"]);

/** Throws `missing_package` if JSON is requested and pino is not installed. */
export async function createLogger(
  settings: Pick<Settings, "log-level" | "log-format"> & Partial<Pick<Settings, "api-key">>,
  terminal: Terminal,
  env: Environment = process.env,
): Promise<LoggerLike> {
  const { "log-level": chosen, "api-key": apiKey } = settings;
  const least = chosen === "silent" ? LEVELS.length : LEVELS.indexOf(chosen);
  const logger = await openLogger(settings, terminal);
  const redactor = createRedactor({ patterns: listSecrets({ ...env, "api-key": apiKey }).map(toPattern) });
  const write =
    (level: keyof LoggerLike) =>
    (fields: object, message: string): void => {
      if (LEVELS.indexOf(level) < least) return;
      const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
      const safe = redactor.cleanValue(given, MAX_CHARACTERS) as object;
      logger[level](safe, redactor.cleanText(message, MAX_CHARACTERS));
    };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

/** Values of variables whose name marks them as a secret. */
function listSecrets(env: Environment): readonly string[] {
  const names = createSecretNames([]);
  const secrets = Object.entries(env).flatMap(([name, value = ""]) =>
    value.length >= MIN_SECRET && !NOT_SECRETS.has(name) && names.isSecret(name) ? [value] : [],
  );
  return [...new Set(secrets)];
}

function toPattern(text: string): RegExp {
  return new RegExp(text.replaceAll(/[$()*+.?[\\\]^{|}/-]/g, String.raw`\$&`), "g");
}

async function openLogger(
  settings: Pick<Settings, "log-level" | "log-format">,
  terminal: Terminal,
): Promise<LoggerLike> {
  const level = settings["log-level"];
  if (settings["log-format"] === "plain") return createPlainLogger(terminal);
  const { pino } = await loadPackage("pino", "to log as JSON", () => import("pino"));
  const stream = new Writable({
    decodeStrings: false,
    write(line: string | Buffer, _encoding, done) {
      terminal.writeError(`${escapeJson(String(line).trimEnd())}\n`);
      done();
    },
  });
  const logger: LoggerLike = pino({ name: "loom", level }, stream);
  return logger;
}

function createPlainLogger(terminal: Terminal): LoggerLike {
  const write =
    (level: (typeof LEVELS)[number]) =>
    (fields: object, message: string): void => {
      const time = new Date().toISOString().slice(11, 19);
      const parts = Object.entries(fields).flatMap(([name, value]) =>
        value === undefined || HIDDEN_FIELDS.has(name) ? [] : [`${name}=${showValue(value)}`],
      );
      const mark = level === "warn" || level === "error" ? ` ${level}:` : "";
      terminal.warn(terminal.styleError("dim", `${time}${mark} ${cleanText([message, ...parts].join(" "))}`));
    };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

function showValue(value: unknown): string {
  const shown = typeof value === "string" && /^[\w.:/@-]+$/.test(value) ? value : (JSON.stringify(value) ?? "");
  return shorten(shown, MAX_SHOWN);
}

/** Maximum depth of `cause`. */
const MAX_CAUSES = 4;

/**
 * Logs server errors under the ID that the client received. The stack is logged for unexpected errors, and with `isDebug` for every error.
 */
export function createReporter(logger: LoggerLike, isDebug: boolean): (error: unknown, errorId: string) => void {
  return (error, errorId) => {
    const { name, message, stack, cause } = error instanceof Error ? error : new Error(String(error));
    const why = describeCause(cause);
    const more = {
      ...(isLoomError(error) ? { code: error.code, details: error.details } : {}),
      ...(why === "" ? {} : { cause: why }),
      ...(isDebug || !isLoomError(error) ? { stack } : {}),
    };
    logger.error({ error_id: errorId, error: name, ...more }, message);
  };
}

function describeCause(first: unknown): string {
  const words: string[] = [];
  let cause = first;
  for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error; depth++) {
    words.push(cause.message);
    cause = cause.cause;
  }
  return words.join("; because: ");
}

/** Logs requests rejected because of their Host or Origin header, with the setting that would allow them. */
export function createNotifier(logger: LoggerLike, settings: Pick<Settings, "origins" | "hosts">): Notify {
  return (notice) => {
    // The command allows requests without authentication by its own checks.
    if (notice.option !== "auth") logger.warn({}, describeNotice(notice, settings[notice.option]));
  };
}

/** The suggested setting includes the current values, so it can be copied as is. */
function describeNotice({ kind, name, option, allow }: Notice, allowed: readonly string[]): string {
  const header = kind === "host_refused" ? "host" : "origin";
  const refused = `rejected a request: ${header} ${allow ?? JSON.stringify(name)} is not allowed`;
  if (allow === undefined) return refused;
  return `${refused}; to allow it, set LOOM_${option.toUpperCase()}=${[...allowed, allow].join(",")}`;
}
