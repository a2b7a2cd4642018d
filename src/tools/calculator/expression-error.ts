/** An error in an expression and its position. Internal to the calculator, which returns it as a result. */
export class ExpressionError extends Error {
  override readonly name = "ExpressionFault";
  /** In code units from 0. */
  readonly position: number;

  constructor(message: string, position: number) {
    super(message);
    this.position = position;
  }
}
