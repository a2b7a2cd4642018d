/**
 * Where it goes what somebody's callback throws, or what nobody else was told: a warning of the process. It never throws.
 */
export function showWarning(error: unknown): void {
  try {
    process.emitWarning(error instanceof Error ? error : String(error));
  } catch {
    // A value that has no text.
    process.emitWarning("a callback failed");
  }
}
