/** Downloads content as a file, without a request to the server. */

/** Long enough for the download to start; then the content is released. */
const REVOKE_AFTER_MS = 60_000;
const MAX_NAME = 100;

export function saveText(name: string, mediaType: string, text: string): void {
  saveBlob(name, new Blob([text], { type: `${mediaType};charset=utf-8` }));
}

export function saveBlob(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = cleanFileName(name);
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_AFTER_MS);
}

/** Removes path separators, characters that file systems reject, and leading dots. */
export function cleanFileName(name: string): string {
  const dot = name.lastIndexOf(".");
  const [stem, ending] = dot < 0 ? [name, ""] : [name.slice(0, dot), name.slice(dot)];
  const clean = stem.replaceAll(/[\p{Cc}<>:"/\\|?*]+/gu, " ").replace(/^[.\s]+/, "");
  return `${clean.slice(0, MAX_NAME).toWellFormed().trim() || "data"}${ending}`;
}
