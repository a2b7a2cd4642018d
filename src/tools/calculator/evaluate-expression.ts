/**
 * Parses and evaluates arithmetic expressions with a recursive descent parser. The text is never executed as code.
 *
 *     sum      product (("+" | "-") product)*
 *     product  sign (("*" | "/" | "%") sign)*
 *     sign     ("+" | "-" | "√")* power
 *     power    postfix ("^" sign)?            so -2^2 is -4, and 2^3^2 is 2^9
 *     postfix  primary ("!" | "%")*           "%" is percent if no operand follows
 *     primary  number | constant | function "(" sum ("," sum)* ")" | "(" sum ")"
 */
import {
  addValues,
  divideValues,
  exactValue,
  factorialOf,
  MAX_BITS,
  multiplyValues,
  negateValue,
  raise,
  type FailExpression,
  remainderOf,
  takeRoot,
} from "./arithmetic.ts";
import { ExpressionError } from "./expression-error.ts";
import { formatValue } from "./format-value.ts";
import { CONSTANTS, FUNCTIONS } from "./functions.ts";
import { makeRational, sizeOf } from "./rational.ts";
import { type ExpressionToken, tokenize } from "./tokenize.ts";
import { isExact, type CalculatorValue } from "./value.ts";

/** Result of `evaluateExpression`. `isExact` is false if the text is rounded. */
export type Evaluation =
  | { readonly ok: true; readonly text: string; readonly isExact: boolean }
  /** `position` counts code units from 0. */
  | { readonly ok: false; readonly message: string; readonly position: number };

/** Limits of `evaluateExpression`. */
export interface EvaluateOptions {
  /** Maximum length of an expression, in characters. Default: 2,000. */
  readonly maxLength?: number;
  /** Maximum nesting of parentheses, signs, powers and functions. Default: 100. */
  readonly maxDepth?: number;
}

const MAX_LENGTH = 2000;
const MAX_DEPTH = 100;
/** Limit for the sum of squared operand sizes in bits: about 0.1 s in the worst case. */
const MAX_WORK = 4e9;
const HUNDRED: CalculatorValue = { exact: makeRational(100n) };

/**
 * Evaluates an arithmetic expression with exact fractions where possible. Returns a message and a position if the
 * expression is not valid; it does not throw.
 *
 * ```ts
 * evaluateExpression("128 * 15%"); // { ok: true, text: "19.2", isExact: true }
 * ```
 */
export function evaluateExpression(
  text: string,
  { maxLength = MAX_LENGTH, maxDepth = MAX_DEPTH }: EvaluateOptions = {},
): Evaluation {
  try {
    if (text.length > maxLength)
      throw new ExpressionError(
        `the expression has ${text.length} characters; at most ${maxLength} are allowed`,
        maxLength,
      );
    const { text: result, isExact } = formatValue(new ExpressionParser(tokenize(text), maxDepth).parse());
    return { ok: true, text: result, isExact };
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    return { ok: false, message: error.message, position: error.position };
  }
}

class ExpressionParser {
  readonly #tokens: readonly ExpressionToken[];
  readonly #maxDepth: number;
  #next = 0;
  #depth = 0;
  #work = 0;

  constructor(tokens: readonly ExpressionToken[], maxDepth: number) {
    this.#tokens = tokens;
    this.#maxDepth = maxDepth;
  }

