// Describes how an input was refused, in lines of a golden file. What changes between runs is replaced by a name.
import { stripVTControlCharacters } from "node:util";
import { isLoomError } from "../../src/protocol/index.ts";
import { packageRoot } from "../source-files.ts";
import { folder } from "../cli-run.ts";

/** What is sent, by name. It throws, or returns a text that describes how it was refused. */
export type BadInputs = { readonly [name: string]: () => unknown };

const UNSTABLE: readonly (readonly [pattern: RegExp | string, name: string])[] = [
  [folder, "FOLDER"],
  [packageRoot, "PACKAGE"],
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UUID"],
  [/(?<=retry-after: |try again in )\d+/g, "SECONDS"],
  [/(?<="retry_after_ms":)\d{5}/g, "MILLISECONDS"],
];

/** Sends the inputs one after another; each must be refused. Returns the name of each and how it was refused, indented. */
export async function describeRefusals(inputs: BadInputs): Promise<string> {
  const parts: string[] = [];
  for (const [name, send] of Object.entries(inputs)) {
    const found = await describeRefusal(send);
    if (found === undefined) throw new Error(`This input is accepted: ${name}`);
    const text = UNSTABLE.reduce((all, [pattern, word]) => all.replaceAll(pattern, word), found);
    parts.push(`${name}\n${text.replaceAll(/^(?=.)/gm, "    ")}\n`);
  }
  return parts.join("");
}

/** Returns undefined if the input is accepted. */
async function describeRefusal(send: () => unknown): Promise<string | undefined> {
  try {
    const answer = await send();
    return typeof answer === "string" ? stripVTControlCharacters(answer) : undefined;
  } catch (error) {
    if (isLoomError(error)) return describeError(error);
    return error instanceof Error ? `${error.name}\n${error.message}` : String(error);
  }
}

/** Returns lines with the code, the text and the details of an error. */
export function describeError({ code, message, details }: RefusalError): string {
  return [code, message, ...(details === undefined || isEmpty(details) ? [] : [JSON.stringify(details)])].join("\n");
}

interface RefusalError {
  readonly code: string;
  readonly message: string;
  readonly details?: object | undefined;
}

function isEmpty(object: object): boolean {
  return Object.keys(object).length === 0;
}
