/** Formats the request for the stream of a run as a shell command. The token is a variable of the shell. */
export interface CurlRequest {
  /** Address of the page. */
  readonly base: string;
  readonly session: string;
  readonly runId: string;
  readonly dialect: string;
}

export function formatCurl({ base, session, runId, dialect }: CurlRequest): string {
  const url = new URL(`./v1/sessions/${encodeURIComponent(session)}/events`, base);
  url.search = new URLSearchParams({ run: runId, dialect, modes: "all" }).toString();
  url.hash = "";
  return [
    `curl --no-buffer ${quote(url.href)}`,
    `-H ${quote("Accept: text/event-stream")}`,
    '-H "Authorization: Bearer $LOOM_TOKEN"',
  ].join(" \\\n  ");
}

/** Single quotes keep everything except themselves. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
