/** Default limits of a tool call. */
export const DEFAULT_LIMITS = {
  timeoutMs: 5 * 60 * 1000,
  maxResultCharacters: 100_000,
  maxPrintedCharacters: 1024 * 1024,
  maxEvents: 10_000,
  maxShownBytes: 512 * 1024,
} as const;
