import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { evaluateExpression } from "./evaluate-expression.ts";
import { LONG } from "../../../test/sampling.ts";

const numRuns = LONG ? 200_000 : 500;

function compute(text: string): string {
  const result = evaluateExpression(text);
  return result.ok ? result.text : `at ${result.position}: ${result.message}`;
}

describe("evaluateExpression", () => {
  it.each([
    ["0.1 + 0.2", "0.3"],
    ["1 - 0.9", "0.1"],
    ["1/3", "0.33333333333333333333"],
    ["2/3", "0.66666666666666666667"],
    ["-2/3", "-0.66666666666666666667"],
    ["1/3*3", "1"],
    ["2^100", "1267650600228229401496703205376"],
    ["2**10", "1024"],
    ["-2^2", "-4"],
    ["(-2)^2", "4"],
    ["2^3^2", "512"],
    ["2^-2", "0.25"],
    ["(2/3)^-3", "3.375"],
    ["(-2/3)^-3", "-3.375"],
    ["0^0", "1"],
    ["--3", "3"],
    ["-+-3", "3"],
    ["2*-3", "-6"],
    ["2-3-4", "-5"],
    ["24/4/2", "3"],
    ["10 % 4", "2"],
    ["-7 % 3", "-1"],
    ["7.5 % 2", "1.5"],
    ["200 * 15%", "30"],
    ["5%", "0.05"],
    ["(50%) - 1", "-0.5"],
    ["50% * 2", "1"],
    ["5!", "120"],
    ["3!!", "720"],
    ["-3!", "-6"],
    ["0!", "1"],
    ["2^3!", "64"],
    ["20!/18!", "380"],
    ["sqrt(16)", "4"],
    ["sqrt(2.25)", "1.5"],
    ["sqrt(2)", "1.4142135623731"],
    ["sqrt(2)^2", "2"],
    ["√9 + 1", "4"],
    ["8^(1/3)", "2"],
    ["cbrt(-27)", "-3"],
    ["abs(-1.5)", "1.5"],
    ["sign(-3)", "-1"],
    ["min(3, 1, 2)", "1"],
    ["max(3, pi, 2)", "3.14159265358979"],
    ["round(2.5)", "3"],
    ["round(-2.5)", "-3"],
    ["round(2.345, 2)", "2.35"],
    ["round(1234.5, -2)", "1200"],
    ["round(pi, 2*cos(0))", "3.14"],
    ["round(2.345, e-e+2)", "2.35"],
    ["floor(-1.5)", "-2"],
    ["ceil(-1.5)", "-1"],
    ["ceil(1.2)", "2"],
    ["trunc(-1.5)", "-1"],
    ["ceil(sqrt(2)^2)", "2"],
    ["log(1000)", "3"],
    ["log(0.001)", "-3"],
    ["log(8, 2)", "3"],
    ["log2(2^200)", "200"],
    ["log(10^3000)", "3000"],
    ["log(10^-2000)", "-2000"],
    ["log2(2^9999)", "9999"],
    ["log(2*10^1000)", "1000.30102999566"],
    ["log(1.0001^700, 1.0001)", "700"],
    ["abs(-1e-400) * 1e400", "1"],
    ["sign(-1e-400)", "-1"],
    ["ln(e)", "1"],
    ["exp(0)", "1"],
    ["sin(pi)", "0"],
    ["cos(pi)", "-1"],
    ["sin(pi/6)", "0.5"],
    ["tan(pi/4)", "1"],
    ["atan(1)*4", "3.14159265358979"],
    ["pow(2, 0.5)", "1.4142135623731"],
    ["mod(7, 4)", "3"],
    ["PI", "3.14159265358979"],
    ["π", "3.14159265358979"],
    ["e", "2.71828182845905"],
    ["1_000_000 + .5", "1000000.5"],
    ["1e3 + 1E-3 + 2e+2", "1200.001"],
    ["5.", "5"],
    ["1e-30", "0.000000000000000000000000000001"],
    ["10^40/3", "3.3333333333333333333e39"],
    ["1e308-1e-320", "1e308"],
    ["1e-25-1e-60", "1e-25"],
    ["1/(3*10^30)", "3.3333333333333333333e-31"],
    ["(10^20-1)/10^20", "0.99999999999999999999"],
    ["(10^25-1)/(3*10^25)*3", "0.9999999999999999999999999"],
    ["2/(3*10^20-1)*10^20", "0.66666666666666666667"],
    ["（１＋２）×３", "9"],
    ["６÷４−１", "0.5"],
    ["ｍａｘ（１，２）", "2"],
    ["3．5＊2", "7"],
    ["３００　％　７", "6"],
    ["2·3⋅4", "24"],
  ])("%s = %s", (text, expected) => {
    expect(compute(text)).toBe(expected);
  });

  it.each([
    ["", "at 0: the expression is empty"],
    ["1/0", "at 1: `/` divides by zero"],
    ["5 % (3-3)", "at 2: `%` divides by zero"],
    ["0^-1", "at 1: `^` divides by zero"],
    ["1/(0.1+0.2-0.3)", "at 1: `/` divides by zero"],
    ["1 + ", "at 4: expected a number, but the expression ends here"],
    ["1 + * 2", "at 4: expected a number"],
    ["(1 + 2", "at 0: this parenthesis has no matching )"],
    ["1 + 2)", "at 5: this parenthesis has no matching ("],
    ["2(3)", "at 1: expected an operator, such as *"],
    ["2pi", "at 1: expected an operator, such as *"],
    ["1,000", "at 1: a comma separates function arguments; write 1000, not 1,000"],
    ["1__0", "at 1: underscores are only allowed between two digits"],
    ["1.2.3", "at 3: a number can have only one decimal point"],
    ["1 $ 2", "at 2: unexpected character `$`"],
    ["1 + 🙂", "at 4: unexpected character `🙂`"],
    ["sqrt 4", "at 0: `sqrt` needs arguments in parentheses"],
    ["sqrt()", "at 0: `sqrt` takes one argument"],
    ["sqrt(1, 2)", "at 0: `sqrt` takes one argument"],
    ["round(1, 2, 3)", "at 0: `round` takes 1 to 2 arguments"],
    ["round(1, 0.5)", "at 0: `round` needs an integer number of digits from -100 to 100"],
    ["max(1, 2", "at 0: missing ) after the arguments of `max`"],
    ["sqrt(-4)", "at 0: `sqrt` takes a root of a negative number"],
    ["sqrt(-1e-400)", "at 0: `sqrt` takes a root of a negative number"],
    ["log(-1e-400)", "at 0: `log` needs a positive number"],
    ["(-8)^(1/3)", "at 4: `^` raises a negative number to a fractional power"],
    ["log(0)", "at 0: `log` needs a positive number"],
    ["log(8, 1)", "at 0: `log` needs a positive base other than 1"],
    ["asin(2)", "at 0: `asin` has no real result"],
    ["tan(pi/2)", "at 0: `tan` has no value for this angle"],
    ["exp(1000)", "at 0: `exp` gives a number that is too large"],
    ["(-1)!", "at 4: `!` needs an integer of at least 0"],
    ["9^9^9", "at 1: `^` gives a number with too many digits"],
    ["99999!", "at 5: `!` gives a number with too many digits"],
    ["1e99999", "at 0: `1e99999` has too many digits"],
    ["50% - 5", "at 4: % before - can mean percent or remainder; add parentheses, as in (5%) - 1"],
  ])("%s: %s", (text, expected) => {
    expect(compute(text)).toBe(expected);
  });

  it("lists the available names if a name is unknown", () => {
    expect(compute("foo(1)")).toContain("unknown name `foo`; available: sqrt, cbrt, abs");
    expect(compute("constructor(1)")).toContain("unknown name `constructor`");
    expect(compute("__proto__")).toContain("unexpected character `_`");
  });

  it("enforces its limits", () => {
    expect(compute("1+".repeat(1001))).toBe("at 2000: the expression has 2002 characters; at most 2000 are allowed");
    expect(compute(`${"(".repeat(101)}1${")".repeat(101)}`)).toBe(
      "at 100: the expression is nested deeper than 100 levels",
    );
    expect(compute(`${"-".repeat(500)}1`)).toBe("at 100: the expression is nested deeper than 100 levels");
    expect(compute("2^".repeat(500) + "2")).toContain("the expression is nested deeper than 100 levels");
    expect(compute(`${"(".repeat(100)}1${")".repeat(100)}`)).toBe("1");
  });

  it.each([
    ["powers", "3^6300/2^9900/(3^6300/2^9900)*".repeat(66) + "1"],
    ["factorials", "1000!/999!*".repeat(180) + "1"],
    ["powers of factorials", "999!^0+".repeat(280) + "1"],
    ["roots of powers", "(2^9984)^(1/64)+".repeat(120) + "1"],
  ])("limits the work of an expression: %s", (_, text) => {
    expect(evaluateExpression(text)).toMatchObject({ ok: false, message: "the numbers are too long to continue" });
  });

  it.each([
    ["floor(1e20 * pi)", false],
    ["round(1e20 * pi)", false],
    ["round(pi, 20)", false],
    ["ceil(-1e16 * sqrt(2))", false],
    ["floor(100 * pi)", true],
    ["round(pi, 4)", true],
    ["floor(10^30 / 7)", true],
  ])("does not mark an approximate result as exact: %s", (expression, isExact) => {
    expect(evaluateExpression(expression)).toMatchObject({ ok: true, isExact });
  });

  it("reports whether the result is exact", () => {
    const exactness = ["1/4", "1/3", "sqrt(4)", "sqrt(2)", "pi", "2^-200"].map((text) => {
      const result = evaluateExpression(text);
      return result.ok && result.isExact;
    });
    expect(exactness).toEqual([true, false, true, false, false, false]);
  });
});

