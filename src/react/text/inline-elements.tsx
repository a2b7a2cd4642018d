/**
 * Renders inline Markdown tokens as React elements. Inline HTML passes the same allowlist as HTML answers; unpaired
 * tags are ignored.
 */
import { createElement, Fragment, type ReactNode } from "react";
import type { Token, Tokens } from "marked";
import { Citation } from "./citation.tsx";
import { decodeEntities } from "./entities.ts";
import { isLiteralTag, readCitationLink, splitCitations } from "./find-citations.ts";
import { isInlineTag, filterAttributes, classifyTag } from "./html-tags.ts";
import { FootnoteLink } from "./footnote.tsx";
import type { FootnoteToken, MathToken } from "./lex-markdown.ts";
import { MathText } from "./math-text.tsx";
import { TextImage } from "./text-image.tsx";
import { TextLink } from "./text-link.tsx";

/** Deeper content is shown as source. */
const MAX_DEPTH = 40;

/** An open HTML element and its content so far. */
interface OpenElement {
  readonly name: string;
  readonly attributes: string;
  readonly nodes: ReactNode[];
}

/** `isLiteral`: citations stay text, as in a link. */
export function buildInline(tokens: readonly Token[], depth = 0, isLiteral = false): ReactNode[] {
  const open: OpenElement[] = [{ name: "", attributes: "", nodes: [] }];
  for (const token of tokens) {
    const nodes = open.at(-1)?.nodes ?? [];
    if (token.type === "html") readTag(token.raw, open);
    else nodes.push(buildToken(token, nodes.length, depth, isLiteral || open.some(({ name }) => isLiteralTag(name))));
  }
  while (open.length > 1) unwrap(open);
  return open[0]?.nodes ?? [];
}

function buildToken(token: Token, key: number, depth: number, isLiteral: boolean): ReactNode {
  if (depth > MAX_DEPTH) return token.raw;
  switch (token.type) {
    case "text":
      return "tokens" in token && token.tokens !== undefined ? (
        <span key={key}>{buildInline(token.tokens, depth + 1, isLiteral)}</span>
      ) : isLiteral ? (
        decodeEntities(token.raw)
      ) : (
        buildText(token.raw, key)
      );
    case "escape":
      return (token as Tokens.Escape).text;
    case "strong":
      return <strong key={key}>{buildInline((token as Tokens.Strong).tokens, depth + 1, isLiteral)}</strong>;
    case "em":
      return <em key={key}>{buildInline((token as Tokens.Em).tokens, depth + 1, isLiteral)}</em>;
    case "del":
      return <del key={key}>{buildInline((token as Tokens.Del).tokens, depth + 1, isLiteral)}</del>;
    case "codespan":
      return <code key={key}>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br key={key} />;
    case "link":
      return buildLink(token as Tokens.Link, key, depth);
    case "image": {
      const { href, title, tokens, text } = token as Tokens.Image;
      const alt = tokens === undefined ? decodeEntities(text) : readText(tokens);
      return <TextImage key={key} url={decodeEntities(href)} alt={alt} title={decodeTitle(title)} />;
    }
    case "math": {
      const { source, isBlock } = token as unknown as MathToken;
      return <MathText key={key} source={source} isBlock={isBlock} isComplete />;
    }
    case "footnote_link":
      return <FootnoteLink key={key} label={(token as unknown as FootnoteToken).label} />;
    case "checkbox":
      return null;
    default:
      return token.raw;
  }
}

/** Text with citations. Most texts have none. */
function buildText(raw: string, key: number): ReactNode {
  const pieces = raw.includes("[") ? splitCitations(raw) : [raw];
  if (pieces.every((piece) => typeof piece === "string")) return decodeEntities(raw);
  return (
    <Fragment key={key}>
      {pieces.map((piece, index) =>
        typeof piece === "string" ? decodeEntities(piece) : <Citation key={index} mark={piece} />,
      )}
    </Fragment>
  );
}

function buildLink(token: Tokens.Link, key: number, depth: number): ReactNode {
  const mark = readCitationLink(token);
  if (mark !== undefined) return <Citation key={key} mark={mark} />;
  const { href, title, text, tokens, autolink } = token;
  return (
    <TextLink key={key} href={autolink === true ? href : decodeEntities(href)} title={decodeTitle(title)}>
      {autolink === true ? text : buildInline(tokens, depth + 1, true)}
    </TextLink>
  );
}

function decodeTitle(title: string | null | undefined): string | undefined {
  return title === null || title === undefined || title === "" ? undefined : decodeEntities(title);
}

/** Returns the plain text of tokens, for alternative texts. */
function readText(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === "escape" || token.type === "codespan") return (token as Tokens.Escape).text;
      if (token.type === "html") return "";
      return "tokens" in token && token.tokens !== undefined ? readText(token.tokens) : decodeEntities(token.raw);
    })
    .join("");
}

function readTag(raw: string, open: OpenElement[]): void {
  const [, slash, name = "", attributes = ""] = /^<(\/?)([a-z][\w-]*)([\s\S]*?)\/?>$/i.exec(raw) ?? [];
  const top = open.at(-1);
  if (name === "" || top === undefined) return;
  const judged = classifyTag(name);
  if (slash === "/") closeElement(name.toLowerCase(), open);
  else if (judged === "drop" || isInlineTag(name)) {
    if (open.length <= MAX_DEPTH) open.push({ name: name.toLowerCase(), attributes, nodes: [] });
  } else if (judged !== "unwrap") {
    const key = top.nodes.length;
    if (judged.tag === "br" || judged.tag === "wbr") top.nodes.push(createElement(judged.tag, { key }));
    else if (judged.tag === "img") top.nodes.push(buildImage(attributes, key));
  }
}

function closeElement(name: string, open: OpenElement[]): void {
  const at = open.findLastIndex((element) => element.name === name);
  if (at < 1) return;
  while (open.length - 1 > at) unwrap(open);
  const element = open.pop();
  const parent = open.at(-1);
  if (element === undefined || parent === undefined) return;
  const judged = classifyTag(name);
  if (typeof judged === "string") return;
  const key = parent.nodes.length;
  const read = createAttributeReader(element.attributes);
  parent.nodes.push(
    judged.tag === "a" ? (
      <TextLink key={key} href={read("href") ?? ""} title={read("title")}>
        {element.nodes}
      </TextLink>
    ) : (
      createElement(judged.tag, { key, ...filterAttributes(judged.tag, read) }, element.nodes)
    ),
  );
}

/** Moves the content of an unclosed element to its parent. */
function unwrap(open: OpenElement[]): void {
  const element = open.pop();
  const parent = open.at(-1);
  if (element === undefined || parent === undefined || element.nodes.length === 0) return;
  parent.nodes.push(<span key={parent.nodes.length}>{element.nodes}</span>);
}

function buildImage(attributes: string, key: number): ReactNode {
  const read = createAttributeReader(attributes);
  return <TextImage key={key} url={read("src") ?? ""} alt={read("alt") ?? ""} title={read("title")} />;
}

/** Returns an attribute reader. The first occurrence of a name counts, as in HTML. */
function createAttributeReader(attributes: string): (name: string) => string | undefined {
  const values = new Map<string, string>();
  for (const [, name, double, single, bare] of attributes.matchAll(
    /([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?/g,
  )) {
    const key = (name ?? "").toLowerCase();
    if (!values.has(key)) values.set(key, decodeEntities(double ?? single ?? bare ?? ""));
  }
  return (name) => values.get(name);
}
