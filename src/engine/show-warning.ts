/** Shows an error as a process warning, for errors that no caller receives. Never throws. */
export function showWarning(error: unknown): void {
  try {
    process.emitWarning(error instanceof Error ? error : String(error));
  } catch {
    // The value cannot be converted to a string.
    process.emitWarning("A callback failed");
  }
}
