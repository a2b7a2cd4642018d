/**
 * The log of a server, on standard error: lines for people, or JSON by pino. What is not told at the level that was chosen
 * costs nothing.
 */
import { Writable } from "node:stream";
import type { LoggerLike } from "../../observe/index.ts";
import { loadPackage } from "../../protocol/load-package.ts";
import { cleanText } from "../fit-text.ts";
import type { Terminal } from "../terminal.ts";
import type { Settings } from "./settings.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;
/** In a line for people the message and the time say it; JSON has all. */
const UNTOLD: ReadonlySet<string> = new Set(["event", "event_id", "node_id", "ts"]);
/** Characters of one value in a line for people. */
const MAX_SHOWN = 200;

/** Refused as `missing_package` where JSON is asked for and pino is not there. */
export async function createLogger(
  settings: Pick<Settings, "log-level" | "log-format">,
  terminal: Terminal,
): Promise<LoggerLike> {
  const level = settings["log-level"];
  if (settings["log-format"] === "plain") return createPlainLogger(level, terminal);
  const { pino } = await loadPackage("pino", "to log as JSON", () => import("pino"));
  const stream = new Writable({
    decodeStrings: false,
    write(line: string | Buffer, _encoding, done) {
      terminal.writeError(String(line));
      done();
    },
  });
  const logger: LoggerLike = pino({ name: "loom", level }, stream);
  return logger;
}

function createPlainLogger(chosen: Settings["log-level"], terminal: Terminal): LoggerLike {
  const least = chosen === "silent" ? LEVELS.length : LEVELS.indexOf(chosen);
  const write =
    (level: (typeof LEVELS)[number]) =>
    (fields: object, message: string): void => {
      if (LEVELS.indexOf(level) < least) return;
      const time = new Date().toISOString().slice(11, 19);
      const parts = Object.entries(fields).flatMap(([name, value]) =>
        value === undefined || UNTOLD.has(name) ? [] : [`${name}=${showValue(value)}`],
      );
      const mark = level === "warn" || level === "error" ? ` ${level}:` : "";
      terminal.warn(terminal.styleError("dim", `${time}${mark} ${cleanText([message, ...parts].join(" "))}`));
    };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

function showValue(value: unknown): string {
  const shown = typeof value === "string" && /^[\w.:/@-]+$/.test(value) ? value : (JSON.stringify(value) ?? "");
  return shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN).toWellFormed()}…` : shown;
}
