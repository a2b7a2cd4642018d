/**
 * Generates the tables of the documentation: events in English and Chinese, the ledger of each dialect, and the rules.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Dialect } from "../../src/dialects/index.ts";
import { CONTROL_SECTION } from "../../src/protocol/control/frames.ts";
import { EVENT_TYPES } from "../../src/protocol/index.ts";
import type { RuleTable } from "../../src/protocol/rules.ts";
import { ENVELOPE } from "../../src/protocol/envelope.ts";
import { EVENTS } from "../../src/protocol/events/index.ts";
import { isSpecified } from "../../src/protocol/record.ts";
import type { Field, Fields, Schema, Shape } from "../../src/protocol/schema.ts";
import type { AnyOperation } from "../../src/server/api/operation.ts";
import type { ApiShapeName } from "../../src/server/api/shapes.generated.ts";
import { API_SHAPES } from "../../src/server/api/shapes.ts";
import { scopeOf } from "../../src/server/auth/scopes.ts";
import { ROOT } from "./write-files.ts";

export type Language = "en" | "zh";

const WORDS = {
  en: {
    field: "Field",
    type: "Type",
    required: "Required",
    about: "Description",
    yes: "yes",
    no: "no",
    additional: "no (additional)",
    specification: "Specification: ",
    key: "Export key: ",
    stop: ".",
    gap: " ",
    section: "Section",
    rule: "Rule",
    level: "Level",
    none: "No payload fields.",
    anyJson: "any JSON",
    or: " or ",
  },
  zh: {
    field: "字段",
    type: "类型",
    required: "必填",
    about: "说明",
    yes: "是",
    no: "否",
    additional: "否（附加）",
    specification: "规范：",
    key: "export 键：",
    stop: "。",
    gap: "",
    section: "章节",
    rule: "规则",
    level: "级别",
    none: "没有载荷字段。",
    anyJson: "任意 JSON",
    or: " 或 ",
  },
};

const RULE_TEXTS = JSON.parse(readFileSync(join(ROOT, "spec", "rules.json"), "utf8")) as {
  readonly [rule: string]: { readonly [L in Language]?: string };
};

/** Returns a Markdown table; pipes in cells are escaped. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function typeText(schema: Schema, language: Language): string {
  const { anyJson, or } = WORDS[language];
  switch (schema.kind) {
    case "string":
    case "boolean":
    case "number":
      return schema.kind;
    case "integer":
      return "integer";
    case "json":
      return anyJson;
    case "map":
      return "object";
    case "enum":
      return schema.values.map((value) => `\`"${value}"\``).join(or);
    case "open-enum":
      return `string: ${schema.values.map((value) => `\`"${value}"\``).join(", ")}, …`;
    case "array":
      return `[ ${typeText(schema.items, language)}, … ]`;
    case "object":
      return `{ ${Object.entries(schema.fields)
        .map(([name, field]) => `${name}${field.required ? "" : "?"}`)
        .join(", ")} }`;
    case "union":
      return schema.options.map((option) => typeText(option, language)).join(or);
    case "nullable":
      return `${typeText(schema.of, language)}${or}null`;
  }
}

function aboutIn({ about, zh }: Field | Shape, language: Language): string {
  if (language === "en") return about;
  if (zh === undefined) throw new Error(`No Chinese text for "${about}"`);
  return zh;
}

function fieldRows(fields: Fields, language: Language): string[][] {
  const words = WORDS[language];
  return Object.entries(fields).map(([name, field]: [string, Field]) => [
    `\`${name}\``,
    typeText(field.schema, language),
    field.required ? words.yes : field.additional ? words.additional : words.no,
    aboutIn(field, language),
  ]);
}

export function envelopeTable(language: Language): string {
  const words = WORDS[language];
  return table([words.field, words.type, words.required, words.about], fieldRows(ENVELOPE.fields, language));
}

/** Returns a section for each event type. */
export function eventSections(language: Language, which: "specified" | "extension"): string {
  const types = EVENT_TYPES.filter((type) => (which === "specified") === (isSpecified(type) || type === "reply"));
  return types
    .map((type) => {
      const shape: Shape = EVENTS[type];
      const { specification, key, stop, gap } = WORDS[language];
      const origin = `${specification}${shape.section}${stop}`;
      const exported = isSpecified(type) ? `${gap}${key}\`${EVENTS[type].exportKey}\`${stop}` : "";
      return `### \`${type}\`\n\n${aboutIn(shape, language)}${stop}\n\n${origin}${exported}\n\n${shapeTable(shape, language)}`;
    })
    .join("\n\n");
}

