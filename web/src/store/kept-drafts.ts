/**
 * What was written outlives a reload of its tab: drafts with the files that have gone up, and messages that nobody has
 * answered for, of the sessions written in last. What is read is checked, whoever wrote it.
 */
import {
  type Attachment,
  type ComposingState,
  type Draft,
  MAX_ATTACHMENTS,
  type MessageFile,
  NOTHING_COMPOSED,
  type WaitingMessage,
} from "./composing.ts";
import type { Keeper } from "./settings.ts";

const DRAFTS_KEY = "loom.drafts";
/** Sessions, and messages of one that wait. */
const MAX_KEPT = 20;
/** Of one text; a longer draft is kept as far as this, a longer message not at all. */
const MAX_CHARACTERS = 50_000;

interface Kept {
  readonly drafts: readonly (readonly [string, Draft])[];
  readonly waiting: readonly (readonly [string, readonly WaitingMessage[]])[];
}

export function readDrafts(keeper: Keeper | undefined): ComposingState {
  try {
    const kept: unknown = JSON.parse(keeper?.getItem(DRAFTS_KEY) ?? "null");
    if (!isObject(kept)) return NOTHING_COMPOSED;
    return {
      ...NOTHING_COMPOSED,
      drafts: readEntries(kept["drafts"], readDraft),
      waiting: readEntries(kept["waiting"], (value) => readList(value, isMessage)),
    };
  } catch {
    return NOTHING_COMPOSED;
  }
}

export function keepDrafts(keeper: Keeper | undefined, { drafts, waiting }: ComposingState): void {
  const kept: Kept = {
    drafts: [...drafts]
      .slice(-MAX_KEPT)
      .map(([session, { text, attachments }]) => [
        session,
        { text: text.slice(0, MAX_CHARACTERS), attachments: attachments.filter(({ blob }) => blob !== undefined) },
      ]),
    // The server knows those that it has.
    waiting: [...waiting]
      .slice(-MAX_KEPT)
      .map(([session, all]) => [
        session,
        all
          .filter(({ status, text }) => (status === "sending" || status === "failed") && text.length <= MAX_CHARACTERS)
          .slice(-MAX_KEPT),
      ]),
  };
  try {
    keeper?.setItem(DRAFTS_KEY, JSON.stringify(kept));
  } catch {
    return;
  }
}

/** Those that something is left of. */
function readEntries<T>(value: unknown, read: (value: unknown) => T | undefined): ReadonlyMap<string, T> {
  return new Map(
    readList(value, Array.isArray)?.flatMap((entry: readonly unknown[]): [string, T][] => {
      const [session, found] = [entry[0], read(entry[1])];
      return typeof session === "string" && found !== undefined ? [[session, found]] : [];
    }),
  );
}

function readDraft(value: unknown): Draft | undefined {
  if (!isObject(value) || typeof value["text"] !== "string") return undefined;
  const attachments = readList(value["attachments"], isAttachment)?.slice(0, MAX_ATTACHMENTS) ?? [];
  return value["text"] === "" && attachments.length === 0 ? undefined : { text: value["text"], attachments };
}

/** Undefined where there is none. */
function readList<T>(value: unknown, is: (entry: unknown) => entry is T): readonly T[] | undefined {
  const list = Array.isArray(value) ? value.slice(-MAX_KEPT).filter(is) : [];
  return list.length === 0 ? undefined : list;
}

type Fields = { readonly [name: string]: unknown };

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const isText = (value: unknown): value is string => typeof value === "string";
const mayBeText = (value: unknown): boolean => value === undefined || isText(value);

function isAttachment(value: unknown): value is Attachment {
  if (!isObject(value) || !isFile(value["blob"])) return false;
  return [value["id"], value["name"], value["mediaType"]].every(isText) && typeof value["bytes"] === "number";
}

function isFile(value: unknown): value is MessageFile {
  return isObject(value) && isText(value["blob_id"]) && mayBeText(value["name"]);
}

function isMessage(value: unknown): value is WaitingMessage {
  if (!isObject(value)) return false;
  const { commandId, runId, text, agent, files, status, error } = value as {
    readonly [K in keyof WaitingMessage]: unknown;
  };
  return (
    [commandId, runId, text].every(isText) &&
    mayBeText(agent) &&
    mayBeText(error) &&
    (status === "sending" || status === "failed") &&
    Array.isArray(files) &&
    files.every(isFile)
  );
}
