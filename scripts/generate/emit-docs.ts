/**
 * The tables of the documentation: the vocabulary in two languages, what each dialect does with it, and the rules.
 */
import type { Dialect } from "../../src/dialects/index.ts";
import {
  ENVELOPE,
  EVENT_TYPES,
  EVENTS,
  type Field,
  type Fields,
  isSpecified,
  type RuleTable,
  type Schema,
  type Shape,
} from "../../src/protocol/index.ts";

export type Language = "en" | "zh";

const WORDS = {
  en: {
    field: "field",
    type: "type",
    required: "required",
    about: "meaning",
    yes: "yes",
    no: "no",
    ours: "additional",
    key: "export key",
    section: "section",
    rule: "rule",
    level: "level",
    none: "No payload fields.",
  },
  zh: {
    field: "字段",
    type: "类型",
    required: "必填",
    about: "含义",
    yes: "是",
    no: "否",
    ours: "附加",
    key: "EXPORT 键",
    section: "章节",
    rule: "规则",
    level: "级别",
    none: "无载荷字段。",
  },
};

/** A Markdown table; bars inside cells are escaped. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function typeText(schema: Schema): string {
  switch (schema.kind) {
    case "string":
    case "boolean":
    case "number":
      return schema.kind;
    case "integer":
      return "integer";
    case "json":
      return "any JSON";
    case "map":
      return "object";
    case "enum":
      return schema.values.map((value) => `\`"${value}"\``).join(" or ");
    case "open-enum":
      return `string: ${schema.values.map((value) => `\`"${value}"\``).join(", ")}, …`;
    case "array":
      return `[ ${typeText(schema.items)}, … ]`;
    case "object":
      return `{ ${Object.entries(schema.fields)
        .map(([name, field]) => `${name}${field.required ? "" : "?"}`)
        .join(", ")} }`;
    case "union":
      return schema.options.map(typeText).join(" or ");
    case "nullable":
      return `${typeText(schema.of)} or null`;
  }
}

function fieldRows(fields: Fields, language: Language): string[][] {
  const words = WORDS[language];
  return Object.entries(fields).map(([name, field]: [string, Field]) => [
    `\`${name}\``,
    typeText(field.schema),
    field.required ? words.yes : field.additional ? `${words.no} (${words.ours})` : words.no,
    field.about[language],
  ]);
}

export function envelopeTable(language: Language): string {
  const words = WORDS[language];
  return table([words.field, words.type, words.required, words.about], fieldRows(ENVELOPE.fields, language));
}

/** A section per event type. */
export function eventSections(language: Language, which: "specified" | "ours"): string {
  const types = EVENT_TYPES.filter((type) => (which === "specified") === (isSpecified(type) || type === "reply"));
  return types
    .map((type) => {
      const shape: Shape = EVENTS[type];
      const key = isSpecified(type) ? ` · ${WORDS[language].key} \`${EVENTS[type].exportKey}\`` : "";
      const stop = language === "en" ? "." : "。";
      const body = shapeTable(shape, language);
      return `### \`${type}\`\n\n${shape.about[language]}${stop} ${shape.section}${key}\n\n${body}`;
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
    Object.entries(rules).map(([name, rule]) => [`\`${name}\``, rule.level, rule.section, rule.about[language]]),
  );
}

/** What becomes of every event type in a dialect. */
export function ledgerTable(dialect: Dialect): string {
  const rows = EVENT_TYPES.map((type) => {
    const row = dialect.ledger[type];
    if (row.fate === "omitted") return [`\`${type}\``, "omitted", "", "", row.reason];
    const fate = row.fate === "carried" ? "carried" : "carried as something else";
    return [`\`${type}\``, fate, `\`${row.as}\``, row.loses.map((field) => `\`${field}\``).join(", "), row.note ?? ""];
  });
  return table(["event", "fate", "frame", "fields that do not arrive", "note"], rows);
}

export function frameSections(frames: { readonly [tag: string]: Shape }): string {
  return Object.entries(frames)
    .map(
      ([tag, shape]) =>
        `### \`${tag}\`\n\n${shape.about.en}. ${shape.section}\n\n${shapeTable(withInner(shape), "en")}`,
    )
    .join("\n\n");
}

/** Frames whose fields lie one level deeper are shown with those, by path. */
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
