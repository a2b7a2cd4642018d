/** Downloads frames as NDJSON, one frame per line. */

/** Lines joined per blob part. Many small parts are slow; one large string needs twice the memory. */
const LINES_PER_PIECE = 1000;

/**
 * Returns a file name that is valid on every system: other characters than letters, digits and `.-_` become hyphens.
 */
export function formatFileName(session: string, runId: string, dialect: string): string {
  const clean = (name: string): string =>
    name
      .replaceAll(/[^\p{L}\p{N}._-]+/gu, "-")
      .replaceAll(/^[.-]+|-+$/g, "")
      .slice(0, 60);
  return `${[session, runId, dialect].map(clean).filter(Boolean).join("_")}.ndjson`;
}

export function buildFile(textAt: (index: number) => string | undefined, count: number): Blob {
  const pieces: string[] = [];
  for (let from = 0; from < count; from += LINES_PER_PIECE) {
    let piece = "";
    for (let i = from; i < Math.min(from + LINES_PER_PIECE, count); i++) piece += `${textAt(i) ?? ""}\n`;
    pieces.push(piece);
  }
  return new Blob(pieces, { type: "application/x-ndjson" });
}

/** Delay before the object URL is revoked. The download has started by then. */
const REVOKE_MS = 60_000;

export function downloadFile(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_MS);
}
