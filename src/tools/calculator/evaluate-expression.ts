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
  assertInRange,
  BINARY_OPERATORS,
  type CalculatorFunction,
  type CalculatorValue,
  CONSTANTS,
  FUNCTIONS,
  isExact,
  type CalculatorOperation,
  OperationError,
  POSTFIX_OPERATORS,
  PREFIX_OPERATORS,
  readNumber,
} from "./operations.ts";
import { sizeOf, writeRational } from "./rational.ts";

/** Result of `evaluateExpression`. `isExact` is false if the text is rounded. */
export type Evaluation =
  | { readonly ok: true; readonly text: string; readonly isExact: boolean }
  /** `position` counts code units from 0. */
  | { readonly ok: false; readonly message: string; readonly position: number };

const MAX_LENGTH = 2000;
/** Maximum nesting of parentheses, signs, powers and functions. */
const MAX_DEPTH = 100;
/** Limit for the sum of squared sizes in bits of all steps: about 0.1 s in the worst case. */
const MAX_WORK = 4e9;

/**
 * Evaluates an arithmetic expression with exact fractions where possible. Returns a message and a position if the
 * expression is not valid or has more than 2,000 characters; it does not throw.
 *
 * ```ts
 * evaluateExpression("128 * 15%"); // { ok: true, text: "19.2", isExact: true }
 * ```
 */
export function evaluateExpression(text: string): Evaluation {
  try {
    if (text.length > MAX_LENGTH)
      throw new ExpressionError(
        `the expression has ${text.length} characters; at most ${MAX_LENGTH} are allowed`,
        MAX_LENGTH,
      );
    const value = new ExpressionParser(tokenize(text)).parse();
    return { ok: true, ...(isExact(value) ? writeRational(value) : { text: writeDouble(value), isExact: false }) };
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    return { ok: false, message: error.message, position: error.position };
  }
}

class ExpressionError extends Error {
  /** In code units from 0. */
  readonly position: number;

  constructor(message: string, position: number) {
    super(message);
    this.position = position;
  }
}

/** Writes the digits that a double has for sure. */
function writeDouble(value: number): string {
  const text = String(Number(value.toPrecision(15)));
  return text === "-0" ? "0" : text.replace("e+", "e");
}

class ExpressionParser {
  readonly #tokens: readonly ExpressionToken[];
  #next = 0;
  #depth = 0;
  #work = 0;

  constructor(tokens: readonly ExpressionToken[]) {
    this.#tokens = tokens;
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
    return this.#readChain(["+", "-"], () => this.#readChain(["*", "/", "%"], () => this.#readSign()));
  }

