/**
 * The contract of a tool: what an agent can do. A tool is typed by a Standard Schema, says when the user must agree, and
 * may stream what it prints, how far it is, and things to show. It knows no agent, no run and no log.
 */
import type {
  CustomEvent,
  DataEvent,
  ImageEvent,
  Json,
  JsonObject,
  RetrievalCompleteEvent,
  TodoListEvent,
  TodoUpdateEvent,
} from "../protocol/index.ts";

/** Something for people to look at, beside the result the model is told. */
export type ShownEvent =
  | DataEvent
  | ImageEvent
  | TodoListEvent
  | TodoUpdateEvent
  | RetrievalCompleteEvent
  | CustomEvent;

export interface ToolContext {
  readonly callId: string;
  readonly sessionId: string;
  readonly runId: string;
  /** Aborted when the run is cancelled or ends before the call does, and when the tool has run out of time. */
  readonly signal: AbortSignal;
  /** What the tool prints; any number of times. Once the call is over, this and the two below do nothing. */
  readonly print: (text: string) => void;
  /** From 0 to 100. */
  readonly report: (progress: number, message?: string) => void;
  /** Throws `invalid_event` or `event_too_large` for what cannot be shown. */
  readonly show: (event: ShownEvent) => void;
  /** Resolves when all of that is on its way and the log has room: for tools that print a lot. */
  readonly ready: () => Promise<void>;
  /** Keeps an image or a file that is too large for an event, and gives its address; undefined where nobody keeps any. */
  readonly saveBlob?: ((bytes: Uint8Array, about: SavedAs) => Promise<SavedFile>) | undefined;
}

export interface SavedAs {
  readonly mediaType: string;
  readonly name?: string | undefined;
}

export interface SavedFile {
  readonly blob_id: string;
  /** For an event: `image` with this `url`. */
  readonly url: string;
}

/** When the user must agree before the tool runs. A function that throws means yes. */
export type ApprovalPolicy<Input> = "never" | "always" | ((input: Input) => boolean | Promise<boolean>);

export interface ToolOptions {
  /** From `tool_start` on; five minutes when absent. Code `tool_timeout`. */
  readonly timeoutMs?: number;
  /** Calls of this tool at once, in one toolbox; any number when absent. */
  readonly concurrency?: number;
  /** May be run again although it had started when its process died. */
  readonly idempotent?: boolean;
  /** How long the user has to answer. Code `approval_expired`. */
  readonly approvalMs?: number;
  /** Characters of the result that the model is told; the rest is cut, and said so. 100,000 when absent. */
  readonly maxResultCharacters?: number;
  /** Characters one call may print; the rest is cut, and said so. 1,048,576 when absent. */
  readonly maxPrintedCharacters?: number;
  /** How often one call may print, report or show; 10,000 when absent. What it prints beyond that is cut, and said so. */
  readonly maxEvents?: number;
  /** Bytes of one thing that is shown, as JSON; 524,288 when absent. Code `event_too_large`. */
  readonly maxShownBytes?: number;
}

/** A tool as agents hold it; made by `defineTool`, or by an MCP server. */
export interface Tool extends ToolOptions {
  readonly name: string;
  /** For people: what it does, in a few words. Where it is absent, they see the first sentence of the description. */
  readonly title?: string;
  readonly description: string;
  /** JSON Schema of the arguments, for the model. */
  readonly inputSchema: JsonObject;
  /** The arguments as the tool wants them, or what is wrong with them, in words the model can act on. */
  validate(input: JsonObject): Promise<CheckedInput>;
  needsApproval(input: unknown): boolean | Promise<boolean>;
  execute(input: unknown, context: ToolContext): Promise<ToolResult>;
}

export type CheckedInput =
  | {
      readonly ok: true;
      readonly value: unknown;
      /** What the user is asked about; as the model wrote it when absent. */
      readonly arguments?: JsonObject;
    }
  | { readonly ok: false; readonly message: string };

export interface ToolResult {
  /** What the model is told. */
  readonly text: string;
  /** The same as data, for programs. */
  readonly output?: Json;
  /** The tool worked, and what it has to say is bad news. */
  readonly isError?: boolean;
}

/** A call the model has made. */
export interface ToolCall {
  readonly callId: string;
  readonly name: string;
  /** Undefined where the model's text was not a JSON object. */
  readonly input: JsonObject | undefined;
  readonly rawInput: string;
}

/** What became of a call: as its `tool_end` says it. */
export interface ToolOutcome {
  readonly callId: string;
  readonly name: string;
  readonly result: string;
  readonly isError: boolean;
  readonly output?: Json;
  readonly errorCode?: string;
}
