/**
 * Writes runs as structured log lines: start and end of a run, model calls, tools, approvals, retrievals and errors,
 * with their IDs. Uses pino, or any logger with the same methods.
 *
 * Contents (messages, arguments, results, and errors that may quote them) are logged only if enabled. Secrets are
 * redacted from everything that is logged. If the logger fails, the line is lost and counted.
 */
import type { EventType } from "../../protocol/index.ts";
import { assertLimit } from "../assert-limit.ts";
import { loadPackage } from "../../protocol/load-package.ts";
import { INERT, type Observer, UNOBSERVED } from "../observer.ts";
import { shield } from "../shield.ts";
import { createRedactor, type RedactOptions } from "./create-redactor.ts";
import { LogRun, type LogLine } from "./log-run.ts";

/** Levels of log lines. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** The part of a pino logger that is used. */
export interface LoggerLike {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Options of `createLogObserver`. */
export interface LogOptions {
  /** Logger that writes the lines. Default: a new pino logger that writes JSON to standard output. */
  readonly logger?: LoggerLike;
  /** Level of the default logger; ignored if `logger` is set. Default: `info`. */
  readonly level?: LogLevel | "silent";
  /** Additional names and patterns of secrets. Known ones are always redacted. */
  readonly redact?: RedactOptions;
  /** Whether to log messages, arguments, results, queries, and errors that may quote them. Default: false. */
  readonly contents?: boolean;
  /** Maximum characters of a field with contents; longer values are cut. Default: 2,000. */
  readonly maxContentCharacters?: number;
}

/** An observer that writes log lines. */
export interface LogObserver extends Observer {
  /** Number of lines that the logger failed to write. */
  readonly failed: number;
}

const IGNORED: ReadonlySet<string> = new Set<EventType>([
  ...UNOBSERVED,
  "message_chunk",
  "reasoning_chunk",
  "tool_call_chunk",
  "node_exit",
]);

/**
 * Creates an observer that logs runs. Pass it to an agent or server in `observers`. Throws `missing_package` if no
 * logger is given and pino is not installed.
 *
 * ```ts
 * const logs = await createLogObserver({ level: "debug" });
 * const helper = agent({ model, observers: [logs] });
 * ```
 */
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
