/**
 * Strings of users in columns of PostgreSQL, which cannot store NUL. NUL is stored as `\0`, and a backslash as two.
 * Records and bodies of commands are JSON, which escapes NUL already; they are stored as they are.
 */
export function toColumn(text: string): string {
  return /[\\\0]/.test(text) ? text.replaceAll("\\", "\\\\").replaceAll("\0", "\\0") : text;
}

export function fromColumn(text: string): string {
  return text.includes("\\") ? text.replaceAll(/\\([\\0])/g, (_, escaped) => (escaped === "0" ? "\0" : "\\")) : text;
}

export function toOptionalColumn(text: string | undefined): string | null {
  return text === undefined ? null : toColumn(text);
}

export function fromNullableColumn(text: string | null): string | null {
  return text === null ? null : fromColumn(text);
}

export function fromOptionalColumn(text: string | null): string | undefined {
  return fromNullableColumn(text) ?? undefined;
}