/** Reference implementation: unreduced fractions without a parser. */
interface Fraction {
  readonly n: bigint;
  readonly d: bigint;
}

interface Tree {
  readonly text: string;
  /** Returns undefined if the expression has no value. */
  readonly value: Fraction | undefined;
}

const absolute = (value: bigint): bigint => (value < 0n ? -value : value);

function parseDecimal(text: string): Fraction {
  const [mantissa = "", power = "0"] = text.split("e");
  const [whole = "", behind = ""] = mantissa.split(".");
  const exponent = BigInt(power) - BigInt(behind.length);
  const n = BigInt(whole + behind);
  return exponent < 0n ? { n, d: 10n ** -exponent } : { n: n * 10n ** exponent, d: 1n };
}

function combine(operator: string, a: Fraction, b: Fraction): Fraction | undefined {
  switch (operator) {
    case "+":
      return { n: a.n * b.d + b.n * a.d, d: a.d * b.d };
    case "-":
      return { n: a.n * b.d - b.n * a.d, d: a.d * b.d };
    case "*":
      return { n: a.n * b.n, d: a.d * b.d };
    default: {
      if (b.n === 0n) return undefined;
      if (operator === "/") return { n: a.n * b.d, d: a.d * b.n };
      // With a common denominator, the remainder is that of the numerators. BigInt also uses the sign of the first
      // operand.
      return { n: (a.n * b.d) % (b.n * a.d), d: a.d * b.d };
    }
  }
}

