/**
 * Writes the API reference as Markdown, one page per entry point: each name with its doc comment, its declaration and a
 * tested program that uses it.
 */
import { API_SECTIONS, emitBlock, findOwners, listHidden, shortNameOf } from "./emit-api-report.ts";
import type { ApiDeclaration, EntryPoint, PublicName } from "./read-public-api.ts";

/**
 * Marks a code block whose type names become links. Names that several declarations have follow with their address, as
 * `Name=/api/page.md#anchor`. The declared name itself has none: `Name=`.
 */
export const API_BLOCK = "api";

/** A program of the documentation. `link` is its position in the docs. */
export interface ApiExample {
  readonly title: string;
  readonly link: string;
  readonly code: string;
}

export interface ApiPagesOptions {
  /** A program that imports a name; undefined if there is none. */
  readonly findExample: (name: string) => ApiExample | undefined;
  /** First paragraph of the page of an entry point. */
  readonly describe: (path: string) => string;
}

export interface ApiPages {
  /** Markdown by short name of the entry point. */
  readonly pages: ReadonlyMap<string, string>;
  /** Address of each declared name, such as `/api/client.md#receiver`. */
  readonly addresses: ReadonlyMap<string, string>;
}

/** In lines. Of a longer example there is only a link. */
const LONGEST_EXAMPLE = 40;

/** An entry on a page: a public name, or a type that only signatures use. */
interface Entry extends PublicName {
  readonly anchor: string;
}

export async function emitApiPages(entryPoints: readonly EntryPoint[], options: ApiPagesOptions): Promise<ApiPages> {
  const owners = findOwners(entryPoints);
  const hidden = listHidden(owners, entryPoints);
  const contents = entryPoints.map((entryPoint) => {
    const { names } = entryPoint;
    const isOwn = ({ declaration }: PublicName): boolean => owners.get(declaration) === entryPoint;
    const own = API_SECTIONS.flatMap(([kind]) => names.filter((name) => isOwn(name) && name.declaration.kind === kind));
    const unnamed = hidden
      .filter(([, owner]) => owner === entryPoint)
      .map(([declaration]) => ({ name: declaration.name, declaration }));
    const entries = addAnchors([...own, ...unnamed]);
    return {
      entryPoint,
      own: entries.slice(0, own.length),
      unnamed: entries.slice(own.length),
      others: names.filter((name) => !isOwn(name)),
    };
  });

  const addresses = new Map<string, string>();
  const exactAddresses = new Map<ApiDeclaration, string>();
  for (const { entryPoint, own, unnamed } of contents) {
    for (const { name, declaration, anchor } of [...own, ...unnamed]) {
      const address = `/api/${shortNameOf(entryPoint.path)}.md#${anchor}`;
      exactAddresses.set(declaration, address);
      for (const key of [name, declaration.name]) if (!addresses.has(key)) addresses.set(key, address);
    }
  }
  const emitCode = ({ name, documentedCode, references }: ApiDeclaration): Promise<string> => {
    const exact = references.flatMap((reference) => {
      const address = exactAddresses.get(reference);
      const isOther = address !== undefined && address !== addresses.get(reference.name);
      return isOther ? [` ${reference.name}=${address}`] : [];
    });
    return emitBlock([documentedCode], { info: ` ${API_BLOCK} ${name}=${exact.join("")}`, printWidth: 90 });
  };

  const emitEntries = async (entries: readonly Entry[]): Promise<string[]> => {
    const sections = entries.map(async (entry) => [
      `### ${entry.name} {#${entry.anchor}}`,
      ...emitComment(entry.declaration),
      await emitCode(entry.declaration),
      ...emitExample(entry, options),
    ]);
    return (await Promise.all(sections)).flat();
  };
  const emitForeign = ({ name, declaration }: PublicName): string => {
    const [summary = ""] = emitComment(declaration).map((text) => text.split(/(?<=\.)\s/)[0]);
    return `- [\`${name}\`](${exactAddresses.get(declaration) ?? ""}): ${summary.replaceAll("\n", " ")}`;
  };

  const pages = new Map<string, string>();
  for (const { entryPoint, own, unnamed, others } of contents) {
    const sections = [`# ${entryPoint.path}`, options.describe(entryPoint.path)];
    if (others.length > 0) sections.push("## Names of other entry points", others.map(emitForeign).join("\n"));
    for (const [kind, title] of API_SECTIONS) {
      const members = own.filter(({ declaration }) => declaration.kind === kind);
      if (members.length > 0) sections.push(`## ${title}`, ...(await emitEntries(members)));
    }
    if (unnamed.length > 0) {
      const note = "Signatures use these types. They have no public name.";
      sections.push("## Types without a public name", note, ...(await emitEntries(unnamed)));
    }
    pages.set(shortNameOf(entryPoint.path), `${sections.join("\n\n")}\n`);
  }
  return { pages, addresses };
}

/** Anchors are in lower case, so `Agent` and `agent` need different ones. Types without a public name can share one. */
function addAnchors(names: readonly PublicName[]): readonly Entry[] {
  const taken = new Set<string>();
  return names.map(({ name, declaration }) => {
    const base = name.toLowerCase();
    let anchor = base;
    for (let count = 2; taken.has(anchor); count++) anchor = `${base}-${count}`;
    taken.add(anchor);
    return { name, declaration, anchor };
  });
}

function emitExample({ name, declaration }: PublicName, { findExample }: ApiPagesOptions): string[] {
  const example = declaration.kind === "type" ? undefined : findExample(name);
  if (example === undefined) return [];
  const { title, link, code } = example;
  if (code.split("\n").length > LONGEST_EXAMPLE) return [`Example: [${title}](${link})`];
  return [`::: details Example\n\n\`\`\`ts\n${code.trim()}\n\`\`\`\n\nFrom [${title}](${link}).\n\n:::`];
}

/** The doc comment as Markdown. What looks like a tag outside of code is text. */
function emitComment({ comment = "" }: ApiDeclaration): string[] {
  const text = comment
    .replaceAll(/\{@link ([\w.]+)\}/g, "`$1`")
    .split(/(`[^`]*`)/)
    .map((piece) => (piece.startsWith("`") ? piece : piece.replaceAll("<", "&lt;")))
    .join("");
  return text === "" ? [] : [text];
}
