/** In which form a file is sent, of those the caller understands. It knows no file. */
export type Encoding = "br" | "gzip" | "identity";

/** The smaller first: that is the order in which they are preferred where the caller does not care. */
const FORMS = ["br", "gzip"] as const;

/** Of an `Accept-Encoding`. What is not named, or weighs nothing, is not sent. */
export function chooseEncoding(accepted: string | null): Encoding {
  const weights = readWeights(accepted ?? "");
  let chosen: Encoding = "identity";
  // As good as any other where it is not named: a packed file costs less to send.
  let highest = 0;
  for (const form of FORMS) {
    const weight = weights.get(form) ?? weights.get("*") ?? 0;
    if (weight <= highest) continue;
    highest = weight;
    chosen = form;
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
