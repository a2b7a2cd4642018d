/**
 * Creates a session with records in several transactions, one per piece, and pauses between them, so that other writers
 * of the store hardly wait.
 */
import { setTimeout as pause } from "node:timers/promises";
import { createPieceCheck } from "../entry.ts";
import { describeHolder } from "../holder.ts";
import { findIndexChanges } from "../index-changes.ts";
import type { CreateOptions, LogEntry } from "../log.ts";
import type { LogLimits } from "../log-limits.ts";
import { lineageOf } from "../stored-rows.ts";
import { toCarriedRows } from "./carried-rows.ts";
import type { StoreOperation } from "./operations.ts";

/** Pause between the transactions of a long operation, so that other processes can write. */
export const PAUSE_MS = 4;

interface DraftWriter {
  readonly limits: LogLimits;
  readonly now: () => number;
  readonly write: <T>(operation: StoreOperation) => Promise<T>;
}

/** Throws `session_exists` when all pieces are written; the pieces are then discarded, as after any other error. */
export async function writeDraft(
  { limits, now, write }: DraftWriter,
  sessionId: string,
  entries: NonNullable<CreateOptions["entries"]>,
  options: Omit<CreateOptions, "entries">,
): Promise<void> {
  const { title, owner, isPinned, isArchived, inherits, firstId = 1, graceMs = 0 } = options;
  const carried = toCarriedRows(options.carried ?? []);
  const check = createPieceCheck(sessionId, firstId, limits);
  const holder = describeHolder();
  const key = await write<number>({ do: "create-draft", owner, firstId, holder, carried, now: now() });
  try {
    for await (const piece of Symbol.asyncIterator in entries ? entries : [entries]) {
      check(piece);
      if (piece.length > 0) await write(extendDraft(key, piece, now()));
      await pause(PAUSE_MS);
    }
    const lineage = lineageOf(sessionId, options);
    const published = { key, sessionId, title, isPinned, isArchived, inherits, graceMs, lineage };
    await write({ do: "publish-draft", ...published, now: now() });
  } catch (error) {
    // If this fails too, a later sweep discards the draft.
    await write({ do: "discard-draft", key }).catch(() => undefined);
    throw error;
  }
}

function extendDraft(key: number, piece: readonly LogEntry[], now: number): StoreOperation {
  const text = piece.map((entry) => entry.text).join("\n");
  return { do: "extend-draft", key, count: piece.length, text, changes: findIndexChanges(piece), now };
}
