// assistant-ui for the cases that every client is tested with.
import type { UIMessage } from "ai";
import { expect, vi } from "vitest";
import { type Client, type ClientPage, WAIT } from "../clients/client-cases.ts";
import { type AssistantPage, openChat, settle, textOf } from "./assistant-ui-fixture.ts";

const locate = {
  type: "frontend" as const,
  description: "Returns the position.",
  parameters: { type: "object" as const, properties: {} },
  execute: () => "Oslo",
};

class AssistantUiPage implements ClientPage {
  readonly #api: string;
  readonly #chat: string;
  readonly #page: AssistantPage;

  constructor(api: string, chat: string, page: AssistantPage) {
    this.#api = api;
    this.#chat = chat;
    this.#page = page;
    page.runtime.registerModelContextProvider({ getModelContext: () => ({ tools: { locate } }) });
  }

  /** Opens the page as the guide shows it: it loads the messages first. */
  static async open(api: string, chat: string): Promise<AssistantUiPage> {
    const messages = (await (await fetch(`${api}/${chat}/messages`)).json()) as UIMessage[];
    return new AssistantUiPage(api, chat, await openChat(api, chat, messages));
  }

  async send(text: string, image?: string) {
    const file = { type: "image", image: image ?? "" } as const;
    const content = [{ type: "text", text } as const, ...(image === undefined ? [] : [file])];
    this.#page.thread.append({ role: "user", content });
    await vi.waitFor(() => {
      const { messages, isRunning } = this.#page.thread.getState();
      expect([messages.at(-1)?.role, isRunning]).toEqual(["assistant", false]);
    }, WAIT);
  }

  get #parts() {
    const { messages } = this.#page.thread.getState();
    const last = messages.at(-1);
    return last?.role === "assistant" ? last.content : [];
  }

  text = () => {
    const last = this.#page.thread.getState().messages.at(-1);
    return last?.role === "assistant" ? textOf(last) : "";
  };
  thoughts = () => this.#parts.map((part) => (part.type === "reasoning" ? part.text : "")).join("");
  results = () => JSON.stringify(this.#parts.flatMap((part) => (part.type === "tool-call" ? [part.result] : [])));
  #open = () =>
    this.#parts.flatMap((part) =>
      part.type === "tool-call" && part.approval !== undefined && part.approval.approved === undefined ? [part] : [],
    );
  asks = () => this.#open().map(({ toolName }) => toolName);

  async approve(approved: boolean) {
    const { thread } = this.#page;
    const message = thread.getMessageByIndex(thread.getState().messages.length - 1);
    for (const { toolCallId } of this.#open())
      await message.getMessagePartByToolCallId(toolCallId).respondToToolApproval({ approved });
  }

  /** The stop button only closes the connection: the next message cancels the run. */
  async stop() {
    this.#page.thread.cancelRun();
    await settle(this.#page.thread, "incomplete");
  }

  reload = () => AssistantUiPage.open(this.#api, this.#chat);

  close() {
    this.#page.close();
  }
}

export const ASSISTANT_UI: Client = {
  name: "assistant-ui",
  lacks: {},
  open: (origin) => AssistantUiPage.open(`${origin}/api/chat`, crypto.randomUUID()),
};
