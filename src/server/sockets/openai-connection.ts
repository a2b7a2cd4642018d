/**
 * The server side of the Responses API on a WebSocket, for one client. Each `response.create` is answered with the events
 * of its response. It is independent of the socket: pass incoming texts to `receive`.
 *
 * Messages with the same `stream_id` form a lane, those without one another. The responses of a lane come one after the
 * other; lanes are independent.
 *
 * Invariants:
 * - Every accepted message is answered: by a response up to its last event, by an `error`, or by the end of the
 *   connection.
 * - A client that disconnects cancels nothing, unless it asked for that. Messages that still wait in a lane are dropped.
 */
import { isLastResponseEvent } from "../../dialects/openai-responses/encode.ts";
import { isLoomError, type Json, type JsonObject, LoomError } from "../../protocol/index.ts";
import { isJsonObject, parseJson } from "../../protocol/json.ts";
import type { FrameBatch } from "../streams/frame-batch.ts";
import type { StreamReader } from "../streams/stream-reader.ts";
import { Backpressure, tooSlow } from "./backpressure.ts";
import { FrameGate } from "./frame-gate.ts";
import type { Peer, PeerClient } from "./peer.ts";

export interface OpenaiConnectionOptions extends PeerClient {
  /** Starts the response of a message and opens its events. Returns undefined if the signal was aborted. */
  readonly open: (message: JsonObject, signal: AbortSignal) => Promise<StreamReader | undefined>;
  /** Describes an error for the client. */
  readonly describe: (error: unknown) => JsonObject;
  /** The largest message from the client, in bytes. Code `body_too_large`. */
  readonly maxMessageBytes: number;
  /** Maximum lanes with a response or a message. Code `too_many_subscriptions`. */
  readonly maxLanes: number;
}

/** Maximum messages of a connection that wait in lanes. */
const MAX_WAITING = 100;
/** What the clients accept as the name of a lane. */
const LANE_NAME = /^[\w.-]{1,256}$/;

/** Messages of a lane that wait, with the one that is being answered. */
interface Lane {
  readonly name: string | undefined;
  readonly waiting: JsonObject[];
}

export class OpenaiConnection implements Peer {
  readonly #options: OpenaiConnectionOptions;
  readonly #gate: FrameGate;
  readonly #pressure: Backpressure;
  readonly #lanes = new Map<string | undefined, Lane>();
  readonly #closed = new AbortController();
  #waiting = 0;

  constructor(options: OpenaiConnectionOptions) {
    this.#options = options;
    this.#pressure = new Backpressure(options);
    this.#gate = new FrameGate(options.countRequest, options.maxMessageBytes);
  }

  /** Handles one message from the client. Ignored after the connection has closed. */
  receive(text: string): void {
    if (this.#closed.signal.aborted) return;
    this.#gate.pass(text.length, (refusal) => this.#handle(text, refusal));
  }

  #handle(text: string, refusal: unknown): void {
    if (this.#closed.signal.aborted) return;
    if (refusal !== undefined) {
      this.#refuse(undefined, refusal);
      return;
    }
    let lane: string | undefined;
    try {
      const message = this.#parse(text);
      lane = readLane(message);
      if (message["type"] === "response.steer") this.#refuseSteer(message);
      else if (message["type"] === "response.create") this.#enqueue(lane, message);
      else throw invalid("The type of a message must be `response.create`", "type");
    } catch (error) {
      this.#refuse(lane, error);
    }
  }

  receiveBinary(): void {
    this.#gate.follow(() => this.#refuse(undefined, invalid("A message must be text with a JSON object")));
  }

  /** Ends all streams. Call it when the client has disconnected. */
  close(): void {
    this.#closed.abort();
  }

  #parse(text: string): JsonObject {
    const { maxMessageBytes } = this.#options;
    if (Buffer.byteLength(text) > maxMessageBytes)
      throw new LoomError("body_too_large", `A message can have at most ${maxMessageBytes} bytes; use HTTP instead`, {
        max_bytes: maxMessageBytes,
      });
    const message = parseJson(text) as Json | undefined;
    if (!isJsonObject(message)) throw invalid("A message must be a JSON object");
    return message;
  }

