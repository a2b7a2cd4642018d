/**
 * The calls of a session's live run that wait for the user, folded from its records. It knows no terminal: whoever asks,
 * and whoever answers, is somebody else.
 */
import type { EventOf, EventRecord, JsonObject } from "../../protocol/index.ts";

export interface Question {
  readonly runId: string;
  readonly callId: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** Milliseconds since 1970. */
  readonly expiresAt: number | undefined;
  /** What the answer is about, as the question has it. */
  readonly digest?: string | undefined;
}

export class OpenQuestions {
  readonly #waiting = new Map<string, Question>();
  /** Calls that are on their way without the user. */
  readonly #going = new Set<string>();
  /** The tools of calls that were asked about and have not ended, answered or not. */
  readonly #asked = new Map<string, string>();

  add({ envelope, event }: EventRecord): void {
    const { type } = event;
    if (type === "run_start" || type === "run_end") {
      this.#waiting.clear();
      this.#going.clear();
      this.#asked.clear();
      return;
    }
    const { call_id: callId } = event as { readonly call_id?: string };
    if (callId === undefined) return;
    if (type === "tool_approval") {
      const { name, arguments: input, expires_at: expiresAt, digest } = event as EventOf<"tool_approval">;
      this.#going.delete(callId);
      this.#asked.set(callId, name);
      const known = digest === undefined ? {} : { digest };
      this.#waiting.set(callId, { runId: envelope.run_id ?? "", callId, name, arguments: input, expiresAt, ...known });
    } else if (type === "tool_end") {
      this.#waiting.delete(callId);
      this.#going.delete(callId);
      this.#asked.delete(callId);
    } else if (type === "tool_call" || type === "tool_start" || type === "tool_approval_result") {
      this.#waiting.delete(callId);
      this.#going.add(callId);
    }
  }

  get waiting(): readonly Question[] {
    return [...this.#waiting.values()];
  }

  /** The tools without which the run cannot go on when it is answered. */
  get neededTools(): readonly string[] {
    return [...new Set(this.#asked.values())];
  }

  /** What waits when nothing happens any more until the user answers; nothing otherwise. */
  listBlocking(now: number): readonly Question[] {
    const { waiting } = this;
    const isBlocked = this.#going.size === 0 && waiting.every(({ expiresAt }) => (expiresAt ?? Infinity) > now);
    return isBlocked ? waiting : [];
  }
}
