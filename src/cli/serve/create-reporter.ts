/** Logs server errors under the ID that the client received. */
import type { LoggerLike } from "../../observe/logs/create-log-observer.ts";
import { isLoomError } from "../../protocol/index.ts";

/** Maximum depth of `cause`. */
const MAX_CAUSES = 4;

/** The stack is logged for unexpected errors, and with `isDebug` for every error. */
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
