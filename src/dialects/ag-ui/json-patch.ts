/**
 * Applies JSON Patch (RFC 6902) to a value in place. A patch that cannot be applied changes nothing.
 *
 * Patches can come from any server: an operation costs its own size and the list that it shifts, values are copied, and
 * nothing here throws. Like clients of AG-UI, it refuses paths with `__proto__`.
 */
import {
  isDeeperThan,
  isJsonObject,
  isSameJson,
  type Json,
  type JsonObject,
  MAX_JSON_DEPTH,
} from "../../protocol/json.ts";

/** A value that is patched repeatedly. */
export class PatchedValue {
  #value: Json;
  /** Characters that patches have added: what the value has grown by at most. */
  #added = 0;
  #undo: (() => void)[] = [];
  #budget = 0;

  /** The value is changed in place. */
  constructor(value: Json) {
    this.#value = value;
  }

  /** The current value. It changes with the next patch: copy what is kept. */
  get value(): Json {
    return this.#value;
  }

  get added(): number {
    return this.#added;
  }

  /** Applies all operations, or none. Returns why not. `budget` is the number of characters that it may add. */
  apply(patch: readonly JsonObject[], budget: number): string | undefined {
    this.#undo = [];
    this.#budget = budget;
    const before = this.#added;
    for (const [index, operation] of patch.entries()) {
      const fault = this.#perform(operation);
      if (fault === undefined) continue;
      for (const undo of this.#undo.toReversed()) undo();
      this.#added = before;
      const { op, path } = operation as { readonly [field: string]: string };
      return `operation ${index} (\`${op}\` at \`${path}\`) cannot be applied: ${fault}`;
    }
    this.#undo = [];
    return undefined;
  }

  #perform({ op, path, from, value }: JsonObject): string | undefined {
    const tokens = readPointer(path);
    if (typeof tokens === "string") return tokens;
    if (op === "remove") return this.#remove(tokens);
    if (op === "move" || op === "copy") return this.#transfer(op, tokens, from);
    if (value === undefined) return "it has no `value`";
    if (op === "add") return this.#put(tokens, value, "insert");
    const known = this.#find(tokens);
    if (known === undefined) return this.#describeMissing(tokens);
    if (op === "test") return isSameJson(known, value) ? undefined : "the value differs";
    return this.#put(tokens, value, "replace");
  }

  #transfer(op: "move" | "copy", tokens: readonly string[], from: Json | undefined): string | undefined {
    const source = readPointer(from);
    if (typeof source === "string") return source;
    const value = this.#find(source);
    if (value === undefined) return this.#describeMissing(source);
    if (op === "copy") return this.#put(tokens, value, "insert");
    const isInside = source.length < tokens.length && source.every((token, index) => token === tokens[index]);
    if (isInside) return "a value cannot be moved into itself";
    return this.#remove(source) ?? this.#put(tokens, value, "insert");
  }

  #find(tokens: readonly string[]): Json | undefined {
    let value: Json | undefined = this.#value;
    for (const token of tokens) value = readMember(value, token);
    return value;
  }

  #describeMissing(tokens: readonly string[]): string {
    const missing = tokens.findIndex((_, index) => this.#find(tokens.slice(0, index + 1)) === undefined);
    return `there is no \`${writePointer(tokens.slice(0, missing + 1))}\``;
  }

  #put(tokens: readonly string[], given: Json, mode: "insert" | "replace"): string | undefined {
    if (isDeeperThan(given, MAX_JSON_DEPTH - tokens.length)) return "the value is nested too deeply";
    const text = JSON.stringify(given);
    this.#added += text.length;
    this.#budget -= text.length;
    if (this.#budget < 0) return "the value becomes too large";
    const value = JSON.parse(text) as Json;
    const key = tokens.at(-1);
    if (key === undefined) return this.#replaceAll(value);
    const parent = this.#find(tokens.slice(0, -1));
    if (Array.isArray(parent)) {
      const list = parent as Json[];
      const index = key === "-" ? list.length : readIndex(key);
      if (index === undefined || index > list.length) return `the list has ${list.length} items`;
      const known = list.splice(index, mode === "replace" ? 1 : 0, value);
      this.#undo.push(() => void list.splice(index, 1, ...known));
      return undefined;
    }
    if (parent === undefined) return this.#describeMissing(tokens.slice(0, -1));
    if (!isJsonObject(parent)) return `\`${writePointer(tokens.slice(0, -1))}\` has no members`;
    const object: MutableJsonObject = parent;
    const [isKnown, known] = [Object.hasOwn(object, key), object[key]];
    object[key] = value;
    this.#undo.push(() => {
      if (isKnown) object[key] = known as Json;
      else Reflect.deleteProperty(object, key);
    });
    return undefined;
  }

  #remove(tokens: readonly string[]): string | undefined {
    const key = tokens.at(-1);
    if (this.#find(tokens) === undefined) return this.#describeMissing(tokens);
    if (key === undefined) return this.#replaceAll(null);
    const parent = this.#find(tokens.slice(0, -1));
    if (Array.isArray(parent)) {
      const [list, index] = [parent as Json[], Number(key)];
      const removed = list.splice(index, 1);
      this.#undo.push(() => void list.splice(index, 0, ...removed));
      return undefined;
    }
    const object = parent as MutableJsonObject;
    const known = object[key] as Json;
    Reflect.deleteProperty(object, key);
    this.#undo.push(() => void (object[key] = known));
    return undefined;
  }

  #replaceAll(value: Json): undefined {
    const known = this.#value;
    this.#value = value;
    this.#undo.push(() => void (this.#value = known));
  }
}

interface MutableJsonObject {
  [key: string]: Json;
}

/** Returns the names in a JSON Pointer, or what is wrong with it. */
export function readPointer(pointer: Json | undefined): readonly string[] | string {
  if (typeof pointer !== "string") return "it has no `from`";
  if (pointer === "") return [];
  if (!pointer.startsWith("/") || /~(?![01])/.test(pointer)) return `\`${pointer}\` is not a JSON Pointer`;
  const tokens = pointer
    .slice(1)
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
  if (tokens.length > MAX_JSON_DEPTH) return "the path is too deep";
  return isRefused(tokens) ? "clients refuse `__proto__`" : tokens;
}

/** True for a path that clients refuse, because it could change a prototype. */
export function isRefused(tokens: readonly string[]): boolean {
  return tokens.some(
    (token, index) => token === "__proto__" || (token === "prototype" && tokens[index - 1] === "constructor"),
  );
}

/** Returns the JSON Pointer to a value. */
export function writePointer(tokens: readonly string[]): string {
  return tokens.map((token) => `/${token.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

function readMember(value: Json | undefined, token: string): Json | undefined {
  if (Array.isArray(value)) {
    const index = readIndex(token);
    return index === undefined ? undefined : (value as readonly Json[])[index];
  }
  return isJsonObject(value) && Object.hasOwn(value, token) ? value[token] : undefined;
}

function readIndex(token: string): number | undefined {
  return /^(0|[1-9]\d{0,15})$/.test(token) ? Number(token) : undefined;
}
