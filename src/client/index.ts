/**
 * Entry point of the client: receivers, connections and transports. Runs in browsers and Node.
 *
 * A receiver turns frames of any dialect into a view and reports whether everything was received. A connection keeps a
 * receiver up to date with a session on a server.
 */
export { connect, type Connection, type ConnectOptions } from "./connection.ts";
export { RECEIVER_LIMITS } from "./limits.ts";
export { MessageStreamHandler, type MessageStreamOptions, type SSEEvent } from "./message-stream-handler.ts";
export {
  createLoomReceiver,
  createReceiver,
  type ReadableStore,
  type Receiver,
  type ReceiverOptions,
} from "./receiver.ts";
export type { Source } from "./source.ts";
export { createFetchTransport, type FetchTransportOptions } from "./transport/fetch-transport.ts";
export { createPairTransport } from "./transport/pair-transport.ts";
export type { ClientToken } from "./transport/client-token.ts";
export { createWebSocketTransport, type WebSocketTransportOptions } from "./transport/web-socket-transport.ts";
export type { CommandResult, Transport } from "./transport.ts";
export type {
  DataBlock,
  GraphView,
  MessagePart,
  MessageState,
  Reference,
  SessionView,
  StreamState,
  StreamStatus,
  TodoList,
  ToolCall,
  TreeView,
  TurnView,
} from "./view.ts";
