/**
 * IDs of the OpenAI dialects that clients send back: of a response, of a call for the client, and of an approval
 * request. Each names its session and run.
 */
import { formatOpaqueId, parseOpaqueId } from "./opaque-id.ts";

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

type OpenaiIdKind = keyof typeof PREFIXES;

export function formatOpenaiId(kind: OpenaiIdKind, { session, run, after, call }: OpenaiReference): string {
  return formatOpaqueId(PREFIXES[kind], call === undefined ? [session, run, after] : [session, run, after, call]);
}

/** Returns undefined for an ID that another server made. */
export function parseOpenaiId(kind: OpenaiIdKind, id: unknown): OpenaiReference | undefined {
  const parts = parseOpaqueId(PREFIXES[kind], id);
  const [session, run, after, call] = Array.isArray(parts) ? (parts as readonly unknown[]) : [];
  if (typeof session !== "string" || typeof run !== "string" || !Number.isSafeInteger(after)) return undefined;
  if ((after as number) < 0 || (typeof call === "string") !== (kind !== "response")) return undefined;
  return { session, run, after: after as number, ...(typeof call === "string" ? { call } : {}) };
}
