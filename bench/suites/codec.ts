/**
 * Encoding and decoding. Encoding goes the way of a server: stored records, `openStream`, one SSE text per batch, bytes.
 * Decoding goes the way of a client: bytes, SSE frames, validated records. The limits know nothing of the frames: they
 * write and read them with JSON. The encoders of peers write frames that are ready; ours derives them from records.
 */
import { Ajv2020 } from "ajv/dist/2020.js";
import type { UIMessageChunk } from "ai";
import { DIALECT_NAMES, type DialectName, DIALECTS } from "../../src/dialects/index.ts";
import { createSseDecoder } from "../../src/framing/index.ts";
import { MemoryLog, openStream, type StreamFrame, type StreamOptions } from "../../src/log/index.ts";
import { findLoomEventFault } from "../../src/protocol/events.generated.ts";
import { FrameBatch } from "../../src/server/streams/frame-batch.ts";
import type { Benchmark, Contestants, Prepare, Row } from "../benchmark.ts";
import { createRealisticRecords, SESSION, storeRecords } from "../realistic-records.ts";

const RECORDS = 15_000;
/** Size of the pieces in which bytes arrive. */
const PIECE = 64 * 1024;
const utf8 = new TextEncoder();

interface Form extends Pick<StreamOptions, "modes" | "encoderOptions"> {
  readonly dialect: DialectName;
}

async function storeRuns(count: number): Promise<MemoryLog> {
  const log = new MemoryLog();
  await storeRecords(log, SESSION, createRealisticRecords(count).slice(0, count));
  return log;
}

async function readFrames(form: Form, count: number): Promise<StreamFrame[]> {
  const frames: StreamFrame[] = [];
  for await (const batch of openStream(await storeRuns(count), SESSION, form)) frames.push(...batch);
  return frames;
}

/** Throws if the work was not done. */
function expectCount(count: number, expected: number): void {
  if (count !== expected) throw new Error(`${count} frames instead of ${expected}`);
}

const encode =
  (form: Form): Prepare =>
  async (count) => {
    const log = await storeRuns(count);
    const expected = (await readFrames(form, count)).length;
    return async () => {
      let frames = 0;
      for await (const batch of openStream(log, SESSION, form)) {
        const bytes = new FrameBatch({ session: SESSION, dialect: form.dialect }, batch, false).bytes("sse");
        if (bytes.length > batch.length * 10) frames += batch.length;
      }
      expectCount(frames, expected);
    };
  };

