/**
 * Size limits of one turn, or of the session outside its turns. Counts the events left out in whole or in part; the
 * first one also adds an issue.
 */
import type { EventOf } from "../../protocol/index.ts";
import type { ReceiverLimits } from "../limits.ts";
import type { IssueView } from "../view.ts";
import type { ViewQuota } from "./growing-list.ts";
import { cutText } from "../../protocol/cut-text.ts";

/** The part of a session that a turn needs. */
export interface TurnHost {
  readonly limits: ReceiverLimits;
  /** True when no more events can arrive. */
  readonly isStreamOver: boolean;
  addIssue(issue: IssueView): void;
  /** Returns true if the list is new. */
  takeTodo(event: EventOf<"todo_list" | "todo_update">): boolean;
}

export class TurnQuota implements ViewQuota {
  readonly maxItems: number;
  readonly maxText: number;
  readonly host: TurnHost;
  /** Number of events left out. */
  omitted = 0;
  /** The current event was already counted. */
  isCounted = false;
  readonly #what: string;

  constructor(what: string, host: TurnHost) {
    this.#what = what;
    this.host = host;
    this.maxItems = host.limits.maxItems;
    this.maxText = host.limits.maxText;
  }

  omit(): void {
    if (this.isCounted) return;
    this.isCounted = true;
    if (this.omitted++ === 0)
      this.host.addIssue({
        rule: "view_limit",
        message: `${this.#what} exceeds a view limit; some content is left out`,
      });
  }

  cut<T extends string | undefined>(text: T): T {
    const shown = text && cutText(text, this.maxText);
    if (shown !== text) this.omit();
    return shown as T;
  }
}

/** Fields that contain IDs of thoughts or nodes. */
const ID_FIELDS = /^(?:ids?|kept|parent|from|to|node.*|edges|scored)$/;
const MAX_ID_LENGTH = 1000;

/** Returns true if an ID is too long. IDs are kept as long as the turn, so their length is limited. */
export function hasLongId(event: object): boolean {
  return Object.entries(event).some(
    ([field, value]) => ID_FIELDS.test(field) && [value].flat(2).some((id) => (id as string).length > MAX_ID_LENGTH),
  );
}
