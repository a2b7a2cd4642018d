/** Wraps a logger so that secrets are redacted from every line. */
import type { LoggerLike } from "./create-log-observer.ts";
import { createRedactor, type RedactOptions } from "./create-redactor.ts";

/** Options of `redactLogger`. */
export interface RedactLoggerOptions extends RedactOptions {
  /** Maximum characters of the message, and of all fields together; longer texts are cut. Default: 8,000. */
  readonly maxCharacters?: number;
  /** Whether lines of this level are written. Other lines are dropped before redaction. Default: all levels. */
  readonly isLevelEnabled?: ((level: keyof LoggerLike) => boolean) | undefined;
}

const MAX_CHARACTERS = 8000;

/** Returns a logger that writes redacted lines to `logger`. */
export function redactLogger(logger: LoggerLike, options: RedactLoggerOptions = {}): LoggerLike {
  const { maxCharacters = MAX_CHARACTERS, isLevelEnabled = () => true, ...redactOptions } = options;
  const redactor = createRedactor(redactOptions);
  const write =
    (level: keyof LoggerLike) =>
    (fields: object, message: string): void => {
      if (!isLevelEnabled(level)) return;
      const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
      const safe = redactor.cleanValue(given, { maxCharacters }) as object;
      logger[level](safe, redactor.cleanText(message, maxCharacters));
    };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}
