/** For frontends of the AI SDK: the type of messages, and a transport for `useChat` that resumes after any cut. */
export { LoomChatTransport, type LoomChatTransportOptions } from "./loom-chat-transport.ts";
export type { LoomDataParts, LoomUIMessage } from "./loom-ui-message.ts";
