/** What went wrong in a server, for its log; users see the id alone. */
import type { LoggerLike } from "../../observe/index.ts";

/** Causes of causes. */
const MAX_CAUSES = 4;

export function createReporter(logger: LoggerLike, isDebug: boolean): (error: unknown, errorId: string) => void {
  return (error, errorId) => {
    const { name, message, stack, cause } = error instanceof Error ? error : new Error(String(error));
    const why = describeCause(cause);
    const more = { ...(why === "" ? {} : { cause: why }), ...(isDebug ? { stack } : {}) };
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