  parse(): CalculatorValue {
    if (this.#peek().kind === "end") throw new ExpressionError("the expression is empty", 0);
    const value = this.#readSum();
    const { kind, text, at } = this.#peek();
    if (kind === "end") return value;
    if (text === ")") throw new ExpressionError("this parenthesis has no matching (", at);
    if (text === ",") throw new ExpressionError("a comma separates function arguments; write 1000, not 1,000", at);
    throw new ExpressionError("expected an operator, such as *", at);
  }

  #readSum(): CalculatorValue {
    let value = this.#readProduct();
    for (;;) {
      const token = this.#take("+", "-");
      if (token === undefined) return value;
      const right = this.#readProduct();
      this.#countWork(token, value, right);
      value = addValues(value, token.text === "+" ? right : negateValue(right), this.#failAt(token));
    }
  }

  #readProduct(): CalculatorValue {
    let value = this.#readSign();
    for (;;) {
      const token = this.#take("*", "/", "%");
      if (token === undefined) return value;
      const compute = token.text === "*" ? multiplyValues : token.text === "/" ? divideValues : remainderOf;
      const right = this.#readSign();
      this.#countWork(token, value, right);
      value = compute(value, right, this.#failAt(token));
    }
  }

  #readSign(): CalculatorValue {
    const token = this.#take("+", "-", "√");
    if (token === undefined) return this.#readPower();
    const value = this.#nest(token, () => this.#readSign());
    if (token.text === "-") return negateValue(value);
    if (token.text === "+") return value;
    this.#countWork(token, value);
    return takeRoot(value, 2, this.#failAt(token));
  }

  #readPower(): CalculatorValue {
    const base = this.#readPostfix();
    const token = this.#take("^");
    if (token === undefined) return base;
    const exponent = this.#nest(token, () => this.#readSign());
    this.#countWork(token, base, exponent);
    const power = raise(base, exponent, this.#failAt(token));
    this.#countWork(token, power);
    return power;
  }

  #readPostfix(): CalculatorValue {
    let value = this.#readPrimary();
    for (;;) {
      const token = this.#peek();
      if (token.text === "!") value = factorialOf(value, this.#failAt(token));
      else if (token.text === "%" && this.#isPercent()) value = divideValues(value, HUNDRED, this.#failAt(token));
      else return value;
      // The result of a factorial shows its cost; its operand does not.
      this.#countWork(token, value);
      this.#next++;
    }
  }

  /** Returns true if the next `%` means percent. Throws if it could also mean remainder. */
  #isPercent(): boolean {
    const { kind, text, at } = this.#tokens[this.#next + 1] as ExpressionToken;
    if (text === "+" || text === "-")
      throw new ExpressionError(
        `% before ${text} can mean percent or remainder; add parentheses, as in (5%) ${text} 1`,
        at,
      );
    return kind === "end" || (kind === "symbol" && text !== "(" && text !== "π" && text !== "√");
  }

  #readPrimary(): CalculatorValue {
    const token = this.#peek();
    const { kind, text, at } = token;
    this.#next++;
    if (kind === "number") return readNumber(token, this.#failAt(token));
    if (text === "(") {
      const value = this.#nest(token, () => this.#readSum());
      if (this.#take(")") === undefined) throw new ExpressionError("this parenthesis has no matching )", at);
      return value;
    }
    const constant = CONSTANTS.get(text);
    if (constant !== undefined) return constant;
    if (kind === "name") return this.#nest(token, () => this.#readCall(token));
    throw new ExpressionError(
      kind === "end" ? "expected a number, but the expression ends here" : "expected a number",
      at,
    );
  }

  #readCall(token: ExpressionToken): CalculatorValue {
    const { text, at } = token;
    const found = FUNCTIONS.get(text);
    if (found === undefined) {
      const known = [...FUNCTIONS.keys(), "pi", "e"].join(", ");
      throw new ExpressionError(`unknown name \`${text.slice(0, 40)}\`; available: ${known}`, at);
    }
    if (this.#take("(") === undefined) throw new ExpressionError(`\`${text}\` needs arguments in parentheses`, at);
    const values: CalculatorValue[] = [];
    if (this.#peek().text !== ")") {
      do values.push(this.#readSum());
      while (values.length <= found.max && this.#take(",") !== undefined);
    }
    if (values.length < found.min || values.length > found.max)
      throw new ExpressionError(`\`${text}\` takes ${describeCount(found)}`, at);
    if (this.#take(")") === undefined) throw new ExpressionError(`missing ) after the arguments of \`${text}\``, at);
    this.#countWork(token, ...values);
    return found.apply(values, this.#failAt(token));
  }

  /** Limits the time spent on long numbers. */
  #countWork(token: ExpressionToken, ...values: readonly CalculatorValue[]): void {
    const bits = values.reduce((sum, value) => sum + (isExact(value) ? sizeOf(value.exact) : 0), 0);
    this.#work += bits * bits;
    if (this.#work > MAX_WORK) throw new ExpressionError("the numbers are too long to continue", token.at);
  }

  #nest<T>(token: ExpressionToken, read: () => T): T {
    if (++this.#depth > this.#maxDepth)
      throw new ExpressionError(`the expression is nested deeper than ${this.#maxDepth} levels`, token.at);
    const value = read();
    this.#depth--;
    return value;
  }

  #peek(): ExpressionToken {
    return this.#tokens[this.#next] as ExpressionToken;
  }

  #take(...symbols: readonly string[]): ExpressionToken | undefined {
    const token = this.#peek();
    if (token.kind !== "symbol" || !symbols.includes(token.text)) return undefined;
    this.#next++;
    return token;
  }

  #failAt({ text, at }: ExpressionToken): FailExpression {
    return (message) => {
      throw new ExpressionError(`\`${text.slice(0, 40)}\` ${message}`, at);
    };
  }
}

function describeCount({ min, max }: { readonly min: number; readonly max: number }): string {
  if (min === max) return min === 1 ? "one argument" : `${min} arguments`;
  return `${min} to ${max} arguments`;
}

function readNumber({ text }: ExpressionToken, fail: FailExpression): CalculatorValue {
  const [mantissa = "", power = "0"] = text.toLowerCase().split("e");
  const [before = "", behind = ""] = mantissa.split(".");
  const exponent = Number(power) - behind.length;
  // Three digits are about ten bits. Numbers that are surely too long are not created.
  if (Math.abs(exponent) > MAX_BITS / 3 || before.length > MAX_BITS / 3) fail("has too many digits");
  const digits = BigInt(before + behind);
  const value =
    exponent >= 0 ? makeRational(digits * 10n ** BigInt(exponent)) : makeRational(digits, 10n ** BigInt(-exponent));
  return exactValue(value, fail);
}
