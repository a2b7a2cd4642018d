/**
 * What one turn may hold, or the session apart from its turns, and how many events had to be left out, in whole or in
 * part. The first time one is, an issue says so; after that it is only counted.
 */
import type { EventOf } from "../../protocol/index.ts";
import type { ReceiverLimits } from "../limits.ts";
import type { IssueView } from "../view.ts";
import type { Room } from "./growing-list.ts";

/** What a turn needs from its session. */
export interface TurnHost {
  readonly limits: ReceiverLimits;
  /** Nothing more will come of any run. */
  readonly isDead: boolean;
  addIssue(issue: IssueView): void;
  /** True when the list is new. */
  takeTodo(event: EventOf<"todo_list" | "todo_update">): boolean;
}

export class TurnRoom implements Room {
  readonly maxItems: number;
  readonly maxText: number;
  readonly host: TurnHost;
  /** Events left out. */
  omitted = 0;
  /** The event that is applied was counted. */
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
      this.host.addIssue({ rule: "view_limit", message: `${this.#what} has more than can be shown` });
  }

  cut<T extends string | undefined>(text: T): T {
    const shown = text && cutText(text, this.maxText);
    if (shown !== text) this.omit();
    return shown as T;
  }
}

/** The beginning of `text` that has at most `limit` characters; no character is cut in two. */
export function cutText(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const last = text.charCodeAt(limit - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? limit - 1 : limit);
}

/** The fields in which events of trees and graphs name thoughts and nodes. */
const NAMES = /^(?:ids?|kept|parent|from|to|node.*|edges|scored)$/;
const MAX_NAME = 1000;

/** Names are remembered for as long as the turn is shown, so they have to be short. */
export function hasLongName(event: object): boolean {
  return Object.entries(event).some(
    ([field, value]) => NAMES.test(field) && [value].flat(2).some((id) => (id as string).length > MAX_NAME),
  );
}