const digits = fc.integer({ min: 0, max: 10 ** 9 }).map(String);
const literal = fc.oneof(
  digits,
  fc
    .tuple(digits, fc.string({ unit: fc.constantFrom(...Array.from("0123456789")), minLength: 1, maxLength: 6 }))
    .map((p) => p.join(".")),
  fc.tuple(digits, fc.integer({ min: -9, max: 9 })).map(([mantissa, power]) => `${mantissa}e${power}`),
);

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5, depthSize: "small" },
    literal.map((text) => ({ text, value: parseDecimal(text) })),
    tie("tree").map(({ text, value }) => ({
      text: `-(${text})`,
      value: value && { n: -value.n, d: value.d },
    })),
    fc.tuple(fc.constantFrom("+", "-", "*", "/", "%"), tie("tree"), tie("tree")).map(([operator, a, b]) => ({
      text: `(${a.text}) ${operator} (${b.text})`,
      value: a.value && b.value && combine(operator, a.value, b.value),
    })),
    fc.tuple(tie("tree"), fc.integer({ min: 0, max: 3 })).map(([base, power]) => ({
      text: `(${base.text})^${power}`,
      value: base.value && { n: base.value.n ** BigInt(power), d: base.value.d ** BigInt(power) },
    })),
  ),
}));

