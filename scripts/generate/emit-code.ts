/**
 * Turns declared shapes into TypeScript: an interface per shape and a validator per shape, plus a switch over all of
 * them. The validators are plain code: no eval at run time, no schema library in a page.
 */
import type { Field, Fields, Schema, Shape } from "../../src/protocol/schema.ts";
import { emitReader } from "./emit-readers.ts";

export interface CodeRequest {
  /** Names the union type and the functions: "LoomEvent" gives `findLoomEventFault`. */
  readonly union: string;
  readonly shapes: { readonly [tag: string]: Shape };
  /** Shapes without a tag, exported as an interface of this name. */
  readonly untagged?: { readonly [name: string]: Shape };
  /** Appended to each interface name, so that two vocabularies do not clash. */
  readonly suffix: string;
  readonly protocolPath: string;
  /** Also write code that reads each shape from a flat frame. */
  readonly readers?: boolean;
}

export function emitCode(request: CodeRequest): string {
  const checks: string[] = [];
  const emitter = new CheckEmitter();
  const interfaces: string[] = [];
  for (const [tag, shape] of Object.entries(request.shapes)) {
    const name = pascalCase(tag) + request.suffix;
    interfaces.push(emitInterface(name, shape, tag));
    checks.push(emitter.emitCheck(`check${name}`, shape.fields));
  }
  const untagged = Object.entries(request.untagged ?? {});
  for (const [name, shape] of untagged) {
    interfaces.push(emitInterface(name, shape));
    checks.push(emitter.emitCheck(`find${name}Fault`, shape.fields, true));
  }
  const tags = Object.keys(request.shapes);
  const { union, suffix } = request;
  const names = tags.map((tag) => pascalCase(tag) + suffix);
  const code = [
    interfaces.join("\n\n"),
    `/** One of all the above, told apart by \`type\`. */\nexport type ${union} =\n${names.map((n) => `  | ${n}`).join("\n")};`,
    `/** From the type to its interface. */\nexport interface ${union}Map {\n${tags.map((t) => `  readonly ${quote(t)}: ${pascalCase(t)}${suffix};`).join("\n")}\n}`,
    [...emitter.inner, ...checks].join("\n\n"),
    emitCodeTable(request),
    `/** Checks the fields of a value whose \`type\` is known; undefined when they fit, and when the type is none of these. */
export function find${union}Fault(given: object, hints?: Hint[]): Fault | undefined {
  const value = given as Value;
  return CODE.get(value["type"])?.check(value, hints);
}`,
  ].join("\n\n");
  return `${header(request.protocolPath, code)}\n${code}\n`;
}

function emitReaders({ suffix, shapes }: CodeRequest): string {
  return Object.entries(shapes)
    .map(([tag, shape]) => emitReader(tag, pascalCase(tag) + suffix, shape))
    .join("\n\n");
}

/**
 * From the type to its code. A lookup by hash: the type of a parsed frame is a fresh string, and comparing it with every
 * name in turn would cost more than all the checks.
 */
function emitCodeTable(request: CodeRequest): string {
  const { union, suffix, shapes } = request;
  const reads = request.readers === true;
  const rows = Object.keys(shapes).map((tag) => {
    const name = pascalCase(tag) + suffix;
    return `  [${quote(tag)}, { check: check${name}${reads ? `, read: read${name}` : ""} }],`;
  });
  const code = reads ? `${union}Code` : "Code";
  return [
    ...(reads ? [emitReaders(request)] : []),
    `/** The code that handles one type. */
${reads ? "export " : ""}interface ${code} {
  /** The first thing wrong with the fields. */
  check(value: Value, hints?: Hint[]): Fault | undefined;${reads ? `\n  /** The event in a flat frame that has \`fields\` fields beside its type and its envelope, if all is in order. */\n  read(value: Value, fields: number): object | undefined;` : ""}
}`,
    `const CODE: ReadonlyMap<unknown, ${code}> = new Map<string, ${code}>([\n${rows.join("\n")}\n]);`,
    ...(reads ? [`export function find${code}(type: string): ${code} | undefined {\n  return CODE.get(type);\n}`] : []),
  ].join("\n\n");
}

function header(protocolPath: string, code: string): string {
  const used = (name: string) => new RegExp(`\\b${name}\\b`).test(code);
  const faults = ["moveHints", "outside", "tooDeep", "unlisted", "within", "wrong"].filter(used);
  const jsonTypes = ["Json", "JsonObject"].filter(used).map((name) => `type ${name}`);
  const jsonFunctions = ["isDeeperThan"].filter(used);
  const lines = [
    "/**",
    " * Generated from the declarations by `npm run generate`; edit those instead.",
    " * The types of the vocabulary, and the code that checks a value against them.",
    " */",
    `import { type Fault, type Hint${faults.map((f) => `, ${f}`).join("")} } from "${protocolPath}/fault.ts";`,
  ];
  const json = [...jsonFunctions, ...jsonTypes];
  if (json.length > 0) lines.push(`import { ${json.join(", ")} } from "${protocolPath}/json.ts";`);
  lines.push("", "type Value = { readonly [field: string]: unknown };", "");
  return lines.join("\n");
}

