// The `openai` package with both of its APIs, and OpenAI Agents JS on both, for the cases that every client is tested with.
import {
  Agent,
  type AgentInputItem,
  type AgentOutputType,
  hostedMcpTool,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  run,
  RunState,
  setTracingDisabled,
  type StreamedRunResult,
  tool,
} from "@openai/agents";
import OpenAI from "openai";
import type { Response, ResponseInputItem, ResponseStreamEvent } from "openai/resources/responses/responses";
import { z } from "zod";
import { expect, vi } from "vitest";
import { type Client, type ClientPage, WAIT } from "./client-cases.ts";

setTracingDisabled(true);

const LOCATE = { name: "locate", description: "Finds the user", parameters: { type: "object", properties: {} } };

/** A client, and a function that cancels the run of its last request, which the headers of the response name. */
function connect(origin: string, nextKey: () => string = () => crypto.randomUUID()) {
  let path = "";
  const client = new OpenAI({
    baseURL: `${origin}/openai/v1`,
    apiKey: "any",
    maxRetries: 0,
    dangerouslyAllowBrowser: true,
    fetch: async (url, init) => {
      const headers = new Headers(init?.headers);
      headers.set("idempotency-key", nextKey());
      const response = await fetch(url, { ...init, headers });
      path = `/v1/sessions/${response.headers.get("loom-session")}/runs/${response.headers.get("loom-run")}`;
      return response;
    },
  });
  return { client, cancel: () => fetch(`${origin}${path}/cancel`, { method: "POST" }) };
}

/** A program that follows its responses by their IDs. */
class ResponsesPage implements ClientPage {
  readonly #client: OpenAI;
  /** The last response, and those of the same answer before it. */
  #responses: Response[] = [];
  #deltas = "";
  #abort = new AbortController();

  constructor(client: OpenAI) {
    this.#client = client;
  }