describe("evaluateExpression compared with a reference", () => {
  it("agrees exactly, or to twenty digits if the result is rounded", () => {
    fc.assert(
      fc.property(tree, ({ text, value }) => {
        fc.pre(text.length <= 2000);
        const result = evaluateExpression(text);
        if (value === undefined) {
          expect(result.ok).toBe(false);
          return;
        }
        if (!result.ok) {
          expect(result.message).toMatch(/too many digits|too long/);
          return;
        }
        const sign = result.text.startsWith("-") ? -1n : 1n;
        const { n, d } = parseDecimal(result.text.replace(/^-/, ""));
        // difference = |sign·n/d - value|, which must be below 10^-19 of the value.
        const difference = absolute(sign * n * value.d - value.n * d);
        if (result.isExact) expect(difference).toBe(0n);
        else expect(difference * 10n ** 19n <= absolute(value.n * d)).toBe(true);
      }),
      { numRuns },
    );
  });

  it("agrees on floor, ceil and round", () => {
    const divideDown = (n: bigint, d: bigint): bigint => {
      const [top, bottom] = d < 0n ? [-n, -d] : [n, d];
      // Made positive from the remainder.
      return (top - (((top % bottom) + bottom) % bottom)) / bottom;
    };
    fc.assert(
      fc.property(tree, ({ text, value }) => {
        fc.pre(value !== undefined && text.length < 1000 && evaluateExpression(text).ok);
        const { n, d } = value;
        const isNegative = n < 0n !== d < 0n && n !== 0n;
        const under = divideDown(n, d);
        const over = -divideDown(-n, d);
        const half = divideDown(2n * absolute(n) + absolute(d), 2n * absolute(d));
        const results = ["floor", "ceil", "trunc", "round"].map((name) => compute(`${name}(${text})`));
        expect(results).toEqual([under, over, isNegative ? over : under, isNegative ? -half : half].map(String));
        expect(compute(`max(${text}, ${under}) - min(${text}, ${under})`)).toBe(compute(`abs((${text}) - ${under})`));
        expect(compute(`sign(${text})`)).toBe(n === 0n ? "0" : isNegative ? "-1" : "1");
      }),
      { numRuns: numRuns / 5 },
    );
  });

  it("gives the same result for all spellings of an expression", () => {
    const WIDE: { readonly [sign: string]: string } = { "*": "×", "/": "÷", "-": "−", " ": "\u3000" };
    const widen = (sign: string): string =>
      WIDE[sign] ?? (/[!-~]/.test(sign) ? String.fromCharCode(sign.charCodeAt(0) + 0xfee0) : sign);
    fc.assert(
      fc.property(tree, fc.infiniteStream(fc.boolean()), ({ text }, coins) => {
        fc.pre(text.length <= 2000);
        const written = Array.from(text, (sign) => (coins.next().value === true ? widen(sign) : sign)).join("");
        expect(evaluateExpression(written)).toEqual(evaluateExpression(text));
      }),
      { numRuns: numRuns / 5 },
    );
  });

  it.each(["sqrt", "ln", "exp", "sin", "cos", "atan", "cbrt", "log10", "log2"] as const)(
    "agrees with doubles: %s",
    (name) => {
      const reference = name === "ln" ? Math.log : Math[name];
      fc.assert(
        fc.property(fc.integer({ min: 1, max: 500_000 }), (thousandths) => {
          const value = thousandths / 1000;
          const expected = reference(value);
          const difference = Math.abs(Number(compute(`${name}(${value})`)) - expected);
          expect(difference).toBeLessThanOrEqual(1e-14 * Math.max(1, Math.abs(expected)));
        }),
        { numRuns: numRuns / 10 },
      );
    },
  );

  it.runIf(LONG)("never throws, for any text", () => {
    const noise = fc.string({
      unit: fc.constantFrom(...Array.from("0123456789.eE+-*/%^!(),_ pisqrtlogmax（）×÷−√π一🙂\u0000")),
      maxLength: 60,
    });
    fc.assert(
      fc.property(fc.oneof(noise, fc.string({ unit: "binary" })), (text) => {
        const result = evaluateExpression(text);
        if (result.ok) expect(result.text).toMatch(/^-?\d+(\.\d+)?(e-?\d+)?$/);
        else {
          expect(result.position).toBeGreaterThanOrEqual(0);
          expect(result.position).toBeLessThanOrEqual(text.length);
          expect(result.message.length).toBeLessThan(400);
        }
      }),
      { numRuns: numRuns * 2 },
    );
  });
});
