/**
 * Which of the forms a door can answer in is wanted, by the `Accept` header: media ranges with their weights. It knows no
 * door.
 *
 * Invariant: of two that are wanted alike, the one named more exactly is given, then the one named first, then the one
 * the door prefers. Where the header is absent, says nothing that can be read, or accepts none of them, it is the door's
 * first: whoever asks in a way nobody thought of is given an answer rather than a riddle.
 */
const MAX_RANGES = 50;

interface Range {
  readonly type: string;
  readonly subtype: string;
  readonly weight: number;
  readonly index: number;
}

/** Several media types may stand for one form. */
export interface OfferedForm<F extends string> {
  readonly form: F;
  readonly mediaTypes: readonly string[];
}

export function chooseMediaType<F extends string>(
  accept: string | null,
  offered: readonly [OfferedForm<F>, ...OfferedForm<F>[]],
): F {
  const ranges = parseAccept(accept ?? "");
  let best: { readonly form: F; readonly rank: readonly number[] } | undefined;
  for (const { form, mediaTypes } of offered)
    for (const mediaType of mediaTypes) {
      const rank = rankOf(mediaType, ranges);
      if (rank !== undefined && (best === undefined || isAbove(rank, best.rank))) best = { form, rank };
    }
  return best?.form ?? offered[0].form;
}

/** What cannot be read is passed over, as if it were not there. */
function parseAccept(accept: string): readonly Range[] {
  return accept.split(",", MAX_RANGES).flatMap((text, index): readonly Range[] => {
    const [range = "", ...parameters] = text.split(";").map((part) => part.trim().toLowerCase());
    const [, type, subtype] = /^([\w!#$&^.+*-]+)\/([\w!#$&^.+*-]+)$/.exec(range) ?? [];
    if (type === undefined || subtype === undefined || (type === "*" && subtype !== "*")) return [];
    const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2) ?? "1";
    return /^(?:0(?:\.\d*)?|1(?:\.0*)?)$/.test(weight) ? [{ type, subtype, weight: Number(weight), index }] : [];
  });
}

/** Weight, exactness, place; undefined where it is not accepted. The most exact range speaks for the type. */
function rankOf(mediaType: string, ranges: readonly Range[]): readonly number[] | undefined {
  const [type, subtype] = mediaType.split("/");
  let found: { readonly range: Range; readonly exactness: number } | undefined;
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

function isAbove(rank: readonly number[], other: readonly number[]): boolean {
  for (const [at, value] of rank.entries()) if (value !== other[at]) return value > (other[at] ?? 0);
  return false;
}
