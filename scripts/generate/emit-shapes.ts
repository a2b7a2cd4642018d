/** Turns shapes without a tag into TypeScript: an interface for each, a map of them, and their forms. */
import { emitForm } from "./emit-form.ts";
import { emitInterface } from "./emit-code.ts";
import type { Shape } from "../../src/protocol/schema.ts";

export function emitShapes(shapes: { readonly [name: string]: Shape }, protocolPath: string): string {
  const names = Object.keys(shapes);
  const interfaces = Object.entries(shapes).map(([name, shape]) => emitInterface(name, shape));
  const forms = Object.entries(shapes).map(
    ([name, shape]) => `  ${name}: parseForm(${JSON.stringify(emitForm(shape))}),`,
  );
  const body = [
    interfaces.join("\n\n"),
    `/** From the name to its interface. */\nexport interface ApiShapeMap {\n${names.map((n) => `  readonly ${n}: ${n};`).join("\n")}\n}`,
    "export type ApiShapeName = keyof ApiShapeMap;",
    `export const API_FORMS: { readonly [N in ApiShapeName]: Form } = {\n${forms.join("\n")}\n};`,
  ].join("\n\n");
  const json = ["Json", "JsonObject"].filter((name) => new RegExp(`\\b${name}\\b`).test(body));
  return [
    "/**",
    " * Generated from the declarations by `npm run generate`; edit those instead.",
    " * The types of what is asked and answered over HTTP, and the forms it is checked against.",
    " */",
    `import { type Form, parseForm } from "${protocolPath}/form.ts";`,
    ...(json.length > 0 ? [`import type { ${json.join(", ")} } from "${protocolPath}/json.ts";`] : []),
    "",
    body,
    "",
  ].join("\n");
}
