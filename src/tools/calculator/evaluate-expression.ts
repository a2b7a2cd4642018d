/**
 * Reads an arithmetic expression and computes it on the way: a descent through the levels of precedence. No code is
 * made of the text and none of it is run; what an expression can do is what is written here.
 *
 *     sum      product (("+" | "-") product)*
 *     product  sign (("*" | "/" | "%") sign)*
 *     sign     ("+" | "-" | "√")* power
 *     power    postfix ("^" sign)?            so -2^2 is -4, and 2^3^2 is 2^9
 *     postfix  primary ("!" | "%")*           "%" is percent where nothing follows that it could divide
 *     primary  number | constant | function "(" sum ("," sum)* ")" | "(" sum ")"
 */
import {
  addValues,
  divideValues,
  exactly,
  factorialOf,
  MAX_BITS,
  multiplyValues,
  negateValue,
  raise,
  type Refuse,
  remainderOf,
  takeRoot,
} from "./arithmetic.ts";
import { ExpressionFault } from "./expression-fault.ts";
import { formatValue } from "./format-value.ts";
import { CONSTANTS, FUNCTIONS } from "./functions.ts";
import { makeRational, sizeOf } from "./rational.ts";
import { type Token, tokenize } from "./tokenize.ts";
import { isExact, type Value } from "./value.ts";

export type Evaluation =
  | { readonly ok: true; readonly text: string; readonly isExact: boolean }
  /** `position` counts code units from 0. */
  | { readonly ok: false; readonly message: string; readonly position: number };

export interface EvaluateOptions {
  readonly maxLength?: number;
  /** Parentheses, signs and powers within one another. */
  readonly maxDepth?: number;
}

const MAX_LENGTH = 2000;
const MAX_DEPTH = 100;
/** Squared bits of the numbers that operators were given: about a tenth of a second at worst. */
const MAX_WORK = 4e9;
const HUNDRED: Value = { exact: makeRational(100n) };

export function evaluateExpression(
  text: string,
  { maxLength = MAX_LENGTH, maxDepth = MAX_DEPTH }: EvaluateOptions = {},
): Evaluation {
  try {
    if (text.length > maxLength)
      throw new ExpressionFault(`an expression may have ${maxLength} characters, not ${text.length}`, maxLength);
    const { text: result, isExact } = formatValue(new Reader(tokenize(text), maxDepth).read());
    return { ok: true, text: result, isExact };
  } catch (error) {
    if (!(error instanceof ExpressionFault)) throw error;
    return { ok: false, message: error.message, position: error.position };
  }
}

class Reader {
  readonly #tokens: readonly Token[];
  readonly #maxDepth: number;
  #next = 0;
  #depth = 0;
  #work = 0;

  constructor(tokens: readonly Token[], maxDepth: number) {
    this.#tokens = tokens;
    this.#maxDepth = maxDepth;
  }

  read(): Value {
    if (this.#peek().kind === "end") throw new ExpressionFault("there is nothing to compute", 0);
    const value = this.#readSum();
    const { kind, text, at } = this.#peek();
    if (kind === "end") return value;
    if (text === ")") throw new ExpressionFault("this parenthesis was not opened", at);
    if (text === ",") throw new ExpressionFault("a comma parts arguments of a function; write 1000, not 1,000", at);
    throw new ExpressionFault("expected an operator, such as *", at);
  }

  #readSum(): Value {
    let value = this.#readProduct();
    for (;;) {
      const token = this.#take("+", "-");
      if (token === undefined) return value;
      const right = this.#readProduct();
      this.#spend(token, value, right);
      value = addValues(value, token.text === "+" ? right : negateValue(right), this.#refuseAt(token));
    }
  }

  #readProduct(): Value {
    let value = this.#readSign();
    for (;;) {
      const token = this.#take("*", "/", "%");
      if (token === undefined) return value;
      const compute = token.text === "*" ? multiplyValues : token.text === "/" ? divideValues : remainderOf;
      const right = this.#readSign();
      this.#spend(token, value, right);
      value = compute(value, right, this.#refuseAt(token));
    }
  }

  #readSign(): Value {
    const token = this.#take("+", "-", "√");
    if (token === undefined) return this.#readPower();
    const value = this.#deeper(token, () => this.#readSign());
    if (token.text === "√") return takeRoot(value, 2, this.#refuseAt(token));
    return token.text === "-" ? negateValue(value) : value;
  }

  #readPower(): Value {
    const base = this.#readPostfix();
    const token = this.#take("^");
    if (token === undefined) return base;
    return raise(
      base,
      this.#deeper(token, () => this.#readSign()),
      this.#refuseAt(token),
    );
  }

