/**
 * Checks what decoders of 003 and 004 cannot see in the records: the error code of a failed tool, the start of each call
 * that ends, and thoughts that are mixed in the one thinking text that these dialects have. Memory is bounded.
 * Mixing cannot always be seen: the frames do not name their thought.
 */
import { BoundedMap } from "../protocol/bounded-map.ts";
import { isJsonObject, type JsonObject } from "../protocol/json.ts";
import type { Issue } from "../protocol/rules.ts";
import { ENGINE_RULES } from "./engine/rules.ts";
import { createReporter } from "./frame-decoder.ts";
import { readText } from "./frame-traits.ts";
import { LUMINE_RULES } from "./lumine/rules.ts";

const reportEngine = createReporter(ENGINE_RULES);
const reportLumine = createReporter(LUMINE_RULES);

const MAX_CALLS = 10_000;
/**
 * Model calls that run side by side begin alike. So many equal pieces in a row, or so many different pieces in a row that
 * are each repeated, are those of several calls.
 */
const MAX_EQUAL = 4;
const MAX_REPEATED = 3;

/** Checks the frames of one stream in order. */
export type ClientFrameCheck = (frame: JsonObject, issues: Issue[]) => void;

/** Creates the check of a dialect with these rules, if there is one. */
export function createClientFrameCheck(rules: object): ClientFrameCheck | undefined {
  if (rules === ENGINE_RULES) return createEngineCheck();
  return rules === LUMINE_RULES ? createLumineCheck() : undefined;
}

function createEngineCheck(): ClientFrameCheck {
  const started = new BoundedMap<true>(MAX_CALLS);
  const thinking = new ThinkingText();
  return ({ type, data, metadata }, issues) => {
    if (!isJsonObject(data)) return;
    const key = JSON.stringify([isJsonObject(metadata) ? metadata["request_id"] : null, data["tool_id"]]);
    switch (type) {
      case "session_start":
        thinking.clear();
        break;
      case "thinking":
        if (thinking.isMixedBy(readText(data["content"]), data["stage"]))
          reportEngine(issues, "engine-thoughts-mixed", MIXED);
        break;
      // The legacy form.
      case "tool_call":
      case "tool_call_start":
        thinking.endSection();
        started.set(key, true);
        break;
      case "content":
        thinking.endSection();
        break;
      case "tool_call_end": {
        const { status, error } = data;
        if (status !== "success" && isJsonObject(error) && readText(error["code"]) === undefined)
          reportEngine(issues, "engine-error-code", "the tool failed, but `error.code` is missing");
        if (!started.has(key))
          reportEngine(issues, "engine-end-unstarted", "the call has no `tool_call_start` before its end");
        break;
      }
      default:
    }
  };
}

function createLumineCheck(): ClientFrameCheck {
  const started = new BoundedMap<true>(MAX_CALLS);
  const thinking = new ThinkingText();
  return ({ type, tool_use_id, status, content }, issues) => {
    const id = readText(tool_use_id) ?? "";
    switch (type) {
      case "session_id":
        thinking.clear();
        break;
      case "reasoning":
        if (thinking.isMixedBy(readText(content), undefined)) reportLumine(issues, "lumine-thoughts-mixed", MIXED);
        break;
      case "chunk":
        thinking.endSection();
        break;
      case "tool_use":
        thinking.endSection();
        if (status === "running") started.set(id, true);
        break;
      case "tool_result":
        if (!started.has(id))
          reportLumine(issues, "lumine-result-unstarted", "the call has no running `tool_use` before its result");
        break;
      default:
    }
  };
}

const MIXED = "pieces of several thoughts alternate in one thinking text";

/** A sentence that is not finished, and a piece that continues one. */
const OPEN_END = /[^\s.!?:…。！？：]\s?$/u;
const CONTINUES = /^(?:\s?\p{Ll}|[,.;，。；])/u;

/** The thinking text of a request. */
class ThinkingText {
  #lastWord = "";
  #equal = 1;
  /** Different pieces in a row that were each repeated. */
  #repeated = 0;
  #stage: unknown;
  /** The last piece of each stage. 003 has three. */
  readonly #ends = new Map<unknown, string>();
  #isReported = false;

  clear(): void {
    this.endSection();
    this.#isReported = false;
  }

  /** Called when something else follows: thoughts after it are new ones. */
  endSection(): void {
    this.#lastWord = "";
    this.#equal = 1;
    this.#repeated = 0;
    this.#stage = undefined;
    this.#ends.clear();
  }

  /**
   * True once, when a piece shows that thoughts are mixed: equal pieces in a row, or a sentence that goes on after a
   * piece of another stage.
   */
  isMixedBy(piece: string | undefined, stage: unknown): boolean {
    if (piece === undefined || this.#isReported) return false;
    this.#countEqual(piece);
    const before = stage === this.#stage ? undefined : this.#ends.get(stage);
    const goesOn = before !== undefined && OPEN_END.test(before) && CONTINUES.test(piece);
    this.#stage = stage;
    this.#ends.set(stage, piece);
    this.#isReported = this.#equal >= MAX_EQUAL || this.#repeated >= MAX_REPEATED || goesOn;
    return this.#isReported;
  }

  #countEqual(piece: string): void {
    // Signs alone are often repeated.
    if (!/[\p{L}\p{N}]/u.test(piece)) return;
    if (piece !== this.#lastWord) {
      if (this.#equal === 1) this.#repeated = 0;
      this.#equal = 1;
    } else if (++this.#equal === 2) this.#repeated++;
    this.#lastWord = piece;
  }
}
