/**
 * A transport for `useChat` that survives any cut of the connection: it remembers the cursor of the last chunk and
 * continues exactly after it, so the chat receives each chunk once.
 *
 * It imports nothing of the AI SDK at run time.
 */
import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import { createSseDecoder } from "../framing/index.ts";
import { pauseFor } from "../protocol/pause-for.ts";
import type { LoomUIMessage } from "./loom-ui-message.ts";

/** Options of `LoomChatTransport`. */
export interface LoomChatTransportOptions {
  /** URL of the chat endpoint. Default: `/api/chat`. */
  readonly api?: string;
  /** Name of the agent. Default: the default agent of the server. */
  readonly agent?: string;
  /** Headers of every request, or a function that returns them. */
  readonly headers?: ChatHeaders | (() => ChatHeaders | Promise<ChatHeaders>);
  /** Credentials mode of every request. */
  readonly credentials?: RequestCredentials;
  /** Additional fields of the body. */
  readonly body?: object;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
  /**
   * True: aborting a request also cancels the run. `useChat` aborts when the user stops the answer, and also when the
   * component is removed. Default: false; call `stop` to cancel the run.
   */
  readonly cancelsOnAbort?: boolean;
  /** Attempts in a row to continue a stream before it fails. Default: 8, which takes about half a minute. */
  readonly maxAttempts?: number;
}

type ChatHeaders = { readonly [name: string]: string };
type SendMessagesOptions<M extends UIMessage> = Parameters<ChatTransport<M>["sendMessages"]>[0];
type ReconnectToStreamOptions<M extends UIMessage> = Parameters<ChatTransport<M>["reconnectToStream"]>[0];

/** The options of a request that `useChat` passes on. */
interface ChatCallOptions {
  readonly headers?: { readonly [name: string]: string } | Headers;
  readonly abortSignal?: AbortSignal | undefined;
}

const FIRST_DELAY_MS = 200;
const MAX_DELAY_MS = 8000;
const STREAM_ID = "x-workflow-run-id";

/** What is known about a response: where to continue, and after which chunk. */
interface ChatPosition {
  readonly url: string;
  cursor: string | undefined;
}

/**
 * Connects `useChat` of the AI SDK to a Loom server.
 *
 * ```tsx
 * const chat = useChat<LoomUIMessage>({ id, resume: true, transport: new LoomChatTransport() });
 * ```
 */
export class LoomChatTransport<M extends UIMessage = LoomUIMessage> implements ChatTransport<M> {
  /** A resumed stream starts with the whole message. */
  readonly resumeStreamIsReplay = true;
  readonly #options: LoomChatTransportOptions;

  constructor(options: LoomChatTransportOptions = {}) {
    this.#options = options;
  }

  /** Sends the messages and returns the chunks of the answer. Rejects if the server refuses the request. */
  async sendMessages(options: SendMessagesOptions<M>): Promise<ReadableStream<UIMessageChunk>> {
    const { chatId, messages, trigger, messageId, abortSignal } = options;
    const { agent, body, cancelsOnAbort = false } = this.#options;
    const sent = { ...(agent === undefined ? {} : { agent }), ...body, ...options.body };
    // A new message has an ID. A repeated request to answer one again is recognized only by this key.
    const key = trigger === "regenerate-message" ? { "idempotency-key": crypto.randomUUID() } : {};
    const request = {
      method: "POST",
      headers: { "content-type": "application/json", ...key },
      body: JSON.stringify({ ...sent, id: chatId, messages, trigger, messageId }),
    };
    const response = await this.#fetchPatiently(this.#url(""), request, options);
    if (cancelsOnAbort) abortSignal?.addEventListener("abort", () => void this.stop(chatId).catch(() => undefined));
    return this.#read(response, options);
  }

