/**
 * What the writing thread is asked to do, and what it answers. Plain data: it crosses between threads.
 */
import type { Settlement } from "../log.ts";
import type { IndexChanges } from "../index-changes.ts";
import type { PlainError } from "./failure.ts";

export type Operation =
  | {
      readonly do: "append";
      readonly sessionId: string;
      readonly epoch: number;
      readonly expectedLastId: number;
      readonly count: number;
      /** The texts, joined by line feeds. */
      readonly text: string;
      /** Absent where the batch changes no index and answers no command, as most do. */
      readonly changes: IndexChanges | undefined;
      readonly settle: readonly Settlement[] | undefined;
      readonly now: number;
    }
  | {
      readonly do: "create";
      readonly sessionId: string;
      readonly title: string | undefined;
      /** Undefined where any will do for one that is there. */
      readonly owner: string | undefined;
      readonly firstId: number;
      readonly graceMs: number;
      readonly now: number;
      /** Made with these, and only if it is new. */
      readonly records: { readonly count: number; readonly text: string; readonly changes: IndexChanges } | undefined;
    }
  | { readonly do: "rename"; readonly sessionId: string; readonly title: string; readonly onlyUntitled: boolean }
  /** Nothing; the answer says whether somebody else has written. */
  | { readonly do: "look" }
  | { readonly do: "delete"; readonly sessionId: string; readonly epoch: number | undefined }
  | {
      readonly do: "acquire";
      readonly sessionId: string;
      readonly holder: string;
      readonly ttlMs: number;
      readonly takeover: boolean;
      readonly now: number;
    }
  | {
      readonly do: "renew";
      readonly sessionId: string;
      readonly epoch: number;
      readonly ttlMs: number;
      readonly now: number;
    }
  | { readonly do: "release"; readonly sessionId: string; readonly epoch: number }
  | {
      readonly do: "submit";
      readonly sessionId: string;
      readonly commandId: string;
      readonly kind: string;
      readonly body: string;
      readonly now: number;
      readonly maxPending: number;
    }
  | {
      readonly do: "prune";
      /** The key of the last session that was looked at. */
      readonly after: number;
      readonly maxAgeMs: number | undefined;
      readonly maxSessionBytes: number | undefined;
      readonly now: number;
    }
  | { readonly do: "prune-oldest"; readonly excess: number }
  | { readonly do: "drop-commands"; readonly before: number }
  | { readonly do: "sweep" };

/** What came of one operation: a value of its own kind (nothing but success, for most), or a refusal. */
export type Result = null | { readonly value: unknown } | { readonly error: PlainError };

/**
 * A group of operations on its way to the other thread, answered in the order it was sent. An append that answers no
 * command, as most do, is laid out flat (its session, epoch, expected id, count, text, and what it changes in indexes as
 * JSON): copying objects between threads costs more than what is in them.
 */
export type Group = readonly (string | number | Operation)[];

export interface Answer {
  /** Null when all went well and nothing is to be told. */
  readonly results: readonly Result[] | null;
  /** Other connections have written since the last group. */
  readonly isNews: boolean;
}

export function packGroup(operations: readonly Operation[]): Group {
  const packed: (string | number | Operation)[] = [];
  for (const operation of operations) {
    if (operation.do === "append" && operation.settle === undefined) {
      const { sessionId, epoch, expectedLastId, count, text, changes } = operation;
      packed.push(sessionId, epoch, expectedLastId, count, text, changes === undefined ? "" : JSON.stringify(changes));
    } else {
      packed.push(operation);
    }
  }
  return packed;
}

export function unpackGroup(packed: Group): readonly Operation[] {
  const operations: Operation[] = [];
  for (let i = 0; i < packed.length; i++) {
    const item = packed[i];
    if (typeof item === "object") {
      operations.push(item);
      continue;
    }
    const epoch = packed[i + 1] as number;
    const expectedLastId = packed[i + 2] as number;
    const count = packed[i + 3] as number;
    const text = packed[i + 4] as string;
    const written = packed[i + 5] as string;
    const changes = written === "" ? undefined : (JSON.parse(written) as IndexChanges);
    const sessionId = item as string;
    operations.push({
      do: "append",
      sessionId,
      epoch,
      expectedLastId,
      count,
      text,
      changes,
      settle: undefined,
      now: 0,
    });
    i += 5;
  }
  return operations;
}
