/** A run ID that contains the session, for clients that request a run by its ID alone. */
const PREFIX = "loom.";

export function encodeRunReference(session: string, run: string): string {
  return PREFIX + Buffer.from(JSON.stringify([session, run])).toString("base64url");
}

/** Returns undefined for any other ID. */
export function decodeRunReference(id: string): { readonly session: string; readonly run: string } | undefined {
  if (!id.startsWith(PREFIX)) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(id.slice(PREFIX.length), "base64url").toString());
    if (!Array.isArray(value) || value.length !== 2) return undefined;
    const [session, run] = value as readonly unknown[];
    return typeof session === "string" && typeof run === "string" ? { session, run } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
