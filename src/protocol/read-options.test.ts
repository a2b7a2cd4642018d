import { describe, expect, it } from "vitest";
import { isLoomError, type LoomError } from "./loom-error.ts";
import {
  acceptInteger,
  acceptNumber,
  acceptNumberAbove,
  acceptObject,
  acceptOneOf,
  type OptionTable,
  orElse,
  readOptions,
  TEXT_OPTION,
  TEXTS_OPTION,
  withDefault,
} from "./read-options.ts";

interface Inner {
  readonly share?: number;
}
interface Outer {
  readonly count?: number;
  readonly size?: number;
  readonly mode?: string;
  readonly names?: readonly string[];
  readonly inner?: Inner | false;
}
const TABLE: OptionTable<Outer> = {
  count: withDefault(acceptInteger(1, 9), 3),
  size: acceptNumber(0),
  mode: acceptOneOf(["slow", "fast"]),
  names: TEXTS_OPTION,
  inner: orElse(acceptObject<Inner>({ share: acceptNumberAbove(0, 1) }), "false", (value) => value === false),
};

function refusalOf(given: unknown, context = {}): LoomError {
  try {
    readOptions(TABLE, given, context);
  } catch (error) {
    if (isLoomError(error)) return error;
    throw error;
  }
  throw new Error("The options were accepted");
}

describe("readOptions", () => {
  it("returns what is given, with defaults for what is missing or undefined", () => {
    expect(readOptions(TABLE, { count: undefined, size: Infinity, inner: false })).toEqual({
      count: 3,
      size: Infinity,
      inner: false,
    });
    expect(readOptions(TABLE, { count: 9, inner: { share: 1 } })).toEqual({ count: 9, inner: { share: 1 } });
  });

  it.each<[unknown, string, string | undefined]>([
    [null, "The options must be an object, not null", undefined],
    [[], "The options must be an object, not an array", undefined],
    [{ count: 0 }, "`count` must be an integer from 1 to 9, not 0", "count"],
    [{ count: 1.5 }, "`count` must be an integer from 1 to 9, not 1.5", "count"],
    [{ size: Number.NaN }, "`size` must be a number from 0, not NaN", "size"],
    [{ size: null }, "`size` must be a number from 0, not null", "size"],
    [{ mode: "fats" }, '`mode` must be slow or fast, not "fats"; did you mean "fast"?', "mode"],
    [{ mode: () => 1 }, "`mode` must be slow or fast, not a function", "mode"],
    [{ names: ["a", 1] }, "`names` must be an array of strings, not an array with 1", "names"],
    [{ mode: 1n }, "`mode` must be slow or fast, not a bigint", "mode"],
    [{ names: [undefined] }, "`names` must be an array of strings, not an array with undefined", "names"],
    [undefined, "The options must be an object, not undefined", undefined],
    [Promise.resolve({}), "The options must be an object, not a promise; did you forget `await`?", undefined],
    [{ inner: Promise.resolve({}) }, "not a promise; did you forget `await`?", "inner"],
    [{ inner: 5 }, "`inner` must be false or an object, not 5", "inner"],
    [{ inner: { share: 0 } }, "`inner.share` must be a number above 0 and at most 1, not 0", "inner.share"],
    [{ inner: { shares: 1 } }, "Unknown option `inner.shares`; did you mean `inner.share`?", "inner.shares"],
    [{ toString: 1 }, "Unknown option `toString`; the options are count, size, mode, names, inner", "toString"],
  ])("refuses %o", (given, message, option) => {
    const error = refusalOf(given);
    expect(error).toMatchObject({ code: "invalid_arguments", message: expect.stringContaining(message) as string });
    expect(error.details["option"]).toBe(option);
  });

  it("names the path, suggests names of other libraries, and explains an unknown name", () => {
    const path = "outer";
    expect(refusalOf({ total: 1 }, { path, otherNames: { total: "count" } }).message).toBe(
      "Unknown option `outer.total`; did you mean `outer.count`?",
    );
    expect(refusalOf({ beam: 1 }, { explain: (name: string) => `\`${name}\` needs light` }).message).toBe(
      "`beam` needs light",
    );
  });

  it("ignores the options of other tables only if it reads a part", () => {
    expect(readOptions(TABLE, { count: 2, other: 1 }, { isPart: true })).toEqual({ count: 2 });
  });

  it("has the types of its table: a rule or a default of another type does not compile", () => {
    const table = { count: withDefault(acceptInteger(), 3), mode: acceptOneOf(["slow", "fast"]) };
    const { count, mode }: { count: number; mode?: "slow" | "fast" } = readOptions(table, {});
    expect([count, mode]).toEqual([3, undefined]);
    // @ts-expect-error A number is not a string.
    const wrongRule: OptionTable<Pick<Outer, "mode">> = { mode: acceptInteger() };
    // @ts-expect-error The rule of `size` is missing.
    const missingRule: OptionTable<Pick<Outer, "mode" | "size">> = { mode: TEXT_OPTION };
    // @ts-expect-error The default is not one of the words.
    const wrongDefault = withDefault(acceptOneOf(["slow", "fast"]), "faster");
    expect([wrongRule, missingRule, wrongDefault]).toHaveLength(3);
  });
});
