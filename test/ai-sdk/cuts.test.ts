// The connection is cut after every chunk of a chat: clients that can resume end up with the messages of an uncut run,
// and the others report the cut.
import {
  type ChatTransport,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
} from "ai";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { CUT_SAMPLES, sampleCases } from "../sampling.ts";
import { startFaultProxy } from "../server/fault-proxy.ts";
import { createDefaultTransport, renderChat, startChatServer, TRANSPORTS, useDom } from "./chat-fixture.ts";

const CALL = { name: "remove", input: { path: "x" }, id: "t1" };

/** Reasoning, text, a tool call that needs an approval, and more text. */
const script = (request: { readonly prompt: readonly { readonly role: string }[] }) =>
  request.prompt.at(-1)?.role === "tool"
    ? { text: "It is removed, as you wanted." }
    : { reasoning: "A file to remove.", text: "Let me see. ", calls: [CALL] };

async function startFaultyServer() {
  let target = "";
  const proxy = await startFaultProxy(
    () => target,
    () => undefined,
  );
  const { api, server } = await startChatServer(script, { hosts: [`127.0.0.1:${proxy.port}`] });
  target = server.url;
  onTestFinished(() => proxy.close());
  return { proxy, api, faultyApi: `${proxy.url}/api/chat` };
}

/** Messages without their IDs, which differ in every chat, and the decision, which a replay for version 6 does not have. */
function describeMessages(messages: readonly UIMessage[]): string {
  const text = JSON.stringify(messages.map(({ id: _id, ...message }) => message)).replaceAll(',"approved":true', "");
  return text.replaceAll(/"(run|node|step|llm)-[\w-]+"/g, '"id"');
}

/** Sends a message, allows the call and returns the final messages. `canResume` says that the user resumes after an error. */
async function talk(chatId: string, transport: ChatTransport<UIMessage>, canResume = false) {
  const rendered = await renderChat({
    id: chatId,
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const { chat } = rendered;
  const findCall = () => chat().messages.at(-1)?.parts.find(isToolUIPart);
  /** Waits until the response has ended and the call has the state. The hook renders a moment after a promise is fulfilled. */
  const reach = (state: string): Promise<void> =>
    vi.waitFor(
      async () => {
        if (canResume && chat().status === "error") await chat().resumeStream();
        const { status, error, messages } = chat();
        if (status === "ready" && findCall()?.state === state) return;
        throw new Error(`the call is not ${state}: ${status}, ${String(error)}, ${JSON.stringify(messages)}`);
      },
      { timeout: 25_000 },
    );
  await chat().sendMessage({ text: "Remove x" });
  await reach("approval-requested");
  await chat().addToolApprovalResponse({ id: findCall()?.approval?.id ?? "", approved: true });
  await reach("output-available");
  const { messages } = chat();
  rendered.unmount();
  return messages;
}

beforeEach(() => {
  useDom();
  // A transport writes each cut to the console.
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  return () => void vi.restoreAllMocks();
});

const { DefaultChatTransport: _notExact, ...exact } = TRANSPORTS;

describe.each(sampleCases(Object.entries(exact)))("%s", (_name, createTransport) => {
  it("continues exactly after every cut", async () => {
    const { proxy, api, faultyApi } = await startFaultyServer();
    const whole = describeMessages(await talk("whole", createTransport(api)));
    for (let frames = 0, isCut = true; isCut; frames += CUT_SAMPLES.step) {
      proxy.setPlan((index) =>
        index === 0 ? { breach: { frames, how: frames % 2 === 0 ? "reset" : "end" } } : undefined,
      );
      const messages = await talk(`cut-${frames}`, createTransport(faultyApi));
      expect(describeMessages(messages), `cut after ${frames} frames`).toBe(whole);
      isCut = proxy.breaches > 0;
    }
  });
});

describe("DefaultChatTransport", () => {
  it("reports every cut, and has the whole message after it resumes", async () => {
    const { proxy, api, faultyApi } = await startFaultyServer();
    const whole = describeMessages(await talk("whole", createDefaultTransport(api)));
    for (let frames = 0, isCut = true; isCut; frames += CUT_SAMPLES.step) {
      proxy.setPlan((index) =>
        index === 0 ? { breach: { frames, how: frames % 2 === 0 ? "reset" : "end" } } : undefined,
      );
      const messages = await talk(`cut-${frames}`, createDefaultTransport(faultyApi), true);
      expect(describeMessages(messages), `cut after ${frames} frames`).toBe(whole);
      isCut = proxy.breaches > 0;
    }
  });
});