function pascalCase(name: string): string {
  return name
    .split(/[_-]/)
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("");
}

const quote = (text: string): string => JSON.stringify(text);

function emitInterface(name: string, shape: Shape, tag?: string): string {
  const tagLine = tag === undefined ? [] : [`  readonly type: ${quote(tag)};`];
  const fields = Object.entries(shape.fields).flatMap(([field, declared]) => [
    `  /** ${declared.about.en} */`,
    `  readonly ${emitMember(field, declared)};`,
  ]);
  return [
    `/** ${shape.about.en} (${shape.section}). */`,
    `export interface ${name} {`,
    ...tagLine,
    ...fields,
    "}",
  ].join("\n");
}

function emitMember(name: string, field: Field): string {
  const key = /^[a-z_]\w*$/i.test(name) ? name : quote(name);
  return field.required ? `${key}: ${emitType(field.schema)}` : `${key}?: ${emitType(field.schema)}`;
}

function emitType(schema: Schema): string {
  switch (schema.kind) {
    case "string":
      return "string";
    case "number":
    case "integer":
      return "number";
    case "boolean":
      return "boolean";
    case "json":
      return "Json";
    case "map":
      return "JsonObject";
    case "enum":
      return schema.values.map(quote).join(" | ");
    case "open-enum":
      return `${schema.values.map(quote).join(" | ")} | (string & {})`;
    case "array": {
      const items = emitType(schema.items);
      return `readonly ${/[|&]/.test(items) ? `(${items})` : items.startsWith("readonly") ? `(${items})` : items}[]`;
    }
    case "object":
      return `{ ${Object.entries(schema.fields)
        .map(([name, field]) => `readonly ${emitMember(name, field)}`)
        .join("; ")} }`;
    case "union":
      return schema.options.map(emitType).join(" | ");
    case "nullable":
      return `${emitType(schema.of)} | null`;
  }
}

/** Writes check functions; inner objects get functions of their own, shared where they are the same. */
class CheckEmitter {
  readonly inner: string[] = [];
  readonly #functions = new Map<string, InnerFunction>();

  emitCheck(name: string, fields: Fields, exported = false): string {
    const body = Object.entries(fields).map(([field, declared]) => this.#emitField(field, declared));
    const usesHints = body.some((text) => text.includes("hints"));
    const parameter = usesHints ? ", hints?: Hint[]" : exported ? "" : ", _hints?: Hint[]";
    const first = `${exported ? "export " : ""}function ${name}(value: Value${parameter}): Fault | undefined {`;
    return [first, ...body, "  return undefined;", "}"].join("\n");
  }

  #emitField(name: string, field: Field): string {
    const local = `${name.replaceAll(/\W/g, "_")}_`;
    const read = `  const ${local} = value[${quote(name)}];`;
    const checks = this.#emitSchema(field.schema, local, quote(name)).map((line) => `  ${line}`);
    if (field.required) return [read, ...checks].join("\n");
    return [
      read,
      `  if (${local} !== undefined && ${local} !== null) {`,
      ...checks.map((line) => `  ${line}`),
      "  }",
    ].join("\n");
  }

