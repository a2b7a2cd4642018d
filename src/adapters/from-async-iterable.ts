/** A source from a hand-written loop: pieces of text, events of this protocol, or both. */
import { assertIterable, type ForeignSource, type SourceContext, type SourceItem } from "./source.ts";

/** What to record: an iterable, or a function that creates one and receives the signal of the run. */
export type IterableSource =
  | AsyncIterable<SourceItem>
  | Iterable<SourceItem>
  | ((context: SourceContext) => AsyncIterable<SourceItem> | Iterable<SourceItem>);

/**
 * Creates a source from an iterable of text and events.
 *
 * ```ts
 * const run = await record(log, { sessionId: "chat-7", message }, fromAsyncIterable(async function* ({ signal }) {
 *   for await (const { text } of myModel(message, { signal })) yield text;
 * }));
 * ```
 */
export function fromAsyncIterable(items: IterableSource, framework = "custom"): ForeignSource {
  return {
    framework,
    async *start(context) {
      const opened: unknown = typeof items === "function" ? items(context) : items;
      assertIterable(opened);
      yield* opened;
    },
  };
}
