/**
 * Keeps drafts and unconfirmed messages across reloads of the tab, for the sessions written in last. Stored values are
 * validated.
 */
import {
  type Attachment,
  type ComposingState,
  type ComposerDraft,
  MAX_ATTACHMENTS,
  type MessageFile,
  EMPTY_COMPOSING,
  type WaitingMessage,
} from "./composing.ts";
import { undoPaste } from "../../../src/react/page-parts.ts";
import type { KeyValueStorage } from "./settings.ts";

const DRAFTS_KEY = "loom.drafts";
/** Sessions, and messages per session. */
const MAX_STORED = 20;

interface StoredDrafts {
  /** The user who wrote them; empty if authentication is off. */
  readonly owner?: string | undefined;
  readonly drafts: readonly (readonly [string, ComposerDraft])[];
  readonly waiting: readonly (readonly [string, readonly WaitingMessage[]])[];
}

export function readDrafts(storage: KeyValueStorage | undefined): ComposingState {
  const stored = readStored(storage);
  if (stored === undefined) return EMPTY_COMPOSING;
  return {
    ...EMPTY_COMPOSING,
    drafts: readEntries(stored["drafts"], readDraft),
    waiting: readEntries(stored["waiting"], (value) => readList(value, isMessage)),
  };
}

/** Returns undefined if nothing is stored. */
export function readDraftOwner(storage: KeyValueStorage | undefined): string | undefined {
  const owner = readStored(storage)?.["owner"];
  return isText(owner) ? owner : undefined;
}

function readStored(storage: KeyValueStorage | undefined): UnknownFields | undefined {
  try {
    const stored: unknown = JSON.parse(storage?.getItem(DRAFTS_KEY) ?? "null");
    return isObject(stored) ? stored : undefined;
  } catch {
    return undefined;
  }
}

/** Returns false if the storage is full. */
export function saveDrafts(
  storage: KeyValueStorage | undefined,
  { drafts, waiting }: ComposingState,
  owner?: string,
): boolean {
  const stored: StoredDrafts = {
    owner,
    drafts: [...drafts].slice(-MAX_STORED).map(([session, draft]) => {
      // Only uploaded files can be stored. A pasted text is kept as text.
      const { text, attachments } = undoPaste(draft, ({ blob }) => blob === undefined);
      return [session, { text, attachments: attachments.filter(({ blob }) => blob !== undefined) }];
    }),
    // The server has the queued ones.
    waiting: [...waiting]
      .slice(-MAX_STORED)
      .map(([session, all]) => [
        session,
        all.filter(({ status }) => status === "sending" || status === "failed").slice(-MAX_STORED),
      ]),
  };
  try {
    storage?.setItem(DRAFTS_KEY, JSON.stringify(stored));
    return true;
  } catch {
    return false;
  }
}

/** Skips entries that are invalid or empty. */
function readEntries<T>(value: unknown, read: (value: unknown) => T | undefined): ReadonlyMap<string, T> {
  return new Map(
    readList(value, Array.isArray)?.flatMap((entry: readonly unknown[]): [string, T][] => {
      const [session, found] = [entry[0], read(entry[1])];
      return typeof session === "string" && found !== undefined ? [[session, found]] : [];
    }),
  );
}

function readDraft(value: unknown): ComposerDraft | undefined {
  if (!isObject(value) || typeof value["text"] !== "string") return undefined;
  const attachments = readList(value["attachments"], isAttachment)?.slice(0, MAX_ATTACHMENTS) ?? [];
  return value["text"] === "" && attachments.length === 0 ? undefined : { text: value["text"], attachments };
}

/** Returns undefined for an empty list. */
function readList<T>(value: unknown, is: (entry: unknown) => entry is T): readonly T[] | undefined {
  const list = Array.isArray(value) ? value.slice(-MAX_STORED).filter(is) : [];
  return list.length === 0 ? undefined : list;
}

type UnknownFields = { readonly [name: string]: unknown };

function isObject(value: unknown): value is UnknownFields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const isText = (value: unknown): value is string => typeof value === "string";
const isOptionalText = (value: unknown): boolean => value === undefined || isText(value);

function isAttachment(value: unknown): value is Attachment {
  if (!isObject(value) || !isFile(value["blob"])) return false;
  const pasted = value["pasted"];
  if (pasted !== undefined && !(isObject(pasted) && isText(pasted["text"]) && typeof pasted["at"] === "number"))
    return false;
  return [value["id"], value["name"], value["mediaType"]].every(isText) && typeof value["bytes"] === "number";
}

function isFile(value: unknown): value is MessageFile {
  return isObject(value) && isText(value["blob_id"]) && [value["name"], value["mediaType"]].every(isOptionalText);
}

function isMessage(value: unknown): value is WaitingMessage {
  if (!isObject(value)) return false;
  const { commandId, runId, text, agent, instructions, files, status, error } = value as {
    readonly [K in keyof WaitingMessage]: unknown;
  };
  return (
    [commandId, runId, text].every(isText) &&
    isOptionalText(agent) &&
    isOptionalText(instructions) &&
    isOptionalText(error) &&
    (status === "sending" || status === "failed") &&
    Array.isArray(files) &&
    files.every(isFile)
  );
}