  #readPostfix(): Value {
    let value = this.#readPrimary();
    for (;;) {
      const token = this.#peek();
      if (token.text === "!") value = factorialOf(value, this.#refuseAt(token));
      else if (token.text === "%" && this.#isPercent()) value = divideValues(value, HUNDRED, this.#refuseAt(token));
      else return value;
      this.#next++;
    }
  }

  /** Whether the `%` that comes next means hundredths. Where both could be meant, the writer must say. */
  #isPercent(): boolean {
    const { kind, text, at } = this.#tokens[this.#next + 1] as Token;
    if (text === "+" || text === "-")
      throw new ExpressionFault(`% before ${text} can be percent or remainder: use parentheses, as (5%) ${text} 1`, at);
    return kind === "end" || (kind === "symbol" && text !== "(" && text !== "π" && text !== "√");
  }

  #readPrimary(): Value {
    const token = this.#peek();
    const { kind, text, at } = token;
    this.#next++;
    if (kind === "number") return readNumber(token, this.#refuseAt(token));
    if (text === "(") {
      const value = this.#deeper(token, () => this.#readSum());
      if (this.#take(")") === undefined) throw new ExpressionFault("expected ) for this parenthesis", at);
      return value;
    }
    const constant = CONSTANTS.get(text);
    if (constant !== undefined) return constant;
    if (kind === "name") return this.#deeper(token, () => this.#readCall(token));
    throw new ExpressionFault(kind === "end" ? "expected a number; the text ends too early" : "expected a number", at);
  }

  #readCall(token: Token): Value {
    const { text, at } = token;
    const found = FUNCTIONS.get(text);
    if (found === undefined) {
      const known = [...FUNCTIONS.keys(), "pi", "e"].join(", ");
      throw new ExpressionFault(`\`${text.slice(0, 40)}\` is not known; there are ${known}`, at);
    }
    if (this.#take("(") === undefined) throw new ExpressionFault(`\`${text}\` needs its arguments in parentheses`, at);
    const values: Value[] = [];
    if (this.#peek().text !== ")") {
      do values.push(this.#readSum());
      while (values.length <= found.max && this.#take(",") !== undefined);
    }
    if (values.length < found.min || values.length > found.max)
      throw new ExpressionFault(`\`${text}\` takes ${describeCount(found)}`, at);
    if (this.#take(")") === undefined) throw new ExpressionFault(`expected ) for the arguments of \`${text}\``, at);
    this.#spend(token, ...values);
    return found.apply(values, this.#refuseAt(token));
  }

  /** Bringing long fractions to their lowest terms takes time: so much of it, and no more. */
  #spend(token: Token, ...values: readonly Value[]): void {
    const bits = values.reduce((sum, value) => sum + (isExact(value) ? sizeOf(value.exact) : 0), 0);
    this.#work += bits * bits;
    if (this.#work > MAX_WORK) throw new ExpressionFault("the numbers are too long to go on computing", token.at);
  }

  #deeper<T>(token: Token, read: () => T): T {
    if (++this.#depth > this.#maxDepth)
      throw new ExpressionFault(`an expression may nest ${this.#maxDepth} levels`, token.at);
    const value = read();
    this.#depth--;
    return value;
  }

  #peek(): Token {
    return this.#tokens[this.#next] as Token;
  }

  #take(...symbols: readonly string[]): Token | undefined {
    const token = this.#peek();
    if (token.kind !== "symbol" || !symbols.includes(token.text)) return undefined;
    this.#next++;
    return token;
  }

  #refuseAt({ text, at }: Token): Refuse {
    return (message) => {
      throw new ExpressionFault(`\`${text.slice(0, 40)}\` ${message}`, at);
    };
  }
}

function describeCount({ min, max }: { readonly min: number; readonly max: number }): string {
  if (min === max) return min === 1 ? "one argument" : `${min} arguments`;
  return `${min} to ${max} arguments`;
}

function readNumber({ text }: Token, refuse: Refuse): Value {
  const [mantissa = "", power = "0"] = text.toLowerCase().split("e");
  const [before = "", behind = ""] = mantissa.split(".");
  const exponent = Number(power) - behind.length;
  // Three digits are about ten bits: what is surely too long is not made.
  if (Math.abs(exponent) > MAX_BITS / 3 || before.length > MAX_BITS / 3) refuse("has too many digits");
  const digits = BigInt(before + behind);
  const value =
    exponent >= 0 ? makeRational(digits * 10n ** BigInt(exponent)) : makeRational(digits, 10n ** BigInt(-exponent));
  return exactly(value, refuse);
}