  #readChain(symbols: readonly string[], readOperand: () => CalculatorValue): CalculatorValue {
    let value = readOperand();
    for (;;) {
      const token = this.#take(...symbols);
      if (token === undefined) return value;
      value = this.#apply(token, BINARY_OPERATORS[token.text] as CalculatorOperation, value, readOperand());
    }
  }

  #readSign(): CalculatorValue {
    const token = this.#take("+", "-", "√");
    if (token === undefined) return this.#readPower();
    const value = this.#nest(token, () => this.#readSign());
    return this.#apply(token, PREFIX_OPERATORS[token.text] as CalculatorOperation, value);
  }

  #readPower(): CalculatorValue {
    const base = this.#readPostfix();
    const token = this.#take("^");
    if (token === undefined) return base;
    const exponent = this.#nest(token, () => this.#readSign());
    return this.#apply(token, BINARY_OPERATORS[token.text] as CalculatorOperation, base, exponent);
  }

  #readPostfix(): CalculatorValue {
    let value = this.#readPrimary();
    for (;;) {
      const token = this.#peek();
      if (token.text !== "!" && !(token.text === "%" && this.#isPercent())) return value;
      this.#next++;
      value = this.#apply(token, POSTFIX_OPERATORS[token.text] as CalculatorOperation, value);
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
    if (kind === "number") return this.#apply(token, () => readNumber(text));
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
    return this.#apply(token, found.apply, ...values);
  }

  /** Applies an operator or function. Limits the result, and the time spent on long numbers. */
  #apply(
    token: ExpressionToken,
    operation: CalculatorOperation,
    ...values: readonly CalculatorValue[]
  ): CalculatorValue {
    try {
      const result = operation(...values);
      assertInRange(result);
      const sizes = values.map(countBits);
      this.#work +=
        Math.max(
          countBits(result),
          sizes.reduce((sum, bits) => sum + bits, 0),
        ) ** 2;
      if (this.#work > MAX_WORK) throw new ExpressionError("the numbers are too long to continue", token.at);
      return result;
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
      throw new ExpressionError(`\`${token.text.slice(0, 40)}\` ${error.message}`, token.at);
    }
  }

  #nest<T>(token: ExpressionToken, read: () => T): T {
    if (++this.#depth > MAX_DEPTH)
      throw new ExpressionError(`the expression is nested deeper than ${MAX_DEPTH} levels`, token.at);
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
}

function countBits(value: CalculatorValue): number {
  return isExact(value) ? sizeOf(value) : 0;
}

function describeCount({ min, max }: CalculatorFunction): string {
  if (min === max) return min === 1 ? "one argument" : `${min} arguments`;
  return `${min} to ${max} arguments`;
}

interface ExpressionToken {
  readonly kind: "number" | "name" | "symbol" | "end";
  /** Numbers without underscores, names in lower case. */
  readonly text: string;
  readonly at: number;
}

/** Other characters for the same sign. Each is one code unit, so that positions stay the same. */
const SPELLINGS: { readonly [sign: string]: string } = {
  "×": "*",
  "∗": "*",
  "⋅": "*",
  "·": "*",
  "÷": "/",
  "∕": "/",
  "−": "-",
  "–": "-",
  "。": ".",
  "，": ",",
  "、": ",",
  "【": "(",
  "】": ")",
};
/** Full-width characters (U+FF01 to U+FF5E) are in the order of ASCII. */
const FULL_WIDTH = 0xff01 - 0x21;
const DIGITS = "[0-9](?:_?[0-9])*";
const NUMBER = `(?:${DIGITS}(?:\\.(?:${DIGITS})?)?|\\.${DIGITS})(?:[eE][+-]?[0-9]+)?`;
const TOKEN = new RegExp(`(${NUMBER})|([a-zA-Z][a-zA-Z0-9_]*)|(\\*\\*|[-+*/%^!(),π√])|\\S`, "gu");

/**
 * Splits an expression into numbers, names and symbols. Accepts Chinese punctuation, full-width characters and
 * mathematical signs. Positions refer to the original text.
 */
function tokenize(text: string): readonly ExpressionToken[] {
  const source = text
    .replaceAll(/[\uff01-\uff5e]/g, (sign) => String.fromCharCode(sign.charCodeAt(0) - FULL_WIDTH))
    .replaceAll(/[^ -~]/g, (sign) => SPELLINGS[sign] ?? sign);
  const tokens: ExpressionToken[] = [];
  for (const { 0: found, 1: number, 2: name, 3: symbol, index: at } of source.matchAll(TOKEN)) {
    if (number !== undefined) {
      const end = at + number.length;
      if (source[end] === "_") throw new ExpressionError("underscores are only allowed between two digits", end);
      if (source[end] === ".") throw new ExpressionError("a number can have only one decimal point", end);
      tokens.push({ kind: "number", text: number.replaceAll("_", ""), at });
    } else if (name !== undefined) tokens.push({ kind: "name", text: name.toLowerCase(), at });
    else if (symbol !== undefined) tokens.push({ kind: "symbol", text: symbol === "**" ? "^" : symbol, at });
    else throw new ExpressionError(`unexpected character \`${text.slice(at, at + found.length)}\``, at);
  }
  return [...tokens, { kind: "end", text: "", at: source.length }];
}