function streamOf<T>(items: readonly T[]): ReadableStream<T> {
  const left = items.values();
  return new ReadableStream<T>({
    pull(controller) {
      const { done, value } = left.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  });
}

/** Frames as objects, without the marker `[DONE]`, and their cursors. */
async function parseFrames(form: Form, count: number): Promise<{ readonly id: string; readonly frame: object }[]> {
  const frames = await readFrames(form, count);
  return frames.flatMap(({ text, cursor }) =>
    text.startsWith("{") ? [{ id: cursor, frame: JSON.parse(text) as object }] : [],
  );
}

const stringify =
  (form: Form): Prepare =>
  async (count) => {
    const frames = await parseFrames(form, count);
    return () => {
      let bytes = 0;
      for (const { id, frame } of frames)
        bytes += utf8.encode(`${id === "" ? "" : `id: ${id}\n`}data: ${JSON.stringify(frame)}\n\n`).length;
      if (bytes < frames.length * 10) throw new Error(`only ${bytes} bytes`);
    };
  };

const encodeAsAiSdk: Prepare = async (count) => {
  const { createUIMessageStreamResponse } = await import("ai");
  const chunks = (await parseFrames({ dialect: "ai-sdk" }, count)).map(({ frame }) => frame as UIMessageChunk);
  return async () => {
    let bytes = 0;
    const { body } = createUIMessageStreamResponse({ stream: streamOf(chunks) });
    for await (const piece of body as ReadableStream<Uint8Array>) bytes += piece.length;
    if (bytes < chunks.length * 10) throw new Error(`only ${bytes} bytes`);
  };
};

const encodeAsAgUi: Prepare = async (count) => {
  const { EventEncoder } = await import("@ag-ui/encoder");
  const events = (await parseFrames({ dialect: "ag-ui" }, count)).map(({ frame }) => frame as { readonly type: never });
  return () => {
    const encoder = new EventEncoder();
    let bytes = 0;
    for (const event of events) bytes += utf8.encode(encoder.encodeSSE(event)).length;
    if (bytes < events.length * 10) throw new Error(`only ${bytes} bytes`);
  };
};

interface Body {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly frames: number;
  /** A response with the bytes, in pieces. */
  readonly respond: () => Response;
}

async function createBody(dialect: DialectName, count: number): Promise<Body> {
  const frames = await readFrames({ dialect }, count);
  const bytes = Uint8Array.from(new FrameBatch({ session: SESSION, dialect }, frames, false).bytes("sse"));
  const pieces = Array.from({ length: Math.ceil(bytes.length / PIECE) }, (_, i) =>
    bytes.subarray(i * PIECE, (i + 1) * PIECE),
  );
  const headers = { "content-type": "text/event-stream" };
  return { bytes, frames: frames.length, respond: () => new Response(streamOf(pieces), { headers }) };
}

const decode =
  (dialect: DialectName): Prepare =>
  async (count) => {
    const { bytes, frames } = await createBody(dialect, count);
    return () => {
      const framing = createSseDecoder();
      const decoder = DIALECTS[dialect].createDecoder();
      let [read, records] = [0, 0];
      const take = (outcomes: ReturnType<typeof framing.push>): void => {
        for (const outcome of outcomes) {
          if (!outcome.ok) throw new Error(outcome.detail);
          const decoded = decoder.decode(outcome.text);
          if (decoded.issues.some(({ level }) => level === "error")) throw new Error(JSON.stringify(decoded.issues));
          records += decoded.records.length;
          read++;
        }
      };
      for (let at = 0; at < bytes.length; at += PIECE) take(framing.push(bytes.subarray(at, at + PIECE)));
      take(framing.end());
      expectCount(read, frames);
      if (records < frames / 10) throw new Error(`only ${records} records of ${frames} frames`);
    };
  };

const parse =
  (dialect: DialectName): Prepare =>
  async (count) => {
    const { bytes, frames } = await createBody(dialect, count);
    return () => {
      let read = 0;
      for (const part of new TextDecoder().decode(bytes).split("\n\n")) {
        const data = part.slice(part.indexOf("data: ") + 6);
        if (data === "" || data === "[DONE]" || typeof JSON.parse(data) === "object") read++;
      }
      // The part after the last frame is empty.
      expectCount(read, frames + 1);
    };
  };

const decodeAsAiSdk: Prepare = async (count) => {
  const { parseJsonEventStream, uiMessageChunkSchema } = await import("ai");
  const { frames, respond } = await createBody("ai-sdk", count);
  return async () => {
    let read = 0;
    const stream = respond().body as ReadableStream<Uint8Array<ArrayBuffer>>;
    for await (const result of parseJsonEventStream({ stream, schema: uiMessageChunkSchema })) {
      if (!result.success) throw result.error;
      read++;
    }
    if (read < frames * 0.9) throw new Error(`only ${read} of ${frames} frames`);
  };
};

const decodeAsAgUi: Prepare = async (count) => {
  const { enforceEvents, runHttpRequest, transformHttpEventStream } = await import("@ag-ui/client");
  const { frames, respond } = await createBody("ag-ui", count);
  return async () => {
    let read = 0;
    await new Promise<void>((complete, error) =>
      enforceEvents()(transformHttpEventStream(runHttpRequest(async () => respond()))).subscribe({
        next: () => read++,
        complete,
        error,
      }),
    );
    expectCount(read, frames);
  };
};

const decodeAsOpenai: Prepare = async (count) => {
  const { Stream } = await import("openai/core/streaming");
  const { frames, respond } = await createBody("openai-chat", count);
  return async () => {
    let read = 0;
    for await (const chunk of Stream.fromSSEResponse<object>(respond(), new AbortController()))
      if ("object" in chunk) read++;
    if (read < frames * 0.9) throw new Error(`only ${read} of ${frames} frames`);
  };
};

/** The schemas have no text for `reply`, which has another form on the wire. */
const createEvents = (count: number) =>
  createRealisticRecords(count)
    .map(({ event }) => event)
    .filter(({ type }) => type !== "reply")
    .slice(0, count);

const validate: Prepare = (count) => {
  const events = createEvents(count);
  return () => {
    for (const event of events) {
      const fault = findLoomEventFault(event);
      if (fault !== undefined) throw new Error(fault.message);
    }
  };
};

/** Compiled from the published schemas, and chosen by type. */
const validateWithAjv: Prepare = async (count) => {
  const events = createEvents(count);
  const ajv = new Ajv2020({ strict: false });
  const { dialectSchemas } = await import("../../src/dialects/schemas.ts");
  const validators = new Map(
    Object.entries(dialectSchemas(DIALECTS.loom)).map(([type, schema]) => [type, ajv.compile(schema)]),
  );
  return () => {
    for (const event of events)
      if (validators.get(event.type)?.(event) !== true) throw new Error(`Ajv rejects ${event.type}`);
  };
};

const ENCODERS: { readonly [N in DialectName]?: Contestants } = {
  "ai-sdk": { "AI SDK 7 createUIMessageStreamResponse": encodeAsAiSdk },
  "ag-ui": { "@ag-ui/encoder 1": encodeAsAgUi },
};
const DECODERS: { readonly [N in DialectName]?: Contestants } = {
  "ai-sdk": { "AI SDK 7 parseJsonEventStream": decodeAsAiSdk },
  "ag-ui": { "@ag-ui/client 1": decodeAsAgUi },
  "openai-chat": { "openai 7 Stream, not validated": decodeAsOpenai },
};
/** The dialects of clients that most users have. */
const QUICK_DIALECTS: readonly DialectName[] = ["loom", "ai-sdk", "ag-ui", "openai-responses"];
const common = { unit: "record", sizes: [RECORDS] };
const encodeRow = (what: string, form: Form): Row => {
  const limits = { "JSON.stringify + TextEncoder": stringify(form) };
  const isSlow = what !== `encode ${form.dialect}` || !QUICK_DIALECTS.includes(form.dialect);
  return { ...common, what, ours: encode(form), peers: ENCODERS[form.dialect] ?? {}, limits, isSlow };
};

export const benchmark: Benchmark = {
  about: "CPU time of encoding stored records to SSE bytes, and of decoding them with validation",
  rows: [
    ...DIALECT_NAMES.map((dialect) => encodeRow(`encode ${dialect}`, { dialect })),
    encodeRow("encode loom with graph states", { dialect: "loom", modes: "all" }),
    encodeRow("encode loom in strict form", { dialect: "loom", encoderOptions: { strict: true } }),
    ...DIALECT_NAMES.map((dialect) => ({
      ...common,
      what: `decode ${dialect}`,
      ours: decode(dialect),
      peers: DECODERS[dialect] ?? {},
      limits: { "split + JSON.parse": parse(dialect) },
      isSlow: !QUICK_DIALECTS.includes(dialect) && DECODERS[dialect] === undefined,
    })),
    { ...common, what: "validate events", ours: validate, peers: { "Ajv 8, compiled": validateWithAjv } },
  ],
};
