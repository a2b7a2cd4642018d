/**
 * Collects the metadata a provider wants back with a part of its answer. The metadata becomes part of a graph's state,
 * so values that are not JSON are dropped.
 *
 * Invariant: the cost of adding depends only on what is added. If a field comes again, the last value wins.
 */
import type { JsonObject } from "../protocol/index.ts";
import { isDeeperThan } from "../protocol/json.ts";
import type { ProviderOptions } from "./model.ts";

export class ProviderMetadata {
  /** The fields of each provider, as JSON texts. */
  readonly #providers = new Map<string, Map<string, string>>();

  /** Adds metadata and returns the number of characters it added. */
  add(metadata: unknown): number {
    let grown = 0;
    for (const [provider, given] of listFields(metadata)) {
      for (const [name, value] of listFields(given)) {
        const text = writeField(value);
        if (text === undefined) continue;
        let fields = this.#providers.get(provider);
        if (fields === undefined) {
          this.#providers.set(provider, (fields = new Map<string, string>()));
          grown += provider.length;
        }
        grown += text.length - (fields.get(name)?.length ?? -name.length);
        fields.set(name, text);
      }
    }
    return grown;
  }

  /** Returns nothing if no metadata was collected. */
  toOptions(): { readonly providerOptions?: ProviderOptions } {
    if (this.#providers.size === 0) return {};
    const options = [...this.#providers].map(([provider, fields]) => [provider, readFields(fields)] as const);
    return { providerOptions: Object.fromEntries(options) };
  }
}

function listFields(value: unknown): [string, unknown][] {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
}

function writeField(value: unknown): string | undefined {
  try {
    const text = JSON.stringify(value) as string | undefined;
    return text === undefined || (typeof value === "object" && isDeeperThan(value)) ? undefined : text;
  } catch {
    // A BigInt, a cycle, or a getter that throws.
    return undefined;
  }
}

function readFields(fields: ReadonlyMap<string, string>): JsonObject {
  return Object.fromEntries([...fields].map(([name, text]) => [name, JSON.parse(text) as JsonObject[string]]));
}