  /** Returns the whole answer of the latest run, live or ended; null if the chat has none. */
  async reconnectToStream(options: ReconnectToStreamOptions<M>): Promise<ReadableStream<UIMessageChunk> | null> {
    const response = await this.#fetchPatiently(
      this.#url(`/${encodeURIComponent(options.chatId)}/stream`),
      {},
      options,
    );
    return response.status === 204 ? null : this.#read(response, options);
  }

  /** Cancels the live run of the chat. Rejects if the server refuses it. */
  async stop(chatId: string): Promise<void> {
    await this.#fetch(this.#url(`/${encodeURIComponent(chatId)}/stop`), { method: "POST" }, {});
  }

  /** Returns the messages of the chat, for the option `messages` of `useChat`. */
  async loadMessages(chatId: string): Promise<M[]> {
    const response = await this.#fetch(this.#url(`/${encodeURIComponent(chatId)}/messages`), {}, {});
    return (await response.json()) as M[];
  }

  /**
   * The URL of the endpoint with a path before its query. Chunks are not checked here, so an old version of the AI SDK
   * ignores those that only the newest one knows.
   */
  #url(path: string): string {
    const { api = "/api/chat" } = this.#options;
    const [, base = api, , query, hash = ""] = /^([^?#]*)(\?([^#]*))?(.*)$/s.exec(api) ?? [];
    const all = new URLSearchParams(query);
    if (!all.has("version")) all.set("version", "7");
    return `${base.replace(/\/$/, "")}${path}?${all.toString()}${hash}`;
  }

  /** Throws a `RequestRefusal` if the response is not a success. */
  async #fetch(url: string, init: RequestInit, { headers, abortSignal }: ChatCallOptions): Promise<Response> {
    const { headers: given, credentials, fetch: request = globalThis.fetch } = this.#options;
    const own = typeof given === "function" ? await given() : given;
    const response = await request(url, {
      ...init,
      headers: {
        ...Object.fromEntries(new Headers(init.headers)),
        ...own,
        ...Object.fromEntries(new Headers(headers)),
      },
      ...(credentials === undefined ? {} : { credentials }),
      ...(abortSignal === undefined ? {} : { signal: abortSignal }),
    });
    if (!response.ok) throw await RequestRefusal.read(response);
    return response;
  }

  /** Repeats a request that did not reach the server, or that the server could not handle for now. */
  async #fetchPatiently(url: string, init: RequestInit, options: ChatCallOptions): Promise<Response> {
    const { maxAttempts = 8 } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#fetch(url, init, options);
      } catch (error) {
        const isFinal = error instanceof RequestRefusal && !error.isTemporary;
        if (isFinal || options.abortSignal?.aborted === true || attempt >= maxAttempts) throw error;
        await pause(attempt, options.abortSignal);
      }
    }
  }

  #read(response: Response, options: ChatCallOptions): ReadableStream<UIMessageChunk> {
    const id = response.headers.get(STREAM_ID) ?? "";
    const position = { url: this.#url(`/${encodeURIComponent(id)}/stream`), cursor: undefined };
    const stop = new AbortController();
    const abortSignal = AbortSignal.any([
      stop.signal,
      ...(options.abortSignal === undefined ? [] : [options.abortSignal]),
    ]);
    const chunks = this.#follow(response, position, { ...options, abortSignal });
    return new ReadableStream<UIMessageChunk>({
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        stop.abort();
        await chunks.return();
      },
    });
  }

  /** Yields the chunks up to `finish`, over as many connections as it takes. */
  async *#follow(
    first: Response,
    position: ChatPosition,
    options: ChatCallOptions,
  ): AsyncGenerator<UIMessageChunk, void, undefined> {
    const { maxAttempts = 8 } = this.#options;
    let response: Response | undefined = first;
    for (let attempt = 1; ; attempt++) {
      try {
        if (response !== undefined)
          for await (const chunk of readChunks(response, position)) {
            attempt = 0;
            yield chunk;
            if (chunk.type === "finish") return;
          }
      } catch (error) {
        if (options.abortSignal?.aborted === true) throw error;
      }
      // `useChat` takes a TypeError about the network for a lost connection, which it can resume later.
      if (attempt >= maxAttempts) throw new TypeError("The network connection to the chat was lost");
      await pause(attempt, options.abortSignal);
      const headers = position.cursor === undefined ? {} : { "last-event-id": position.cursor };
      response = await this.#fetch(position.url, { headers }, options).catch((error: unknown) => {
        const isFinal = error instanceof RequestRefusal && !error.isTemporary;
        if (isFinal || options.abortSignal?.aborted === true) throw error;
        return undefined;
      });
      // Nothing follows the last chunk.
      if (response?.status === 204) return;
    }
  }
}

/** Yields the chunks of one response, and remembers the cursor of each before it is used. */
async function* readChunks(response: Response, position: ChatPosition): AsyncGenerator<UIMessageChunk> {
  const decoder = createSseDecoder();
  const reader = response.body?.getReader();
  try {
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done || value === undefined) return;
      for (const frame of decoder.push(value)) {
        if (!frame.ok) throw new Error("The stream has a frame that cannot be read");
        position.cursor = frame.id ?? position.cursor;
        yield JSON.parse(frame.text) as UIMessageChunk;
      }
    }
  } finally {
    void reader?.cancel().catch(() => undefined);
  }
}

/** A response with an error status. */
class RequestRefusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }

  /** Whether the same request may succeed later. */
  get isTemporary(): boolean {
    return this.status >= 500 || this.status === 429 || this.status === 408;
  }

  static async read(response: Response): Promise<RequestRefusal> {
    const type = response.headers.get("content-type") ?? "";
    const text = await response.text().catch(() => "");
    const said = type.startsWith("text/plain") ? text : type.includes("json") ? readDetail(text) : "";
    return new RequestRefusal(response.status, said === "" ? `The server answered ${response.status}` : said);
  }
}

/** The sentence of a problem document, which the server sends if the headers accept JSON. */
function readDetail(text: string): string {
  try {
    const { detail } = JSON.parse(text) as { readonly detail?: unknown };
    return typeof detail === "string" ? detail : "";
  } catch {
    return "";
  }
}

/** Waits longer with each attempt; rejects when aborted. */
async function pause(attempt: number, signal: AbortSignal | undefined): Promise<void> {
  const delay = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);
  await pauseFor(delay, signal);
  signal?.throwIfAborted();
}
