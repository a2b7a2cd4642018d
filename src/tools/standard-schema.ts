/**
 * The part of Standard Schema (version 1) and of its extension for JSON Schema that tools use, written down here so that
 * no package is needed for its types. Zod, Valibot, ArkType and others give such objects.
 */

/** Something that checks a value, and perhaps changes it. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    validate(value: unknown): StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Where the library can say what it accepts. May throw for what JSON Schema has no words for. */
    readonly jsonSchema?: { input(options: { readonly target: string }): { readonly [key: string]: unknown } };
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What a schema makes of its input. */
export type OutputOf<Schema extends StandardSchema> = NonNullable<Schema["~standard"]["types"]>["output"];
