/** Hands frames to the browser as a file: one per line, as a server sends them as NDJSON. */

/** Lines that are joined before they go into the file: many small pieces are slow, one large text is memory twice. */
const PIECE = 1000;

/** A name that every file system takes: what is not a letter, a digit or one of `.-_` becomes a hyphen. */
export function nameFile(session: string, runId: string, dialect: string): string {
  const clean = (name: string): string =>
    name
      .replaceAll(/[^\p{L}\p{N}._-]+/gu, "-")
      .replaceAll(/^[.-]+|-+$/g, "")
      .slice(0, 60);
  return `${[session, runId, dialect].map(clean).filter(Boolean).join("_")}.ndjson`;
}

export function makeFile(textAt: (index: number) => string | undefined, count: number): Blob {
  const pieces: string[] = [];
  for (let from = 0; from < count; from += PIECE) {
    let piece = "";
    for (let i = from; i < Math.min(from + PIECE, count); i++) piece += `${textAt(i) ?? ""}\n`;
    pieces.push(piece);
  }
  return new Blob(pieces, { type: "application/x-ndjson" });
}

/** The address of the file is let go when the browser has surely taken it. */
const KEPT_MS = 60_000;

export function downloadFile(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}
