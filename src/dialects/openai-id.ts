/**
 * IDs of the OpenAI dialects that clients send back: of a response, of a call for the client, and of an approval
 * request. Each names its session and run, so that a server finds them without an index. To clients they are opaque, and
 * fit into a URL.
 */

/** What an ID names. */
export interface OpenaiReference {
  readonly session: string;
  readonly run: string;
  /** Where the part of the run starts: the record that ended the part before; 0 for the first part. */
  readonly after: number;
  /** ID of the call, for calls and approval requests. */
  readonly call?: string;
}

/** Prefixes by kind of ID. */
const PREFIXES = { response: "resp_", call: "call_", approval: "mcpr_" } as const;
/** Longer texts are not IDs of ours: names have at most 256 characters. */
const MAX_LENGTH = 8192;

type OpenaiIdKind = keyof typeof PREFIXES;

export function formatOpenaiId(kind: OpenaiIdKind, { session, run, after, call }: OpenaiReference): string {
  const parts = call === undefined ? [session, run, after] : [session, run, after, call];
  const bytes = new TextEncoder().encode(JSON.stringify(parts));
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `${PREFIXES[kind]}${text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** Returns undefined for an ID that another server made. */
export function parseOpenaiId(kind: OpenaiIdKind, id: unknown): OpenaiReference | undefined {
  const prefix = PREFIXES[kind];
  if (typeof id !== "string" || id.length > MAX_LENGTH || !id.startsWith(prefix)) return undefined;
  try {
    const text = atob(id.slice(prefix.length).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    const [session, run, after, call] = JSON.parse(
      new TextDecoder("utf-8", { fatal: true }).decode(bytes),
    ) as unknown[];
    if (typeof session !== "string" || typeof run !== "string" || !Number.isSafeInteger(after)) return undefined;
    if ((after as number) < 0 || (typeof call === "string") !== (kind !== "response")) return undefined;
    return { session, run, after: after as number, ...(typeof call === "string" ? { call } : {}) };
  } catch {
    return undefined;
  }
}
