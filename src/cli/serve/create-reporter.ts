/** What went wrong in a server, for its log; users see the id alone. */
import type { LoggerLike } from "../../observe/index.ts";
import { isLoomError } from "../../protocol/index.ts";

/** Causes of causes. */
const MAX_CAUSES = 4;

/** Where it happened is told of what nobody foresaw; of the rest for those who look for faults. */
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
