/**
 * Content negotiation: chooses a response format by the `Accept` header.
 *
 * Invariant: among formats with equal weight, the one named more specifically wins, then the one named first in the
 * header, then the one offered first. The first offered format is used if the header is absent, malformed or accepts
 * none of them, so that a request is never rejected for its `Accept` header.
 */
import { readWeights } from "../guard/request-headers.ts";

interface MediaRange {
  readonly type: string;
  readonly subtype: string;
  readonly weight: number;
  readonly index: number;
}

/** A response format and the media types that select it. */
export interface OfferedFormat<F extends string> {
  readonly format: F;
  readonly mediaTypes: readonly string[];
}

export function chooseMediaType<F extends string>(
  accept: string | null,
  offered: readonly [OfferedFormat<F>, ...OfferedFormat<F>[]],
): F {
  const ranges = readRanges(accept);
  let best: { readonly format: F; readonly rank: readonly number[] } | undefined;
  for (const { format, mediaTypes } of offered)
    for (const mediaType of mediaTypes) {
      const rank = rankOf(mediaType, ranges);
      if (rank !== undefined && (best === undefined || ranksHigher(rank, best.rank))) best = { format, rank };
    }
  return best?.format ?? offered[0].format;
}

/** Malformed ranges are ignored. */
function readRanges(accept: string | null): readonly MediaRange[] {
  return readWeights(accept).flatMap(({ name, weight }, index): readonly MediaRange[] => {
    const [, type, subtype] = /^([\w!#$&^.+*-]+)\/([\w!#$&^.+*-]+)$/.exec(name) ?? [];
    if (type === undefined || subtype === undefined || (type === "*" && subtype !== "*")) return [];
    return [{ type, subtype, weight, index }];
  });
}

/**
 * Returns weight, specificity and position of the most specific matching range, or undefined if the type is not
 * accepted.
 */
function rankOf(mediaType: string, ranges: readonly MediaRange[]): readonly number[] | undefined {
  const [type, subtype] = mediaType.split("/");
  let found: { readonly range: MediaRange; readonly exactness: number } | undefined;
  for (const range of ranges) {
    const exactness =
      range.type === "*"
        ? 0
        : range.type !== type
          ? -1
          : range.subtype === "*"
            ? 1
            : range.subtype === subtype
              ? 2
              : -1;
    if (exactness >= 0 && exactness > (found?.exactness ?? -1)) found = { range, exactness };
  }
  if (found === undefined || found.range.weight === 0) return undefined;
  return [found.range.weight, found.exactness, -found.range.index];
}

function ranksHigher(rank: readonly number[], other: readonly number[]): boolean {
  for (const [at, value] of rank.entries()) if (value !== other[at]) return value > (other[at] ?? 0);
  return false;
}
