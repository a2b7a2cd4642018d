/** Which addresses a page may lead its reader to: those of the web, and nothing that runs or opens a program. */

/** Undefined for anything but a whole http or https address. */
export function findLink(address: string | undefined): string | undefined {
  if (address === undefined || !URL.canParse(address)) return undefined;
  const url = new URL(address);
  // What stands before an @ is there to be taken for the host.
  if (url.username !== "" || url.password !== "") return undefined;
  return url.protocol === "https:" || url.protocol === "http:" ? url.href : undefined;
}