  get #last(): Response | undefined {
    return this.#responses.at(-1);
  }

  async send(text: string, image?: string) {
    const file = { type: "input_image", image_url: image ?? "", detail: "auto" } as const;
    const content = [{ type: "input_text", text } as const, ...(image === undefined ? [] : [file])];
    const previous = this.#last?.id;
    this.#responses = [];
    await this.#create([{ role: "user", content }], previous);
  }

  async #create(input: ResponseInputItem[], previous: string | undefined): Promise<void> {
    const tools = [{ type: "function" as const, strict: false, ...LOCATE }];
    const more = previous === undefined ? {} : { previous_response_id: previous };
    const request = { model: "main", input, tools, stream: true as const, ...more };
    this.#abort = new AbortController();
    await this.#follow(await this.#client.responses.create(request, { signal: this.#abort.signal }));
    const outputs = (this.#last?.output ?? []).flatMap((item) =>
      item.type === "function_call"
        ? [{ type: "function_call_output" as const, call_id: item.call_id, output: "Oslo" }]
        : [],
    );
    if (outputs.length > 0) await this.#create(outputs, this.#last?.id);
  }

  async #follow(stream: AsyncIterable<ResponseStreamEvent>): Promise<void> {
    this.#deltas = "";
    for await (const event of stream) {
      if (event.type === "response.created") this.#responses.push(event.response);
      if (event.type === "response.output_text.delta") this.#deltas += event.delta;
      if (event.type !== "response.completed") continue;
      this.#responses[this.#responses.length - 1] = event.response;
      this.#deltas = "";
    }
  }

  #collect(read: (item: Response["output"][number]) => string): string {
    return this.#responses.flatMap(({ output }) => output.map(read)).join("");
  }

  text = () => {
    const readText = (item: Response["output"][number]): string =>
      item.type === "message"
        ? item.content.map((part) => (part.type === "output_text" ? part.text : "")).join("")
        : "";
    return this.#collect(readText) + this.#deltas;
  };
  thoughts = () =>
    this.#collect((item) => (item.type === "reasoning" ? item.summary.map(({ text }) => text).join("") : ""));
  results = () => this.#collect((item) => (item.type === "mcp_call" ? JSON.stringify(item.output) : ""));
  #requests = () => (this.#last?.output ?? []).filter((item) => item.type === "mcp_approval_request");
  asks = () => this.#requests().map(({ name }) => name);

  approve(approve: boolean) {
    const input = this.#requests().map(({ id }) => ({
      type: "mcp_approval_response" as const,
      approval_request_id: id,
      approve,
    }));
    return this.#create(input, this.#last?.id);
  }

  async stop() {
    this.close();
    await this.#client.responses.cancel(this.#last?.id ?? "");
  }

  /** Reads the response by its ID. */
  async reload() {
    await vi.waitFor(() => expect(this.#last).toBeDefined(), WAIT);
    const page = new ResponsesPage(this.#client);
    page.#responses = this.#responses.slice(0, -1);
    const id = this.#last?.id ?? "";
    page.#follow(await this.#client.responses.retrieve(id, { stream: true })).catch(() => undefined);
    return page;
  }

  close() {
    this.#abort.abort();
  }
}

/** A chat interface: it keeps the conversation itself, and cancels the run that it stops. */
class ChatPage implements ClientPage {
  readonly #origin: string;
  readonly #connected: ReturnType<typeof connect>;
  readonly #messages: OpenAI.ChatCompletionMessageParam[];
  #key = "";
  #text = "";
  #thoughts = "";
  #results = "";
  #abort = new AbortController();

  constructor(origin: string, messages: readonly OpenAI.ChatCompletionMessageParam[] = []) {
    this.#origin = origin;
    this.#messages = [...messages];
    this.#connected = connect(origin, () => this.#key);
  }

  async send(text: string, image?: string) {
    const file = { type: "image_url", image_url: { url: image ?? "" } } as const;
    this.#messages.push({
      role: "user",
      content: image === undefined ? text : [{ type: "text", text }, file],
    });
    await this.#ask(crypto.randomUUID());
  }

  async #ask(key: string): Promise<void> {
    this.#key = key;
    [this.#text, this.#thoughts, this.#results] = ["", "", ""];
    this.#abort = new AbortController();
    const stream = this.#connected.client.chat.completions.stream(
      { model: "main", messages: this.#messages, tools: [{ type: "function", function: LOCATE }] },
      { signal: this.#abort.signal },
    );
    stream.on("chunk", (chunk) => {
      const { choices, loom } = chunk as typeof chunk & { readonly loom?: { readonly type: string } };
      const { content, reasoning_content = "" } = (choices[0]?.delta ?? {}) as {
        readonly content?: string | null;
        readonly reasoning_content?: string;
      };
      this.#text += content ?? "";
      this.#thoughts += reasoning_content;
      if (loom?.type === "tool_end") this.#results += JSON.stringify(loom);
    });
    try {
      this.#messages.push(await stream.finalMessage());
    } catch (error) {
      // The interface keeps what the user has seen.
      this.#messages.push({ role: "assistant", content: this.#text });
      throw error;
    }
    const calls = (await stream.finalMessage()).tool_calls ?? [];
    for (const { id } of calls) this.#messages.push({ role: "tool", tool_call_id: id, content: "Oslo" });
    if (calls.length > 0) await this.#ask(crypto.randomUUID());
  }

  text = () => this.#text;
  thoughts = () => this.#thoughts;
  results = () => this.#results;
  asks = () => [];
  approve = () => Promise.reject(new Error("The API has no approvals"));

  async stop() {
    this.close();
    await this.#connected.cancel();
  }

  /** Repeats the request with its key. */
  async reload() {
    const end = this.#messages.findLastIndex(({ role }) => role === "user") + 1;
    const page = new ChatPage(this.#origin, this.#messages.slice(0, end));
    page.#ask(this.#key).catch(() => undefined);
    return page;
  }

  close() {
    this.#abort.abort();
  }
}

type State = RunState<unknown, Agent<unknown, AgentOutputType>>;
type AgentsModel = typeof OpenAIResponsesModel | typeof OpenAIChatCompletionsModel;

/** A program with OpenAI Agents JS. Each request has a key, so that a run that is started again repeats its answers. */
class AgentsPage implements ClientPage {
  readonly #origin: string;
  readonly #Model: AgentsModel;
  readonly #connected: ReturnType<typeof connect>;
  readonly #agent: Agent;
  #input: AgentInputItem[] = [];
  /** The state that the last run started from, if it continued one that waited. */
  #state: string | undefined;
  #key = "";
  #requests = 0;
  #result: StreamedRunResult<unknown, Agent<unknown, AgentOutputType>> | undefined;
  /** Text of the answer before the last run started, and since then. */
  #before = "";
  #text = "";
  #abort = new AbortController();

  constructor(origin: string, Model: AgentsModel) {
    this.#origin = origin;
    this.#Model = Model;
    this.#connected = connect(origin, () => `${this.#key}-${this.#requests++}`);
    const locate = tool({ ...LOCATE, parameters: z.object({}), execute: () => "Oslo" });
    const loom = hostedMcpTool({ serverLabel: "loom", requireApproval: "always" });
    const tools = Model === OpenAIResponsesModel ? [locate, loom] : [locate];
    this.#agent = new Agent({ name: "outer", model: new Model(this.#connected.client, "main"), tools: tools as never });
  }

  async send(text: string, image?: string) {
    const content = [{ type: "input_text", text } as const, { type: "input_image", image: image ?? "" } as const];
    this.#input = [
      ...(this.#result?.history ?? this.#input),
      { role: "user", content: image === undefined ? text : content },
    ];
    this.#state = undefined;
    this.#before = "";
    this.#key = crypto.randomUUID();
    await this.#start(this.#input);
  }

  async #start(input: AgentInputItem[] | State): Promise<void> {
    this.#requests = 0;
    this.#text = "";
    this.#abort = new AbortController();
    const result = await run(this.#agent, input as never, { stream: true, signal: this.#abort.signal });
    this.#result = result as never;
    for await (const text of result.toTextStream()) this.#text += text;
    // It stays pending after an abort.
    if (result.cancelled) return;
    await result.completed;
    // The items have the last attempt of an answer that was interrupted, and the stream has all.
    this.#before = "";
    this.#text = result.newItems.map((item) => (item.type === "message_output_item" ? item.content : "")).join("");
  }

  #items = () => this.#result?.newItems ?? [];
  text = () => this.#before + this.#text;
  thoughts = () =>
    this.#items()
      .map((item) => (item.type === "reasoning_item" ? item.rawItem.content.map(({ text }) => text).join("") : ""))
      .join("");
  results = () => JSON.stringify(this.#items().filter(({ type }) => type === "tool_call_item"));
  asks = () => (this.#result?.interruptions ?? []).map(({ name }) => name ?? "");

  async approve(approved: boolean) {
    const state = this.#result?.state as State;
    for (const call of state.getInterruptions())
      if (approved) state.approve(call);
      else state.reject(call);
    this.#state = String(state);
    this.#before = this.text();
    this.#key = crypto.randomUUID();
    await this.#start(state);
  }

  async stop() {
    this.close();
    await this.#connected.cancel();
  }

  /** Continues a run that waits from its saved state, and starts any other run again with its keys. */
  async reload() {
    const page = new AgentsPage(this.#origin, this.#Model);
    const isWaiting = this.asks().length > 0;
    const saved = isWaiting ? String(this.#result?.state) : this.#state;
    const state = saved === undefined ? undefined : ((await RunState.fromString(page.#agent, saved)) as State);
    page.#state = this.#state;
    page.#before = isWaiting ? this.text() : this.#before;
    if (isWaiting) {
      page.#result = { state, interruptions: state?.getInterruptions(), newItems: [] } as never;
      return page;
    }
    page.#key = this.#key;
    page.#start(state ?? this.#input).catch(() => undefined);
    return page;
  }

  close() {
    this.#abort.abort();
  }
}

export const OPENAI_CLIENTS: readonly Client[] = [
  {
    name: "openai, Responses",
    refusesLateAnswers: true,
    lacks: {},
    async open(origin) {
      return new ResponsesPage(connect(origin).client);
    },
  },
  {
    name: "openai, Chat Completions",
    keepsCutText: true,
    lacks: { "an approval": "the API has none" },
    async open(origin) {
      return new ChatPage(origin);
    },
  },
  {
    name: "@openai/agents, Responses",
    refusesLateAnswers: true,
    lacks: {},
    async open(origin) {
      return new AgentsPage(origin, OpenAIResponsesModel);
    },
  },
  {
    name: "@openai/agents, Chat Completions",
    keepsCutText: true,
    lacks: {
      "an approval": "the API has none",
      thinking: "it reads the field `reasoning`, and not `reasoning_content`",
      "a tool": "calls are in the field `loom`, which it does not show",
    },
    async open(origin) {
      return new AgentsPage(origin, OpenAIChatCompletionsModel);
    },
  },
];
