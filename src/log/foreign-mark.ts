/**
 * The mark of a run that somebody else carries out: on its first record, beside what dialects keep there. Where its sender
 * is gone nobody goes on with it: an agent of ours would speak on in another's name.
 */
import type { Envelope, JsonObject } from "../protocol/index.ts";

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
