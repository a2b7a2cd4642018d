/** Feeds events to a session fold with consecutive IDs and times, for tests of the view. */
import { RECEIVER_LIMITS, type ReceiverLimits } from "../src/client/limits.ts";
import type { MessageView, SessionView, ToolCall, TurnView } from "../src/client/view.ts";
import { SessionFold } from "../src/client/view/session-fold.ts";
import type { EventRecord, LoomEvent } from "../src/protocol/index.ts";

export interface PutOptions {
  readonly node?: string | undefined;
  /** `null`: the record has no run_id. */
  readonly run?: string | null;
  readonly sure?: boolean;
  /** `null`: the record has no time. */
  readonly ts?: number | null;
  readonly prev?: number;
}

export class ViewFeed {
  readonly fold: SessionFold;
  readonly records: EventRecord[] = [];
  #where: PutOptions = {};

  constructor(limits: Partial<ReceiverLimits> = {}, order: { readonly byTime?: boolean } = {}) {
    this.fold = new SessionFold("s", { ...RECEIVER_LIMITS, ...limits }, order);
  }

  /** Sets the defaults for the following events. */
  withDefaults(where: PutOptions): this {
    this.#where = where;
    return this;
  }

  put(event: LoomEvent | { readonly type: `x_${string}` }, where: PutOptions = {}): this {
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

  start(message?: string, where: PutOptions = {}): this {
    return this.put({ type: "run_start", ...(message === undefined ? {} : { message }) }, where);
  }

  enter(node: string, where: PutOptions = {}): this {
    return this.put({ type: "node_enter", id: node }, { node, ...where });
  }

  exit(node: string, where: PutOptions = {}): this {
    return this.put({ type: "node_exit", id: node, result: "Ok" }, { node, ...where });
  }

  writeText(content: string, node?: string, where: PutOptions = {}): this {
    return this.put({ type: "message_chunk", content, id: node ?? "agent" }, { node, ...where });
  }

  reply(reply: string, where: PutOptions = {}): this {
    return this.put({ type: "reply", reply }, where);
  }

  get view(): SessionView {
    return this.fold.snapshot();
  }

  /** The last turn. */
  get turn(): TurnView {
    const turn = this.view.turns.at(-1);
    if (turn === undefined) throw new Error("the view has no turn");
    return turn;
  }

  /** The assistant message of the last turn. */
  get message(): MessageView {
    return this.turn.messages.at(-1) as MessageView;
  }

  /** Type and text of each part of the last message; only the type for parts without text. */
  get outline(): string[] {
    return this.message.parts.map((part) => ("text" in part ? `${part.type}:${part.text}` : part.type));
  }

  get call(): ToolCall {
    const call = this.message.toolCalls.at(-1);
    if (call === undefined) throw new Error("the last message has no tool call");
    return call;
  }
}
