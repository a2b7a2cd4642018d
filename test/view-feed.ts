/** Feeds a session's fold with events, numbered and timed as a stream has them, for tests of the view. */
import { RECEIVER_LIMITS, type ReceiverLimits } from "../src/client/limits.ts";
import type { MessageView, SessionView, ToolCall, TurnView } from "../src/client/view.ts";
import { SessionFold } from "../src/client/view/session-fold.ts";
import type { EventRecord, LoomEvent } from "../src/protocol/index.ts";

export interface Where {
  readonly node?: string | undefined;
  /** `null`: the record carries no run_id. */
  readonly run?: string | null;
  readonly sure?: boolean;
  /** `null`: the record carries no time. */
  readonly ts?: number | null;
  readonly prev?: number;
}

export class ViewFeed {
  readonly fold: SessionFold;
  readonly records: EventRecord[] = [];
  #where: Where = {};

  constructor(limits: Partial<ReceiverLimits> = {}, order: { readonly byTime?: boolean } = {}) {
    this.fold = new SessionFold("s", { ...RECEIVER_LIMITS, ...limits }, order);
  }

  /** From here on. */
  in(where: Where): this {
    this.#where = where;
    return this;
  }

  put(event: LoomEvent | { readonly type: `x_${string}` }, where: Where = {}): this {
    const { node, run = "r", sure = true, ts, prev } = { ...this.#where, ...where };
    const event_id = this.records.length + 1;
    const time = ts === undefined ? event_id * 10 : ts;
    const record: EventRecord = {
      envelope: {
        session_id: "s",
        ...(run === null ? {} : { run_id: run }),
        ...(node === undefined ? {} : { node_id: node }),
        event_id,
        ...(time === null ? {} : { ts: time }),
        ...(prev === undefined ? {} : { prev_event_id: prev }),
      },
      event,
    };
    this.records.push(record);
    this.fold.apply(record, sure);
    return this;
  }

  start(message?: string, where: Where = {}): this {
    return this.put({ type: "run_start", ...(message === undefined ? {} : { message }) }, where);
  }

  enter(node: string, where: Where = {}): this {
    return this.put({ type: "node_enter", id: node }, { node, ...where });
  }

  exit(node: string, where: Where = {}): this {
    return this.put({ type: "node_exit", id: node, result: "Ok" }, { node, ...where });
  }

  say(content: string, node?: string, where: Where = {}): this {
    return this.put({ type: "message_chunk", content, id: node ?? "agent" }, { node, ...where });
  }

  reply(reply: string, where: Where = {}): this {
    return this.put({ type: "reply", reply }, where);
  }

  get view(): SessionView {
    return this.fold.snapshot();
  }

  /** The last turn. */
  get turn(): TurnView {
    const turn = this.view.turns.at(-1);
    if (turn === undefined) throw new Error("there is no turn");
    return turn;
  }

  /** The assistant's message of the last turn. */
  get message(): MessageView {
    return this.turn.messages.at(-1) as MessageView;
  }

  /** The texts of the last message's text and thinking parts; of other parts, what they are. */
  get outline(): string[] {
    return this.message.parts.map((part) => ("text" in part ? `${part.type}:${part.text}` : part.type));
  }

  get call(): ToolCall {
    const call = this.message.toolCalls.at(-1);
    if (call === undefined) throw new Error("there is no call");
    return call;
  }
}
