/**
 * Types of Standard Schema version 1 and of its JSON Schema extension, as far as tools use them. Declared here to avoid
 * a dependency. Zod, Valibot, ArkType and other libraries implement them.
 */

/** A schema that validates a value and can transform it. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    validate(value: unknown): StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Present if the library can produce JSON Schema. Throws if JSON Schema cannot express the schema. */
    readonly jsonSchema?: { input(options: { readonly target: string }): { readonly [key: string]: unknown } };
  };
}

/** Result of a validation: the value, or the issues. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** One problem that a validation found. `path` leads to the field. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Type of the values that a schema returns. */
export type OutputOf<Schema extends StandardSchema> = NonNullable<Schema["~standard"]["types"]>["output"];
