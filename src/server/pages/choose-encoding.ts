/** Chooses the content encoding of a file from `Accept-Encoding`. */
export type Encoding = "br" | "gzip" | "identity";

/** In order of preference, smallest output first. */
const ENCODINGS = ["br", "gzip"] as const;

/** Encodings that are not named or have weight 0 are not used. */
export function chooseEncoding(accepted: string | null): Encoding {
  const weights = readWeights(accepted ?? "");
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

function readWeights(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const part of header.slice(0, 500).split(",")) {
    const [name = "", ...parameters] = part.split(";").map((piece) => piece.trim().toLowerCase());
    const weight = Number(parameters.find((one) => one.startsWith("q="))?.slice(2) ?? 1);
    if (name !== "" && weight >= 0) weights.set(name, weight);
  }
  return weights;
}