function shapeTable(shape: Shape, language: Language): string {
  const words = WORDS[language];
  const rows = fieldRows(shape.fields, language);
  return rows.length === 0 ? words.none : table([words.field, words.type, words.required, words.about], rows);
}

export function ruleTable(rules: RuleTable, language: Language): string {
  const words = WORDS[language];
  return table(
    [words.rule, words.level, words.section, words.about],
    Object.entries(rules).map(([name, { level, section }]) => {
      const text = RULE_TEXTS[name]?.[language];
      if (text === undefined) throw new Error(`spec/rules.json does not describe "${name}" in "${language}"`);
      return [`\`${name}\``, level, section, text];
    }),
  );
}

/** Returns a table of how a dialect represents each event type. */
export function ledgerTable(dialect: Dialect): string {
  const rows = EVENT_TYPES.map((type) => {
    const row = dialect.ledger[type];
    if (row.support === "omitted") return [`\`${type}\``, "omitted", "", "", row.reason];
    return [
      `\`${type}\``,
      row.support,
      `\`${row.frame}\``,
      row.lostFields.map((field) => `\`${field}\``).join(", "),
      row.note ?? "",
    ];
  });
  return table(["Event", "Support", "Frame", "Lost fields", "Note"], rows);
}

export function frameSections(frames: { readonly [tag: string]: Shape }): string {
  return Object.entries(frames)
    .map(([tag, shape]) => {
      const { specification, stop } = WORDS.en;
      const origin = shape.section === CONTROL_SECTION ? "" : `${specification}${shape.section}${stop}\n\n`;
      return `### \`${tag}\`\n\n${shape.about}${stop}\n\n${origin}${shapeTable(withInner(shape), "en")}`;
    })
    .join("\n\n");
}

/** A table of the fields of a body, or of the parameters of a query. */
export function fieldTable(shape: ApiShapeName): string {
  const rows = Object.entries(fieldsOf(shape)).map(([name, { schema, required, about }]) => [
    `\`${name}\`${required ? " (required)" : ""}`,
    typeText(schema, "en"),
    about,
  ]);
  return table(["Field", "Type", "Description"], rows);
}

/** A table of endpoints: what they receive in the query (`?name`) or the body, and the scope that they need. */
export function endpointTable(operations: readonly AnyOperation[]): string {
  const rows = operations.map(({ method, path, query, body, summary, description, action }) => [
    `\`${method} ${path}\``,
    [...namesOf(query).map((name) => `\`?${name}\``), ...namesOf(body).map((name) => `\`${name}\``)].join(", "),
    scopeOf(action) ?? "none",
    description === undefined ? summary : `${summary}. ${description}`,
  ]);
  return table(["Endpoint", "Query and body", "Scope", "Description"], rows);
}

function namesOf(shape: ApiShapeName | undefined): readonly string[] {
  return shape === undefined ? [] : Object.keys(fieldsOf(shape));
}

function fieldsOf(shape: ApiShapeName): Fields {
  const { fields } = API_SHAPES[shape] ?? {};
  if (fields === undefined) throw new TypeError(`No shape is named ${shape}`);
  return fields;
}

/** Lists the fields of `data` and `metadata` by path instead of as objects. */
function withInner(shape: Shape): Shape {
  const fields: [string, Field][] = Object.entries(shape.fields).flatMap(([name, field]): [string, Field][] => {
    if (field.schema.kind !== "object" || (name !== "data" && name !== "metadata")) return [[name, field]];
    return Object.entries(field.schema.fields).map(([inner, innerField]): [string, Field] => [
      `${name}.${inner}`,
      innerField,
    ]);
  });
  return { ...shape, fields: Object.fromEntries(fields) };
}
