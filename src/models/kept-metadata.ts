/**
 * What a provider wants back with a part of its answer, collected from the parts it came with. It becomes part of a
 * graph's state: what is not JSON is left out here, once and for all, because nobody could send it back.
 *
 * Invariant: adding costs what is added, whatever is kept already; of a field that comes again the last is kept.
 */
import { isDeeperThan, type JsonObject } from "../protocol/index.ts";
import type { ProviderOptions } from "./model.ts";

export class KeptMetadata {
  /** The fields of each provider, as JSON. */
  readonly #providers = new Map<string, Map<string, string>>();

  /** Gives the characters it has grown by. */
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

  /** Nothing where nothing was kept. */
  describe(): { readonly providerOptions?: ProviderOptions } {
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
    // A number that is too big for JSON, a ring, a getter that throws.
    return undefined;
  }
}

function readFields(fields: ReadonlyMap<string, string>): JsonObject {
  return Object.fromEntries([...fields].map(([name, text]) => [name, JSON.parse(text) as JsonObject[string]]));
}
