/** True for an ID that a client may choose for its request: short, and safe for headers and logs. */
export function isRequestId(given: string): boolean {
  return /^[\w.:-]{1,64}$/.test(given);
}