  #emitSchema(schema: Schema, variable: string, path: string): string[] {
    const refuse = (expected: string) => `return wrong(${path}, ${quote(expected)}, ${variable});`;
    switch (schema.kind) {
      case "string":
        return [`if (typeof ${variable} !== "string") ${refuse("a string")}`];
      case "boolean":
        return [`if (typeof ${variable} !== "boolean") ${refuse("true or false")}`];
      case "number":
      case "integer": {
        const noun = schema.kind === "integer" ? "a whole number" : "a finite number";
        const lines = [`if (typeof ${variable} !== "number") ${refuse(noun)}`];
        const bounds: string[] = [];
        bounds.push(schema.kind === "integer" ? `!Number.isInteger(${variable})` : `!Number.isFinite(${variable})`);
        if (schema.min !== undefined) bounds.push(`${variable} < ${schema.min}`);
        if (schema.max !== undefined) bounds.push(`${variable} > ${schema.max}`);
        const range = rangeOf(schema.min, schema.max);
        lines.push(`if (${bounds.join(" || ")}) return outside(${path}, ${quote(noun + range)}, ${variable});`);
        return lines;
      }
      case "json":
        return [
          `if (${variable} === undefined) ${refuse("a JSON value")}`,
          `if (isDeeperThan(${variable})) return tooDeep(${path});`,
        ];
      case "map":
        return [
          `if (typeof ${variable} !== "object" || ${variable} === null || Array.isArray(${variable})) ${refuse("an object")}`,
          `if (isDeeperThan(${variable})) return tooDeep(${path});`,
        ];
      case "enum": {
        const known = schema.values.map((v) => `${variable} !== ${quote(v)}`).join(" && ");
        const expected =
          schema.values.length === 1 ? quote(schema.values[0] ?? "") : `one of ${schema.values.join(", ")}`;
        return [
          `if (typeof ${variable} !== "string") ${refuse(expected)}`,
          `if (${known}) return outside(${path}, ${quote(expected)}, ${variable});`,
        ];
      }
      case "open-enum": {
        const known = schema.values.map((v) => `${variable} !== ${quote(v)}`).join(" && ");
        return [
          `if (typeof ${variable} !== "string") ${refuse("a string")}`,
          `if (hints !== undefined && ${known}) hints.push(unlisted(${path}, ${variable}, ${JSON.stringify(schema.values)}));`,
        ];
      }
      case "array": {
        const inner = this.#emitSchema(schema.items, "item", "`[${index}]`").map((line) => `  ${line}`);
        const fn = this.#innerFunction(
          `array:${JSON.stringify(schema.items)}`,
          ["for (const [index, item] of value.entries()) {", ...inner, "}"],
          "value: readonly unknown[]",
        );
        return [`if (!Array.isArray(${variable})) ${refuse("an array")}`, ...callInner(fn, variable, path)];
      }
      case "object": {
        const key = `object:${JSON.stringify(schema.fields)}`;
        const body = Object.entries(schema.fields).map(([field, declared]) => this.#emitField(field, declared));
        const fn = this.#innerFunction(
          key,
          body
            .join("\n")
            .split("\n")
            .map((line) => line.replace(/^ {2}/, "")),
          "value: Value",
        );
        return [
          `if (typeof ${variable} !== "object" || ${variable} === null || Array.isArray(${variable})) ${refuse("an object")}`,
          ...callInner(fn, `${variable} as Value`, path),
        ];
      }
      case "union":
        return this.#emitUnion(schema.options, variable, path);
      case "nullable":
        return [
          `if (${variable} === undefined) ${refuse("present, if only as null")}`,
          `if (${variable} !== null) {`,
          ...this.#emitSchema(schema.of, variable, path).map((line) => `  ${line}`),
          "}",
        ];
    }
  }

  /** A union of texts and one object: texts are compared, everything else is checked as the object. */
  #emitUnion(options: readonly Schema[], variable: string, path: string): string[] {
    const texts = options.flatMap((option) => (option.kind === "enum" ? option.values : []));
    const rest = options.filter((option) => option.kind !== "enum");
    const [other] = rest;
    if (other === undefined || rest.length !== 1) throw new Error("a union is of texts and one other schema");
    const test = texts.map((text) => `${variable} !== ${quote(text)}`).join(" && ");
    const expected = `${texts.map(quote).join(", ")} or an object`;
    const refuse = `if (typeof ${variable} === "string") return outside(${path}, ${quote(expected)}, ${variable});`;
    return [
      `if (${test}) {`,
      `  ${refuse}`,
      ...this.#emitSchema(other, variable, path).map((line) => `  ${line}`),
      "}",
    ];
  }

  #innerFunction(key: string, body: readonly string[], parameter: string): InnerFunction {
    const known = this.#functions.get(key);
    if (known !== undefined) return known;
    const usesHints = body.some((line) => line.includes("hints"));
    const made = { name: `checkInner${this.#functions.size + 1}`, usesHints };
    this.#functions.set(key, made);
    const parameters = usesHints ? `${parameter}, hints: Hint[] | undefined` : parameter;
    const lines = [
      `function ${made.name}(${parameters}): Fault | undefined {`,
      ...body.map((line) => `  ${line}`),
      "  return undefined;",
      "}",
    ];
    this.inner.push(lines.join("\n"));
    return made;
  }
}

interface InnerFunction {
  readonly name: string;
  readonly usesHints: boolean;
}

function callInner({ name, usesHints }: InnerFunction, argument: string, path: string): string[] {
  if (usesHints) {
    return [
      "{",
      "  const before = hints?.length ?? 0;",
      `  const fault = ${name}(${argument}, hints);`,
      `  if (hints !== undefined && hints.length > before) moveHints(hints, before, ${path});`,
      `  if (fault !== undefined) return within(${path}, fault);`,
      "}",
    ];
  }
  return [
    "{",
    `  const fault = ${name}(${argument});`,
    `  if (fault !== undefined) return within(${path}, fault);`,
    "}",
  ];
}

function rangeOf(min: number | undefined, max: number | undefined): string {
  const top = max === Number.MAX_SAFE_INTEGER ? "2^53-1" : max;
  if (min !== undefined && top !== undefined) return ` from ${min} to ${top}`;
  if (min !== undefined) return `, at least ${min}`;
  return "";
}
