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
      readonly firstId: number;
      readonly now: number;
    }
  | { readonly do: "rename"; readonly sessionId: string; readonly title: string }
  | { readonly do: "delete"; readonly sessionId: string }
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
      readonly maxAgeMs: number | undefined;
      readonly maxSessionBytes: number | undefined;
      readonly maxBytes: number | undefined;
      readonly now: number;
    }
  | { readonly do: "sweep" };

/** What came of one operation: a value of its own kind (nothing but success, for most), or a refusal. */
export type Result = null | { readonly value: unknown } | { readonly error: PlainError };

/** Operations of one transaction. Groups are answered in the order they were sent. */
export type Group = readonly Operation[];

export type Answer = readonly Result[];
