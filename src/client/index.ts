/**
 * Entry point of the client: receivers, connections and transports. Runs in browsers and Node.
 *
 * A receiver turns frames of any dialect into a view and reports whether everything was received. A connection keeps a
 * receiver up to date with a session on a server.
 */
export { connect, type Connection, type ConnectOptions } from "./connection.ts";
export { RECEIVER_LIMITS, type ReceiverLimits } from "./limits.ts";
export { MessageStreamHandler, type MessageStreamOptions, type SSEEvent } from "./message-stream-handler.ts";
export type { ChangeListener } from "./notifier.ts";
export {
  createLoomReceiver,
  createReceiver,
  type ReadableStore,
  type Receiver,
  type ReceiverOptions,
} from "./receiver.ts";
export type { Source, SourceOptions } from "./source.ts";
export { createFetchTransport, type FetchTransportOptions } from "./transport/fetch-transport.ts";
export { createPairTransport } from "./transport/pair-transport.ts";
export type { ClientToken } from "./transport/client-token.ts";
export { fetchFile, type FileRequestOptions, sendFile, type SendFileOptions } from "./transport/session-files.ts";
export { createWebSocketTransport, type WebSocketTransportOptions } from "./transport/web-socket-transport.ts";
export type {
  ClientCommand,
  CommandResult,
  FrameSink,
  StreamOutcome,
  StreamPosition,
  StreamRequest,
  Transport,
} from "./transport.ts";
export type {
  ApprovalView,
  BacktrackView,
  CheckpointView,
  CompressionView,
  DataBlock,
  DataPart,
  ErrorPart,
  FeedbackView,
  GraphExpansion,
  GraphNodeView,
  GraphView,
  ImagePart,
  IssueView,
  MessageMetadata,
  MessagePart,
  MessageState,
  MessageView,
  ModelCallView,
  NodeRunView,
  ReceiverView,
  Reference,
  ReferencesPart,
  SessionView,
  StreamReason,
  StreamState,
  StreamStatus,
  TextPart,
  ThinkingPart,
  ThoughtView,
  TodoItem,
  TodoList,
  TodoPart,
  ToolCall,
  ToolCallStatus,
  ToolPart,
  ToolResult,
  TreeView,
  TurnStatus,
  TurnView,
  UndetectableFault,
  UsageView,
} from "./view.ts";
