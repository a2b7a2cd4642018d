/**
 * Reads a session as messages of the AI SDK: for each run the message of the user and the answer, as `useChat` has it
 * after the stream of that run. It is that of version 7, without the text of interrupted attempts: clients check chunks,
 * but no messages.
 *
 * The answer of a live run is left out, because a client that resumes the chat receives it from the start. If that run
 * waits for the user, its answer so far is included.
 */
import { createAiSdkEncoder } from "../../../dialects/ai-sdk/encode.ts";
import { type FoldedMessage, UiMessageFold } from "../../../dialects/ai-sdk/ui-message-fold.ts";
import type { Log } from "../../../log/index.ts";
import { readPages } from "../../../log/read-pages.ts";
import type { EventOf, JsonObject, StampedRecord } from "../../../protocol/index.ts";
import { isTerminal } from "../../../protocol/record.ts";
import { findSession } from "../../endpoints/find-session.ts";
import { isWaitingChunk } from "./send-slice.ts";

/** A run whose end was not read yet. */
interface OpenRun {
  readonly question: FoldedMessage;
  readonly answer: UiMessageFold;
  isOver: boolean;
  isWaiting: boolean;
}

/** Yields the messages in the order of their runs. `urlOf` returns the URL of a file of the session. */
export async function* listUiMessages(
  log: Log,
  session: string,
  urlOf: (blobId: string) => string,
): AsyncGenerator<FoldedMessage, void, undefined> {
  const info = await findSession(log, session);
  const encoder = createAiSdkEncoder({ version: 7 });
  const runs = new Map<string, OpenRun>();
  for await (const { records } of readPages(log, info, info.firstId - 1)) {
    for (const record of records) addRecord(record);
    for (const [id, run] of runs) {
      // A run that started later waits for its turn.
      if (!run.isOver) break;
      runs.delete(id);
      yield* [run.question, run.answer.finish()];
    }
  }
  for (const { question, answer, isOver, isWaiting } of runs.values()) {
    yield question;
    if (isOver || isWaiting) yield answer.finish();
  }

  function addRecord(record: StampedRecord): void {
    const { envelope, event } = record;
    const id = envelope.run_id ?? "";
    if (event.type === "run_start") {
      const question = describeQuestion(id, event as EventOf<"run_start">, urlOf);
      runs.set(id, { question, answer: new UiMessageFold(), isOver: false, isWaiting: false });
    }
    const texts = encoder.encode(record);
    const run = runs.get(id);
    if (run === undefined) return;
    for (const text of texts) {
      run.isWaiting = isWaitingChunk(text);
      run.answer.add(JSON.parse(text) as JsonObject);
    }
    run.isOver ||= isTerminal(event);
  }
}

function describeQuestion(
  run: string,
  { message = "", attachments = [], request_id }: EventOf<"run_start">,
  urlOf: (blobId: string) => string,
): FoldedMessage {
  const files = attachments.map(({ blob_id, media_type, name }) => ({
    type: "file",
    mediaType: media_type,
    url: urlOf(blob_id),
    ...(name === undefined ? {} : { filename: name }),
  }));
  const text = message === "" ? [] : [{ type: "text", text: message }];
  return { id: request_id ?? `${run}-question`, role: "user", parts: [...files, ...text] };
}

/** Writes the messages as a JSON array, one by one. */
export function writeUiMessages(messages: AsyncGenerator<FoldedMessage, void, undefined>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let separator = "[";
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await messages.next();
      controller.enqueue(
        encoder.encode(done === true ? (separator === "[" ? "[]" : "]") : separator + JSON.stringify(value)),
      );
      separator = ",";
      if (done === true) controller.close();
    },
    async cancel() {
      await messages.return();
    },
  });
}
