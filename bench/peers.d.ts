/**
 * The parts of the peers' interfaces that the benchmarks use. The peers are installed only when a benchmark runs, so
 * types and lint are checked against these declarations, with or without the packages.
 */
declare module "lmdb" {
  interface Database {
    put(key: readonly [number, number], value: string): Promise<boolean>;
    getRange(range: {
      readonly start: readonly [number, number];
      readonly end: readonly [number, number];
    }): Iterable<{ readonly value: string }>;
    /** Resolves when everything written so far is on disk. */
    readonly flushed: Promise<boolean>;
    close(): Promise<void>;
  }
  export function open(options: { readonly path: string; readonly encoding: "string" }): Database;
}

declare module "better-sse" {
  import type { IncomingMessage, ServerResponse } from "node:http";
  interface EventBuffer {
    push(data: unknown, eventName: string, eventId: string): this;
  }
  interface Session {
    push(data: unknown): this;
    batch(buffer: EventBuffer): Promise<void>;
    on(event: "disconnected", listener: () => void): this;
  }
  export function createSession(request: IncomingMessage, response: ServerResponse): Promise<Session>;
  export function createEventBuffer(): EventBuffer;
}

declare module "pg-copy-streams" {
  import type { Writable } from "node:stream";
  import type { Submittable } from "pg";
  export function from(sql: string): Writable & Submittable;
}

declare module "@dbos-inc/dbos-sdk" {
  export const DBOS: {
    setConfig(config: {
      readonly name: string;
      readonly systemDatabaseUrl: string;
      readonly systemDatabasePoolSize: number;
      readonly logLevel: string;
    }): void;
    registerWorkflow<T>(workflow: (input: T) => Promise<void>, options: { readonly name: string }): typeof workflow;
    startWorkflow<T>(
      workflow: (input: T) => Promise<void>,
      options: { readonly workflowID: string },
    ): (input: T) => Promise<unknown>;
    runStep(step: () => Promise<void>, options: { readonly name: string }): Promise<void>;
    writeStream(key: string, value: string): Promise<void>;
    launch(): Promise<void>;
    shutdown(): Promise<void>;
  };
}

declare module "resumable-stream/redis" {
  interface ResumableStreamContext {
    createNewResumableStream(id: string, make: () => ReadableStream<string>): Promise<ReadableStream<string> | null>;
    resumeExistingStream(id: string, skip?: number): Promise<ReadableStream<string> | null | undefined>;
  }
  export function createResumableStreamContext(options: {
    readonly waitUntil: null;
    readonly subscriber: unknown;
    readonly publisher: unknown;
  }): ResumableStreamContext;
}

declare module "redis" {
  export function createClient(options: { readonly url: string }): { connect(): Promise<unknown> };
}

declare module "@assistant-ui/react" {
  import type { ComponentType, CSSProperties, ReactNode } from "react";
  interface ThreadMessage {
    readonly id: string;
    readonly role: "user" | "assistant";
    readonly content: string;
  }
  interface Runtime {
    readonly thread: object;
  }
  type Part<P = unknown> = ComponentType<P & { readonly children?: ReactNode }>;
  export function useExternalStoreRuntime(options: {
    readonly messages: readonly ThreadMessage[];
    readonly isRunning: boolean;
    readonly convertMessage: (message: ThreadMessage) => ThreadMessage;
    readonly onNew: () => Promise<void>;
  }): Runtime;
  export const AssistantRuntimeProvider: Part<{ readonly runtime: Runtime }>;
  export const ThreadPrimitive: {
    readonly Root: Part;
    readonly Viewport: Part<{ readonly style: CSSProperties }>;
    readonly Messages: ComponentType<{ readonly components: { readonly Message: ComponentType } }>;
  };
  export const MessagePrimitive: {
    readonly Root: Part<{ readonly className: string }>;
    readonly Parts: ComponentType<{ readonly components: { readonly Text: ComponentType } }>;
  };
}

declare module "@assistant-ui/react-markdown" {
  import type { ComponentType } from "react";
  export const MarkdownTextPrimitive: ComponentType<{ readonly smooth: boolean }>;
}

declare module "@assistant-ui/react-streamdown" {
  import type { ComponentType } from "react";
  export const StreamdownTextPrimitive: ComponentType<{ readonly smooth: boolean }>;
}
