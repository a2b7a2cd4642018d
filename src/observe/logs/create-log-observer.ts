/**
 * Runs as structured log lines: how each run began and ended, its model calls, tools, questions to the user, searches
 * and errors, with the ids that find them again. Written with pino, or with any logger that is called the same way.
 *
 * Contents (messages, arguments, results, errors that may quote them) are told only where they are asked for, and
 * everything that is told has its secrets taken out. A logger that fails costs its lines, which are counted, and nothing else.
 */
import type { EventType } from "../../protocol/index.ts";
import { assertLimit } from "../assert-limit.ts";
import { loadPackage } from "../../protocol/load-package.ts";
import { INERT, type Observer } from "../observer.ts";
import { shield } from "../shield.ts";
import { createRedactor, type RedactOptions } from "./create-redactor.ts";
import { LogRun, type LogLine } from "./log-run.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

/** The part of a pino logger that is used. */
export interface LoggerLike {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface LogOptions {
  /** One is made with pino, which writes to the standard output, when absent. */
  readonly logger?: LoggerLike;
  /** Of the logger that is made; `info` when absent. One that is given has its own. */
  readonly level?: LogLevel | "silent";
  /** More names and looks of secrets; those that are known are always taken out. */
  readonly redact?: RedactOptions;
  /** Messages, arguments, results, queries, and errors that may quote them, too; false when absent. */
  readonly contents?: boolean;
  /** Of one field with contents, cut beyond; 2000 when absent. */
  readonly maxContentCharacters?: number;
}

export interface LogObserver extends Observer {
  /** Lines that the logger refused, at once or later. */
  readonly failed: number;
}

/** What comes by the thousand, or is no line. */
const IGNORED: ReadonlySet<string> = new Set<EventType>([
  "message_chunk",
  "reasoning_chunk",
  "reasoning_end",
  "tool_call_chunk",
  "tool_output",
  "tool_progress",
  "values",
  "updates",
  "checkpoint",
  "custom",
  "foreign",
  "node_enter",
  "node_exit",
  "todo_list",
  "todo_update",
  "data",
  "image",
]);

/** Refused as `missing_package` where no logger is given and pino is not installed. */
export async function createLogObserver(options: LogOptions = {}): Promise<LogObserver> {
  const { level = "info", contents = false, maxContentCharacters = 2000 } = options;
  assertLimit("maxContentCharacters", maxContentCharacters, 0);
  const logger = options.logger ?? (await makeLogger(level));
  const redactor = createRedactor(options.redact);
  let failed = 0;
  const write = ({ level, message, fields }: LogLine): void => {
    shield(
      () => logger[level](fields, message),
      () => failed++,
    );
  };
  return {
    name: "logs",
    ignores: IGNORED,
    get failed() {
      return failed;
    },
    openRun: (run) =>
      run.runId === undefined ? INERT : new LogRun(run, { write, redactor, contents, maxContentCharacters }),
  };
}

async function makeLogger(level: string): Promise<LoggerLike> {
  const { pino } = await loadPackage("pino", "to log runs", () => import("pino"));
  const logger: LoggerLike = pino({ name: "loom", level });
  return logger;
}
