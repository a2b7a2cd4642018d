/** A logger that never writes a secret: what it is given has them taken out before it goes on. */
import type { LoggerLike } from "./create-log-observer.ts";
import { createRedactor, type RedactOptions } from "./create-redactor.ts";

export interface RedactLoggerOptions extends RedactOptions {
  /** Of a message, and of the fields of a line together; cut beyond. */
  readonly maxCharacters?: number;
  /** Lines of lesser levels are dropped at once, so that they cost nothing; none when absent. */
  readonly isTold?: ((level: keyof LoggerLike) => boolean) | undefined;
}

const MAX_CHARACTERS = 8000;

export function redactLogger(logger: LoggerLike, options: RedactLoggerOptions = {}): LoggerLike {
  const { maxCharacters = MAX_CHARACTERS, isTold = () => true, ...looks } = options;
  const redactor = createRedactor(looks);
  const write =
    (level: keyof LoggerLike) =>
    (fields: object, message: string): void => {
      if (!isTold(level)) return;
      const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
      const safe = redactor.cleanValue(given, { maxCharacters }) as object;
      logger[level](safe, redactor.cleanText(message, maxCharacters));
    };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}
