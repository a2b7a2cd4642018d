/** Describes files for models. */
export interface DescribedFile {
  readonly mediaType: string;
  readonly bytes: number;
  readonly name?: string | undefined;
}

export function describeFile({ mediaType, bytes, name }: DescribedFile): string {
  const called = name === undefined ? "a file" : `the file ${JSON.stringify(name)}`;
  return `${called} (${mediaType}, ${bytes} bytes)`;
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
