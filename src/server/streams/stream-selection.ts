/** Parses what a stream request selects, from a control frame or a URL, and opens that stream. */
import { DIALECT_NAMES, type DialectName, DIALECTS } from "../../dialects/index.ts";
import { isDialectName } from "../../dialects/dialect.ts";
import { assertCursorVersion, type Cursor, parseCursor } from "../../log/cursor.ts";
import { isIndependent } from "../../log/encode-page.ts";
import type { Log, StreamOptions } from "../../log/index.ts";
import { openStreamSteps, type StreamStartInfo, type StreamStep } from "../../log/stream.ts";
import { LoomError } from "../../protocol/index.ts";
import { readStreamModes } from "../../protocol/stream-modes.ts";

export interface StreamSelection {
  readonly dialect?: string | undefined;
  /** Names of stream modes. */
  readonly modes?: readonly string[] | undefined;
  /** Strict form of `loom` or `export`. Default: that of the server. */
  readonly strict?: boolean | undefined;
  /** Form for older clients of `ag-ui`. Default: false. */
  readonly legacy?: boolean | undefined;
  /** Major version of the AI SDK that reads `ai-sdk`. Default: 6. */
  readonly sdkVersion?: number | undefined;
  /** A cursor, or an event ID in digits. */
  readonly after?: string | undefined;
  readonly skip?: number | undefined;
  /** Any cursor of the expected session; rejects a session that was recreated. */
  readonly of?: string | undefined;
}

export interface OpenedStream extends StreamStartInfo {
  /** To be read once. */
  readonly steps: AsyncGenerator<StreamStep, void, undefined>;
  /** Must be called when the stream is no longer needed, even if it was never read. */
  close(): Promise<void>;
}

export function readStreamSelection(request: StreamSelection): StreamOptions {
  const { dialect = "loom", modes, strict, after, skip, of } = request;
  if (strict === true) assertStrict(readDialect(dialect));
  const selection: StreamOptions = {
    dialect: readDialect(dialect),
    modes: modes === undefined ? undefined : readStreamModes(modes),
    skip,
    sessionCursor: of === "" ? undefined : of,
  };
  if (after === undefined || after === "") return selection;
  if (!/^\d+$/.test(after)) return { ...selection, cursor: after };
  const id = Number(after);
  if (!Number.isSafeInteger(id))
    throw new LoomError("cursor_invalid", `Invalid cursor: event id ${after.slice(0, 40)} is too large`);
  return { ...selection, after: id };
}

/** Parses a cursor. Throws `cursor_stale` if the stream cannot continue there. */
export function readCursor(text: string, options: StreamOptions): Cursor {
  const { dialect, encoderOptions = {} } = options;
  const cursor = parseCursor(text);
  assertCursorVersion(cursor, options, isIndependent({ dialect: DIALECTS[dialect], encoderOptions }));
  return cursor;
}

/**
 * Opens the stream. Resolves when the position is valid, without waiting for new records. Rejects when the position or
 * the first frame is invalid, so that a client that resumes there gets the reason. Resolves to undefined when it was
 * aborted first.
 */
export async function openSelectedStream(
  log: Log,
  sessionId: string,
  options: StreamOptions,
): Promise<OpenedStream | undefined> {
  const { promise: resolved, resolve } = Promise.withResolvers<StreamStartInfo>();
  const rest = openStreamSteps(log, sessionId, { ...options, onStart: resolve });
  const first = rest.next();
  // Once the position is valid, this error surfaces when the first step is read.
  first.catch(() => undefined);
  const start = await Promise.race([resolved, first.then(() => undefined)]);
  if (start === undefined) return undefined;
  return {
    ...start,
    steps: prependStep(first, rest),
    close: async () => void (await rest.return().catch(() => undefined)),
  };
}

type StreamSteps = AsyncGenerator<StreamStep, void, undefined>;

async function* prependStep(first: ReturnType<StreamSteps["next"]>, rest: StreamSteps): StreamSteps {
  const { done, value } = await first;
  if (done === true) return;
  yield value;
  yield* rest;
}

function assertStrict(dialect: DialectName): void {
  if (DIALECTS[dialect].options.includes("strict")) return;
  const able = DIALECT_NAMES.filter((name) => DIALECTS[name].options.includes("strict")).join(" and ");
  throw new LoomError("invalid_request", `\`strict\` applies to the dialects ${able}, not to ${dialect}`, {
    path: "strict",
  });
}

function readDialect(name: string): DialectName {
  if (isDialectName(name)) return name;
  throw new LoomError("invalid_name", `Unknown dialect "${name.slice(0, 40)}"`);
}
