/** Builds the text a server prints after it has started: its URL and commands to try. */
import type { Terminal } from "../terminal.ts";

export interface ServerDescription {
  readonly url: string;
  readonly store: string;
  readonly model: string;
  /** Requests need a credential. */
  readonly requiresAuth: boolean;
}

export function describeServer({ url, store, model, requiresAuth }: ServerDescription, terminal: Terminal): string {
  const isOffline = model === "offline" || model.startsWith("offline/");
  const note = isOffline ? " (offline demo, not a language model; choose one with --model)" : "";
  const bearer = requiresAuth ? ` -H "authorization: Bearer $TOKEN"` : "";
  const rows: readonly (readonly [string, string])[] = [
    ["page", `${url}/`],
    ...(requiresAuth
      ? [["sign in", "with a token, on the page or as $TOKEN below; create one with `loom token create NAME`"] as const]
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
  // The first line is parsed by programs that wait for the URL.
  return `listening on ${terminal.style("bold", url)}\n${lines.join("")}`;
}