  #enqueue(name: string | undefined, message: JsonObject): void {
    const lane = this.#lanes.get(name);
    if (lane !== undefined) {
      if (this.#waiting >= MAX_WAITING)
        throw new LoomError("backlog_full", `${MAX_WAITING} messages already wait on this connection`);
      this.#waiting++;
      lane.waiting.push(message);
      return;
    }
    const { maxLanes } = this.#options;
    if (this.#lanes.size >= maxLanes)
      throw new LoomError(
        "too_many_subscriptions",
        `Too many responses at once on this connection (limit ${maxLanes})`,
      );
    const opened: Lane = { name, waiting: [] };
    this.#lanes.set(name, opened);
    void this.#serve(opened, message);
  }

  /** Answers the messages of a lane until none waits. */
  async #serve(lane: Lane, first: JsonObject): Promise<void> {
    for (let message: JsonObject | undefined = first; message !== undefined; message = lane.waiting.shift()) {
      if (message !== first) this.#waiting--;
      if (this.#closed.signal.aborted) return;
      try {
        await this.#answer(lane, message);
      } catch (error) {
        // The client reconnects to the next server.
        if (isLoomError(error, "shutting_down")) this.#fail(error);
        else this.#refuse(lane.name, error);
      }
    }
    this.#lanes.delete(lane.name);
  }

  async #answer({ name }: Lane, message: JsonObject): Promise<void> {
    const { signal } = this.#closed;
    const reader = await this.#options.open(message, signal);
    if (reader === undefined || signal.aborted) {
      reader?.close();
      return;
    }
    let isWhole = false;
    const send = (batch: FrameBatch): void => {
      this.#sendBatch(batch, name);
      isWhole ||= batch.frames.some(({ text }) => isLastResponseEvent(text));
    };
    const end = await this.#pressure.forward(reader, send);
    if (end.reason === "error") throw end.error;
    // The whole connection is slow, not only this lane.
    if (end.reason === "slow") this.#fail(tooSlow());
    if (end.reason === "end" && !isWhole)
      throw new LoomError("run_ended", "The run ended without another response; retrieve the last one by its ID");
  }

  #sendBatch(batch: FrameBatch, name: string | undefined): void {
    const { send, sendBytes } = this.#options;
    if (name === undefined) sendBytes(batch.bytes("messages"));
    // The events of a lane have its name in addition.
    else for (const { text } of batch.frames) send(`${text.slice(0, -1)},"stream_id":${JSON.stringify(name)}}`);
  }

  /** An agent does not accept input in the middle of a run. */
  #refuseSteer({ input = null, previous_response_id = null }: JsonObject): void {
    const message = "Steering is not supported; send `response.create` with `previous_response_id`";
    const error = { type: "invalid_request_error", code: "steering_not_supported", message };
    const steer = { input, previous_response_id };
    this.#reply({ type: "response.steer.failed", sequence_number: 0, error, steer });
  }

  #refuse(lane: string | undefined, error: unknown): void {
    // The client has left, and so the message was given up.
    if (this.#closed.signal.aborted && !isLoomError(error)) return;
    this.#reply({
      type: "error",
      ...this.#options.describe(error),
      ...(lane === undefined ? {} : { stream_id: lane }),
    });
  }

  #reply(event: JsonObject): void {
    if (this.#closed.signal.aborted) return;
    if (this.#pressure.countReply()) this.#options.send(JSON.stringify(event));
    else this.#fail(tooSlow());
  }

  #fail(why: unknown): void {
    if (this.#closed.signal.aborted) return;
    this.close();
    this.#options.onClose(why);
  }
}

/** Throws `invalid_request`. */
function readLane({ stream_id: name }: JsonObject): string | undefined {
  if (name == null) return undefined;
  if (typeof name !== "string" || !LANE_NAME.test(name))
    throw invalid("`stream_id` can have at most 256 letters, digits, `_`, `.` and `-`", "stream_id");
  return name;
}

function invalid(message: string, path?: string): LoomError {
  return new LoomError("invalid_request", message, path === undefined ? {} : { path, in: "body" });
}
