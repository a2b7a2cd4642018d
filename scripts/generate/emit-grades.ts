/**
 * Writes what raising a rule needs of its declaration: how grave it is and where it comes from, without the sentences.
 */
import type { RuleTable } from "../../src/protocol/rules.ts";

export function emitGrades(name: string, rules: RuleTable, protocolPath: string): string {
  const rows = Object.entries(rules).map(([rule, { level, section, perFrame }]) => {
    const more = perFrame === true ? ", perFrame: true" : "";
    return `  ${JSON.stringify(rule)}: { level: ${JSON.stringify(level)}, section: ${JSON.stringify(section)}${more} },`;
  });
  return `/**
 * Generated from the declarations by \`npm run generate\`; edit those instead.
 * How grave each rule is and which section it comes from.
 */
import type { GradeTable } from "${protocolPath}/rules.ts";

export const ${name}_GRADES = {
${rows.join("\n")}
} as const satisfies GradeTable;
`;
}
