/** Describes files for models. */
import type { UserPart } from "./model.ts";

export interface DescribedFile {
  readonly mediaType: string;
  readonly bytes: number;
  readonly name?: string | undefined;
}

export function describeFile({ mediaType, bytes, name }: DescribedFile): string {
  const called = name === undefined ? "a file" : `the file ${JSON.stringify(name)}`;
  return `${called} (${mediaType}, ${bytes} bytes)`;
}

/** The text of a user message, or what says that the user attached a file: for models that receive no files. */
export function describeUserPart(part: UserPart): string {
  if (part.type === "text") return part.text;
  const file =
    part.type === "file" ? { mediaType: part.mediaType, bytes: part.data.length, name: part.filename } : part;
  return `The user attached ${describeFile(file)}.`;
}

/** Text formats whose media type does not begin with `text/`. */
const TEXTS: ReadonlySet<string> = new Set([
  "application/json",
  "application/ld+json",
  "application/x-ndjson",
  "application/xml",
  "application/yaml",
  "application/x-yaml",
  "application/toml",
  "application/javascript",
  "application/typescript",
  "application/sql",
  "application/x-sh",
  "image/svg+xml",
]);

export function isTextType(mediaType: string): boolean {
  return mediaType.startsWith("text/") || TEXTS.has(mediaType);
}
