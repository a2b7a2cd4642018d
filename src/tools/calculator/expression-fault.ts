/** What is wrong with an expression, and where. It stays within the calculator, which gives it as an outcome. */
export class ExpressionFault extends Error {
  override readonly name = "ExpressionFault";
  /** In code units from 0. */
  readonly position: number;

  constructor(message: string, position: number) {
    super(message);
    this.position = position;
  }
}
