/** What a server says of itself when it has begun: where it is, and lines to try. */
import type { Terminal } from "../terminal.ts";

export interface ServerDescription {
  readonly url: string;
  readonly store: string;
  readonly model: string;
  /** Everybody is asked who they are. */
  readonly isAsking: boolean;
}

export function describeServer({ url, store, model, isAsking }: ServerDescription, terminal: Terminal): string {
  const isOffline = model === "offline" || model.startsWith("offline/");
  const note = isOffline ? " (an embedded program, no language model; choose one with --model)" : "";
  const bearer = isAsking ? ` -H "authorization: Bearer $TOKEN"` : "";
  const rows: readonly (readonly [string, string])[] = [
    ["page", `${url}/`],
    ...(isAsking
      ? [["sign in", "with a token, on the page or as $TOKEN below; `loom token create NAME` makes one"] as const]
      : []),
    [
      "ask",
      `curl -N ${url}/api/chat${bearer} -H 'content-type: application/json' -d '{"session_id":"demo","content":"What is 6*7?"}'`,
    ],
    ["replay", `curl -N ${url}/v1/sessions/demo/events${bearer}`],
    ["model", `${model}${note}`],
    ["store", store],
  ];
  const lines = rows.map(([name, text]) => `  ${terminal.style("dim", name.padEnd(7))} ${text}\n`);
  // Programs wait for the first line, and read the address from it.
  return `listening on ${terminal.style("bold", url)}\n${lines.join("")}`;
}
