/**
 * The tool interface. A tool has typed arguments, says when the user must approve a call, and can stream output,
 * progress and content to show. It does not depend on agents, runs or the log.
 */
import type { Json, JsonObject } from "../protocol/index.ts";
import type {
  CustomEvent,
  DataEvent,
  ImageEvent,
  RetrievalCompleteEvent,
  TodoListEvent,
  TodoUpdateEvent,
} from "../protocol/events.generated.ts";
import type { LocalizedText } from "../protocol/schema.ts";

/** An event that a tool can show to users, in addition to its result for the model. */
export type ShownEvent =
  | DataEvent
  | ImageEvent
  | TodoListEvent
  | TodoUpdateEvent
  | RetrievalCompleteEvent
  | CustomEvent;

/** What `execute` receives besides the arguments. */
export interface ToolContext {
  readonly callId: string;
  readonly sessionId: string;
  readonly runId: string;
  /** Aborts when the run is cancelled or ends, and when the tool times out. */
  readonly signal: AbortSignal;
  /** Prints text. Like `report` and `show`, it has no effect once the call is over. */
  readonly print: (text: string) => void;
  /** Reports progress in percent, from 0 to 100. */
  readonly report: (progress: number, message?: string) => void;
  /** Shows content to users. Throws `invalid_event` or `event_too_large` if the event cannot be shown. */
  readonly show: (event: ShownEvent) => void;
  /** Resolves when the output is written and the log has room. Await it in tools that print a lot. */
  readonly ready: () => Promise<void>;
  /** Saves an image or file that is too large for an event, and returns its URL. Absent if there is no blob store. */
  readonly saveBlob?: ((bytes: Uint8Array, about: BlobDescription) => Promise<SavedBlob>) | undefined;
}

/** Describes a blob to save. */
export interface BlobDescription {
  readonly mediaType: string;
  readonly name?: string | undefined;
}

/** A saved blob. */
export interface SavedBlob {
  readonly blob_id: string;
  /** Use it as the `url` of an `image` event. */
  readonly url: string;
}

/** When the user must approve a call. A function that throws counts as true. */
export type ApprovalPolicy<Input> = "never" | "always" | ((input: Input) => boolean | Promise<boolean>);

/** Limits and behaviour of a tool. */
export interface ToolOptions {
  /**
   * Time limit from `tool_start` on, in milliseconds. Default: 300,000 (five minutes); one hour for a tool that the
   * client carries out. Code `tool_timeout`.
   */
  readonly timeoutMs?: number;
  /** Calls of this tool that can run at once in one toolbox. Default: unlimited. */
  readonly concurrency?: number;
  /** Whether a call can run again if its process died while it ran. Default: false. */
  readonly idempotent?: boolean;
  /** Time the user has to answer an approval request, in milliseconds. Default: one hour. Code `approval_expired`. */
  readonly approvalMs?: number;
  /** Maximum length of the result for the model, in characters; the rest is truncated. Default: 100,000. */
  readonly maxResultCharacters?: number;
  /** Maximum number of characters one call can print; the rest is truncated. Default: 1,048,576. */
  readonly maxPrintedCharacters?: number;
  /** Maximum number of events one call can emit. Default: 10,000. Further output is truncated. */
  readonly maxEvents?: number;
  /** Maximum size of one shown event, in bytes of JSON. Default: 524,288. Code `event_too_large`. */
  readonly maxShownBytes?: number;
}

/** A tool that an agent can call. Create one with `defineTool`, or get tools from `openMcpServers`. */
export interface Tool extends ToolOptions {
  /** 1 to 64 letters, digits, `_` and `-`. */
  readonly name: string;
  /**
   * Short text for users that says what the tool does. With `en` and `zh`, users see it in the language of their message.
   * Default: the first sentence of `description`.
   */
  readonly title?: string | LocalizedText;
  /**
   * Says what a call with these arguments will do, such as "Make a to-do list: Trip". Shown in place of `title`.
   * Undefined if the arguments say nothing.
   */
  summarize?(input: JsonObject): string | LocalizedText | undefined;
  /** Name of the MCP server that has the tool. Users see that its title and description are words of that server. */
  readonly server?: string;
  /** Tells the model what the tool does and when to use it. */
  readonly description: string;
  /** JSON Schema of the arguments, for the model. */
  readonly inputSchema: JsonObject;
  /**
   * `client` if a client carries out the calls: the run waits for the result that it sends, and `execute` is not called.
   * Default: the server carries them out.
   */
  readonly executor?: "client";
  /** Validates the arguments. A failure has a message that the model can act on. */
  validate(input: JsonObject): Promise<CheckedInput>;
  /** Returns whether the user must approve a call with this validated input. */
  needsApproval(input: unknown): boolean | Promise<boolean>;
  /**
   * Returns what a call with this validated input would change, as a unified diff, for the user who approves it.
   * Undefined if there is nothing to compare.
   */
  preview?(input: unknown, signal: AbortSignal): Promise<string | undefined>;
  /** Runs the tool with validated input. */
  execute(input: unknown, context: ToolContext): Promise<ToolCallResult>;
}

/** Result of validating arguments. */
export type CheckedInput =
  | {
      readonly ok: true;
      readonly value: unknown;
      /** Arguments to show to the user for approval. Default: those of the model. */
      readonly arguments?: JsonObject;
    }
  | { readonly ok: false; readonly message: string };

/** What a tool returns for one call. */
export interface ToolCallResult {
  /** Text for the model. */
  readonly text: string;
  /** The same as data, for programs. */
  readonly output?: Json;
  /** Says in a few words what the call has done, such as "Made a to-do list (5 items)". For users, not for the model. */
  readonly summary?: string | LocalizedText;
  /** Set if the tool worked but the outcome is an error. */
  readonly isError?: boolean;
}

/** A tool call requested by a model. */
export interface ToolCallRequest {
  readonly callId: string;
  readonly name: string;
  /** Undefined if the text of the model is not a JSON object. */
  readonly input: JsonObject | undefined;
  /** Arguments as the model wrote them. */
  readonly rawInput: string;
}

/** The outcome of a tool call, as in its `tool_end` event. */
export interface ToolOutcome {
  readonly callId: string;
  readonly name: string;
  readonly result: string;
  readonly isError: boolean;
  readonly output?: Json;
  readonly errorCode?: string;
}

/** Default limits of a tool call. */
export const DEFAULT_LIMITS = {
  timeoutMs: 5 * 60 * 1000,
  maxResultCharacters: 100_000,
  maxPrintedCharacters: 1024 * 1024,
  maxEvents: 10_000,
  maxShownBytes: 512 * 1024,
} as const;
