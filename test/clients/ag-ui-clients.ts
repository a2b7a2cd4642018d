// The clients of AG-UI and TanStack AI for the cases that every client is tested with.
import type { HttpAgent, Message, RunAgentInput } from "@ag-ui/client";
import { toolDefinition } from "@tanstack/ai";
import { ChatClient, fetchHttpStream, fetchServerSentEvents } from "@tanstack/ai-client";
import { vi } from "vitest";
import { VERSIONS } from "./ag-ui-fixture.ts";
import { type Client, type ClientPage, WAIT } from "./client-cases.ts";

const LOCATE_SCHEMA = { type: "object", properties: {} } as const;
const TOOLS = [{ name: "locate", description: "Returns the position.", parameters: LOCATE_SCHEMA }];

/** Base64 of a data URL. */
const dataOf = (url: string): string => url.slice(url.indexOf(",") + 1);

function afterLastUser<T extends { readonly role: string }>(messages: readonly T[]): readonly T[] {
  return messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1);
}

class AgUiPage implements ClientPage {
  readonly #create: (messages: Message[]) => HttpAgent;
  readonly #agent: HttpAgent;
  #runId: string;

  constructor(create: (messages: Message[]) => HttpAgent, messages: Message[] = [], runId = "") {
    this.#create = create;
    this.#agent = create(messages);
    this.#runId = runId;
  }

  send(text: string, image?: string) {
    // Version 0.0.59 has another form, which 1.0 accepts as well.
    const file = { type: "binary", mimeType: "image/png", data: dataOf(image ?? "") };
    const content = image === undefined ? text : [{ type: "text", text }, file];
    this.#agent.addMessage({ id: crypto.randomUUID(), role: "user", content } as Message);
    return this.#run({});
  }

  async #run(more: Partial<Pick<RunAgentInput, "resume">>, runId: string = crypto.randomUUID()): Promise<void> {
    this.#runId = runId;
    await this.#agent.runAgent({ runId, tools: TOOLS, ...more });
    const { messages } = this.#agent;
    const calls = messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
    const open = calls.filter(
      ({ id, function: { name } }) =>
        name === "locate" && !messages.some((message) => message.role === "tool" && message.toolCallId === id),
    );
    if (open.length === 0) return;
    for (const { id } of open)
      this.#agent.addMessage({ id: `own-${id}`, role: "tool", toolCallId: id, content: "Oslo" });
    await this.#run({});
  }

  #join(role: string): string {
    const messages = afterLastUser(this.#agent.messages).filter((message) => message.role === role);
    return messages.map(({ content }) => (typeof content === "string" ? content : "")).join("");
  }

  text = () => this.#join("assistant");
  thoughts = () => this.#join("reasoning");
  results = () => this.#join("tool");
  asks = () => this.#agent.pendingInterrupts.map(({ metadata }) => String(metadata?.["toolName"]));

  approve(approved: boolean) {
    const payload = { approved };
    const resume = this.#agent.pendingInterrupts.map(({ id }) => ({
      interruptId: id,
      status: "resolved" as const,
      payload,
    }));
    return this.#run({ resume });
  }

  stop() {
    this.#agent.abortRun();
  }

  /** Repeats the request with the same run ID. */
  async reload() {
    const page = new AgUiPage(this.#create, structuredClone(this.#agent.messages), this.#runId);
    page.#run({}, this.#runId).catch(() => undefined);
    return page;
  }

  close() {
    this.#agent.abortRun();
  }
}

class TanStackPage implements ClientPage {
  readonly #client: ChatClient;
  readonly #reload: () => TanStackPage;

  constructor(createConnection: () => ReturnType<typeof fetchServerSentEvents>, threadId: string, isLoaded = false) {
    const locate = toolDefinition({ name: "locate", description: "Finds the user", inputSchema: LOCATE_SCHEMA });
    const tools = [locate.client(() => "Oslo")];
    this.#client = new ChatClient({ connection: createConnection(), threadId, tools, persistence: isLoaded });
    if (isLoaded) this.#client.attach();
    this.#reload = () => new TanStackPage(createConnection, threadId, true);
  }

  async send(text: string, image?: string) {
    const source = { type: "data", value: dataOf(image ?? ""), mimeType: "image/png" } as const;
    const parts = [{ type: "text", content: text } as const, { type: "image", source } as const];
    await this.#client.sendMessage(image === undefined ? text : { content: parts });
  }

  #parts() {
    return afterLastUser(this.#client.getMessages()).flatMap(({ parts }) => parts);
  }

  text = () =>
    this.#parts()
      .map((part) => (part.type === "text" ? part.content : ""))
      .join("");
  thoughts = () =>
    this.#parts()
      .map((part) => (part.type === "thinking" ? part.content : ""))
      .join("");
  results = () => JSON.stringify(this.#parts().filter(({ type }) => type === "tool-result"));
  asks = () => {
    const open = new Set(this.#client.getInterrupts().map(({ id }) => id));
    return this.#parts().flatMap((part) => (part.type === "tool-call" && open.has(part.id) ? [part.name] : []));
  };

  async approve(approved: boolean) {
    for (const { id } of this.#client.getInterrupts()) await this.#client.addToolApprovalResponse({ id, approved });
  }

  stop() {
    this.#client.stop();
  }

  async reload() {
    const page = this.#reload();
    await vi.waitFor(() => {
      if (page.#client.getMessages().length === 0) throw new Error("The thread was not loaded yet");
    }, WAIT);
    return page;
  }

  close() {
    this.#client.dispose();
  }
}

export const AG_UI_CLIENTS: readonly Client[] = VERSIONS.map(([version, Agent]) => ({
  name: `AG-UI ${version}`,
  lacks: {},
  async open(origin) {
    const threadId = crypto.randomUUID();
    return new AgUiPage((initialMessages) => new Agent({ url: `${origin}/ag-ui`, threadId, initialMessages }));
  },
}));

export const TANSTACK_CLIENTS: readonly Client[] = [
  {
    name: "TanStack AI",
    lacks: {},
    async open(origin) {
      return new TanStackPage(() => fetchServerSentEvents(`${origin}/ag-ui`), crypto.randomUUID());
    },
  },
  {
    name: "TanStack AI with NDJSON",
    lacks: {},
    async open(origin) {
      return new TanStackPage(() => fetchHttpStream(`${origin}/ag-ui?framing=ndjson`), crypto.randomUUID());
    },
  },
];
