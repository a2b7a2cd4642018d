/** The receiver: frames of any dialect in, a view out that says how far it can be vouched for. Runs in a browser. */
export { connect, type Connection, type ConnectOptions } from "./connection.ts";
export { RECEIVER_LIMITS, type ReceiverLimits } from "./limits.ts";
export { MessageStreamHandler, type MessageStreamOptions, type SSEEvent } from "./message-stream-handler.ts";
export type { Listener, NotifyMode } from "./notifier.ts";
export {
  createLoomReceiver,
  createReceiver,
  type Decoders,
  type Receiver,
  type ReceiverOptions,
  type Store,
} from "./receiver.ts";
export type { Source, SourceOptions } from "./source.ts";
export type { Track } from "./track.ts";
export { createFetchTransport, type FetchTransportOptions } from "./transport/fetch-transport.ts";
export { type ConnectPair, createPairTransport } from "./transport/pair-transport.ts";
export type { Token } from "./transport/token.ts";
export { createWebSocketTransport, type WebSocketTransportOptions } from "./transport/web-socket-transport.ts";
export type {
  ClientCommand,
  CommandOutcome,
  FrameSink,
  Place,
  StreamOutcome,
  StreamRequest,
  Transport,
} from "./transport.ts";
export type {
  ApprovalView,
  BacktrackView,
  Blindness,
  CheckpointView,
  CompressionView,
  DataBlock,
  DataPart,
  ErrorPart,
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
  RunStatus,
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
  TurnView,
  UsageView,
} from "./view.ts";
