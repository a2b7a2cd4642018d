/** Prices of models, which users enter themselves, and what calls cost by them. */

/** In US dollars per million tokens. */
export interface ModelPrice {
  readonly input?: number;
  readonly output?: number;
  /** Of input that the provider read from its cache. Default: the price of input. */
  readonly cached?: number;
}

/** By model name, such as `openai/gpt-5`. */
export interface ModelPrices {
  readonly [model: string]: ModelPrice;
}

export interface PricedCall {
  readonly model?: string | undefined;
  readonly prompt: number;
  readonly completion: number;
  /** Part of the prompt. */
  readonly cached?: number;
}

/** Returns the cost in dollars; undefined if a price that it needs is missing. */
export function computeCost(
  { model, prompt, completion, cached = 0 }: PricedCall,
  prices: ModelPrices,
): number | undefined {
  const price = model === undefined || !Object.hasOwn(prices, model) ? undefined : prices[model];
  if (price === undefined) return undefined;
  const parts = [
    [prompt - Math.min(cached, prompt), price.input],
    [Math.min(cached, prompt), price.cached ?? price.input],
    [completion, price.output],
  ] as const;
  let sum = 0;
  for (const [tokens, each] of parts) {
    if (tokens === 0) continue;
    if (each === undefined) return undefined;
    sum += (tokens * each) / 1_000_000;
  }
  return sum;
}

/** Formats dollars: two digits, and more for small amounts. */
export function formatCost(dollars: number): string {
  const digits = dollars === 0 || dollars >= 1 ? 2 : Math.min(8, 2 - Math.floor(Math.log10(dollars)));
  return `$${dollars.toFixed(Math.max(2, digits))}`;
}

/** Returns a price from what a user typed; undefined if it is empty or not a price. Accepts a comma. */
export function readPrice(text: string): number | undefined {
  const value = Number(text.trim().replace(",", "."));
  return text.trim() === "" || !Number.isFinite(value) || value < 0 ? undefined : value;
}

/** Returns the prices with one of them changed. A model without prices is removed. */
export function setPrice(
  prices: ModelPrices,
  model: string,
  kind: keyof ModelPrice,
  value: number | undefined,
): ModelPrices {
  const { [model]: before = {}, ...others } = prices;
  const { [kind]: _, ...rest } = before;
  const price: ModelPrice = value === undefined ? rest : { ...rest, [kind]: value };
  return Object.keys(price).length === 0 ? others : { ...others, [model]: price };
}
