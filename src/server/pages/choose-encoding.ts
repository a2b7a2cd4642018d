/** Chooses the content encoding of a file from `Accept-Encoding`. */
import { readWeights } from "../guard/request-headers.ts";

export type Encoding = "br" | "gzip" | "identity";

/** In order of preference, smallest output first. */
const ENCODINGS = ["br", "gzip"] as const;

/** Encodings that are not named or have weight 0 are not used. */
export function chooseEncoding(accepted: string | null): Encoding {
  const weights = new Map(readWeights(accepted).map(({ name, weight }) => [name, weight]));
  let chosen: Encoding = "identity";
  // Compression wins over `identity` at equal weight, because it costs less to send.
  let highest = 0;
  for (const encoding of ENCODINGS) {
    const weight = weights.get(encoding) ?? weights.get("*") ?? 0;
    if (weight <= highest) continue;
    highest = weight;
    chosen = encoding;
  }
  return (weights.get("identity") ?? 0) > highest ? "identity" : chosen;
}
