// Clients of several versions of the AI SDK: what `useChat` is built on, without React, and their transports.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { WorkflowChatTransport } from "@ai-sdk/workflow/client";
import type * as sdkTypes from "ai";
import type { ChatTransport, UIMessage } from "ai";
import { LoomChatTransport } from "../../src/ai-sdk/index.ts";

/** The newest version declares the types of all; they are used alike. */
export type Sdk = typeof sdkTypes;
type ChatInit = ConstructorParameters<Sdk["AbstractChat"]>[0];
export type SdkChat = InstanceType<Sdk["AbstractChat"]>;

export interface SdkClient {
  readonly name: string;
  readonly sdk: Sdk;
  readonly createTransport: (api: string) => ChatTransport<UIMessage>;
  /** Whether it can answer approvals. */
  readonly hasApprovals: boolean;
  /**
   * How a page that stays open continues after the server was killed. It `replays` the message, which replaces what it
   * shows, or takes back what is repeated; or it `appends` what is repeated; or `fails`, and must be reloaded.
   */
  readonly openPage: "replays" | "appends" | "fails";
}

interface Release {
  readonly version: string;
  readonly sdk: Sdk;
}

const own = createRequire(import.meta.url);
/** Finds the release that `@ai-sdk/workflow` requires exactly; npm installs it there. */
const ofWorkflow = createRequire(own.resolve("@ai-sdk/workflow/client"));

function describeRelease(sdk: unknown, name: string, from = own): Release {
  const { version } = from(`${name}/package.json`) as { readonly version: string };
  return { version, sdk: sdk as Sdk };
}

const newest = describeRelease(await import("ai"), "ai");
const five = describeRelease(await import("ai-5"), "ai-5");
const six = describeRelease(await import("ai-6"), "ai-6");
const old = describeRelease(await import(pathToFileURL(ofWorkflow.resolve("ai")).href), "ai", ofWorkflow);

/** The packages that read a stream of each version, and the names of their releases. */
export const SDKS_OF: { readonly [version: number]: readonly Release[] } = {
  5: [five],
  6: [six, old, newest],
  7: [old, newest],
};

const USUAL = { hasApprovals: true, openPage: "replays" } as const;

/** A client with the transport of its version, and with a query if it needs one. */
function withDefault({ version, sdk }: Release, query = ""): SdkClient {
  const createTransport = (api: string) => new sdk.DefaultChatTransport({ api: api + query });
  return { ...USUAL, name: version + query, sdk, createTransport };
}

/** It builds the URL of a reconnection itself, so only the request with the message can have a query. */
function withWorkflow(query = ""): Omit<SdkClient, "openPage"> {
  const createTransport = (api: string): unknown =>
    new WorkflowChatTransport({
      api,
      prepareSendMessagesRequest: ({ api: url, messages, body }) => ({ api: url + query, body: { ...body, messages } }),
    });
  return {
    ...USUAL,
    name: `WorkflowChatTransport${query} with ${old.version}`,
    sdk: old.sdk,
    createTransport: createTransport as SdkClient["createTransport"],
  };
}

/** Each release as the guide configures it. */
export const SDK_RELEASES: readonly SdkClient[] = [
  { ...withDefault(five, "?version=5"), hasApprovals: false, openPage: "fails" },
  withDefault(six),
  withDefault(old),
  withDefault(newest),
];

export const WORKFLOW_CLIENT: SdkClient = { ...withWorkflow(), openPage: "appends" };

export const SDK_CLIENTS: readonly SdkClient[] = [
  ...SDK_RELEASES,
  withDefault(old, "?version=7"),
  withDefault(newest, "?version=7"),
  WORKFLOW_CLIENT,
  { ...withWorkflow("?version=7"), openPage: "replays" },
  ...[old, newest].map(({ version, sdk }) => ({
    ...USUAL,
    name: `LoomChatTransport with ${version}`,
    sdk,
    createTransport: (api: string) => new LoomChatTransport<UIMessage>({ api }),
  })),
];

/** A chat that keeps its messages as the hooks do. `errors` are those that it reported. */
export function openSdkChat(
  { sdk }: SdkClient,
  { messages, ...options }: Omit<ChatInit, "state"> & { readonly messages: UIMessage[] },
): { readonly chat: SdkChat; readonly errors: readonly Error[] } {
  const errors: Error[] = [];
  const state: ChatInit["state"] = {
    status: "ready",
    error: undefined,
    messages: [...messages],
    pushMessage: (message) => void (state.messages = [...state.messages, message]),
    popMessage: () => void (state.messages = state.messages.slice(0, -1)),
    replaceMessage: (index, message) => void (state.messages = state.messages.with(index, structuredClone(message))),
    snapshot: structuredClone,
  };
  class Chat extends sdk.AbstractChat<UIMessage> {}
  const chat: SdkChat = new Chat({ ...options, state, onError: (error) => void errors.push(error) });
  return { chat, errors };
}
