/**
 * Collects the tool calls of one message of the Chat Completions API from their pieces. The decoder of the dialect and
 * the adapter for OpenAI streams both use it.
 */
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { type JsonObject, toJsonObject } from "../../protocol/json.ts";

const MAX_CALLS = 10_000;

/** A call as far as it has arrived. */
export interface ChatCall {
  readonly callId: string;
  name: string;
  /** Its arguments, as JSON text. For a custom tool the text of the model, which is not JSON. */
  text: string;
  readonly isCustom: boolean;
  /** True if the pieces so far have an ID and a `type`. */
  isNamed: boolean;
}

export class ChatCalls {
  readonly #calls = new BoundedMap<ChatCall>(MAX_CALLS);
  readonly #createId: (index: number) => string;

  /** `createId` returns the ID of a call that has none. */
  constructor(createId: (index: number) => string) {
    this.#createId = createId;
  }

  /** Adds a piece. Returns its call, and the arguments in it; undefined if it has none. */
  take(piece: JsonObject): { readonly call: ChatCall; readonly delta: string | undefined } {
    const { index: at, id, type } = piece;
    const index = typeof at === "number" ? at : 0;
    const custom = toJsonObject(piece["custom"]);
    const { name, arguments: given } = { ...toJsonObject(piece["function"]), ...custom };
    const hasId = typeof id === "string" && id !== "";
    const call = this.#calls.getOrCreate(String(index), () => ({
      callId: hasId ? id : this.#createId(index),
      name: "",
      text: "",
      isCustom: piece["custom"] != null,
      isNamed: hasId && typeof type === "string",
    }));
    if (typeof name === "string" && call.name === "") call.name = name;
    const delta = call.isCustom ? custom["input"] : given;
    if (typeof delta !== "string") return { call, delta: undefined };
    call.text += delta;
    return { call, delta: call.isCustom ? undefined : delta };
  }

  /** All calls, with their arguments as JSON text. */
  list(): readonly (ChatCall & { readonly input: string })[] {
    return [...this.#calls.values()].map((call) => ({
      ...call,
      input: call.isCustom ? JSON.stringify({ input: call.text }) : call.text,
    }));
  }

  clear(): void {
    this.#calls.clear();
  }
}
