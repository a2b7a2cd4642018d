/** Finds the extent of an arithmetic expression in a text. It does not compute; the calculator tool does. */

export interface Expression {
  readonly end: number;
  /** Number of operators and functions. */
  readonly operations: number;
}

const NUMBER = /\s*(?:\d+(?:\.\d+)?|\.\d+)/y;
const OPERATOR = /\s*[-+*/^%]/y;
const SIGN = /\s*[-+]/y;
const OPENING = /\s*(?:(?:sqrt|abs|round|floor|ceil|sin|cos|tan|ln|log|exp)\s*)?\(/iy;
const CLOSING = /\s*\)/y;
const MAX_DEPTH = 32;

/** Returns the longest expression that begins at `at`, or undefined. */
export function readExpression(text: string, at: number, depth = 0): Expression | undefined {
  let operand = readOperand(text, at, depth);
  if (operand === undefined) return undefined;
  let { end, operations } = operand;
  for (;;) {
    const operator = reach(OPERATOR, text, end);
    if (operator === undefined) return { end, operations };
    operand = readOperand(text, operator, depth);
    if (operand === undefined) return { end, operations };
    end = operand.end;
    operations += operand.operations + 1;
  }
}

function readOperand(text: string, at: number, depth: number): Expression | undefined {
  const start = reach(SIGN, text, at) ?? at;
  const number = reach(NUMBER, text, start);
  if (number !== undefined) return { end: number, operations: 0 };
  const open = depth < MAX_DEPTH ? reach(OPENING, text, start) : undefined;
  if (open === undefined) return undefined;
  const inner = readExpression(text, open, depth + 1);
  const end = inner && reach(CLOSING, text, inner.end);
  if (inner === undefined || end === undefined) return undefined;
  const isCall = /[a-z]/i.test(text.slice(start, open));
  return { end, operations: inner.operations + (isCall ? 1 : 0) };
}

function reach(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}
