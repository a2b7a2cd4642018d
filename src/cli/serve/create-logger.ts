/**
 * The log of a server on standard error: plain lines, or JSON written by pino. Secrets are redacted: values that look
 * like secrets, and the secrets in the environment of this process. Disabled levels cost nothing.
 */
import { Writable } from "node:stream";
import type { LoggerLike } from "../../observe/logs/create-log-observer.ts";
import { createRedactor } from "../../observe/logs/create-redactor.ts";
import { createSecretNames } from "../../observe/logs/secret-names.ts";
import { loadPackage } from "../../protocol/load-package.ts";
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
      const safe = redactor.cleanValue(given, { maxCharacters: MAX_CHARACTERS }) as object;
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
