/** Tracks the calls of the live run that wait for approval, from the records of the session. */
import type { EventOf, EventRecord, JsonObject } from "../../protocol/index.ts";

export interface WaitingCall {
  readonly runId: string;
  readonly callId: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** Milliseconds since 1970. */
  readonly expiresAt: number | undefined;
  /** Digest of the call, which the decision must repeat. */
  readonly digest?: string | undefined;
}

export class PendingApprovals {
  readonly #waiting = new Map<string, WaitingCall>();
  /** Calls that run or are about to run. */
  readonly #running = new Set<string>();
  /** Tools of unfinished calls that asked for approval, decided or not. */
  readonly #askedTools = new Map<string, string>();
  /** Tools that the client carries out. */
  #clientTools: ReadonlySet<string> = new Set();

  add({ envelope, event }: EventRecord): void {
    const { type } = event;
    if (type === "run_start" || type === "run_end") {
      this.#waiting.clear();
      this.#running.clear();
      this.#askedTools.clear();
      const { client_tools: tools = [] } = event as Partial<EventOf<"run_start">>;
      this.#clientTools = new Set(tools.map(({ name }) => name));
      return;
    }
    const { call_id: callId } = event as { readonly call_id?: string };
    if (callId === undefined) return;
    if (type === "tool_approval") {
      const { name, arguments: input, expires_at: expiresAt, digest } = event as EventOf<"tool_approval">;
      this.#running.delete(callId);
      this.#askedTools.set(callId, name);
      const known = digest === undefined ? {} : { digest };
      this.#waiting.set(callId, { runId: envelope.run_id ?? "", callId, name, arguments: input, expiresAt, ...known });
    } else if (type === "tool_end") {
      this.#waiting.delete(callId);
      this.#running.delete(callId);
      this.#askedTools.delete(callId);
    } else if (type === "tool_call" || type === "tool_start" || type === "tool_approval_result") {
      this.#waiting.delete(callId);
      this.#running.add(callId);
    }
  }

  get waiting(): readonly WaitingCall[] {
    return [...this.#waiting.values()];
  }

  /** Tools of the agent that the run needs in order to continue after a decision. */
  get neededTools(): readonly string[] {
    return [...new Set(this.#askedTools.values())].filter((name) => !this.#clientTools.has(name));
  }

  /** Returns the waiting calls if the run cannot continue without a decision, otherwise none. */
  listBlocking(now: number): readonly WaitingCall[] {
    const { waiting } = this;
    const isBlocked = this.#running.size === 0 && waiting.every(({ expiresAt }) => (expiresAt ?? Infinity) > now);
    return isBlocked ? waiting : [];
  }
}
