/** Reads headers of requests: the weights of `Accept` and `Accept-Encoding`, and the tags of `If-None-Match`. */
const MAX_ITEMS = 50;

/** An item of a header such as `Accept`, in lower case. */
export interface WeightedItem {
  readonly name: string;
  /** From 0 to 1. */
  readonly weight: number;
}

/** Returns the items in their order. Ignores items with an invalid weight, and those after the first 50. */
export function readWeights(header: string | null): readonly WeightedItem[] {
  return (header ?? "").split(",", MAX_ITEMS).flatMap((text): readonly WeightedItem[] => {
    const [name = "", ...parameters] = text.split(";").map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2) ?? "1";
    return /^(?:0(?:\.\d*)?|1(?:\.0*)?)$/.test(weight) ? [{ name, weight: Number(weight) }] : [];
  });
}

/** Whether `If-None-Match` names the tag: the client already has this version. */
export function matchesTag(header: string | null, etag: string): boolean {
  return (header ?? "").split(",").some((each) => each.trim() === "*" || each.trim().replace(/^W\//, "") === etag);
}
