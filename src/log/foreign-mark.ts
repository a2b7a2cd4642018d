/**
 * Marks a run that another program executes and streams in: an `ext` field on the run's first record. Recovery does not
 * continue such a run when its sender is gone.
 */
import type { JsonObject } from "../protocol/index.ts";
import type { Envelope } from "../protocol/events.generated.ts";

const MARK = "ingest";

export function isForeign({ ext }: Pick<Envelope, "ext">): boolean {
  return ext !== undefined && Object.hasOwn(ext, MARK);
}

export function markForeign(ext: Envelope["ext"]): JsonObject {
  return { ...ext, [MARK]: true };
}

export function unmarkForeign<E extends Envelope>({ ext: { [MARK]: _mark, ...rest } = {}, ...envelope }: E): E {
  return (Object.keys(rest).length === 0 ? envelope : { ...envelope, ext: rest }) as E;
}
