/**
 * Tokens within a line of Markdown as elements of React. Tags written among them pass the same list as HTML does; a pair
 * of them holds what stands between, and one without its other half is as if it were not there.
 */
import { createElement, type ReactNode } from "react";
import type { Token, Tokens } from "marked";
import { decodeEntities } from "./entities.ts";
import { isInlineTag, judgeAttributes, judgeTag } from "./html-tags.ts";
import type { MathToken } from "./lex-markdown.ts";
import { MathText } from "./math-text.tsx";
import { TextImage } from "./text-image.tsx";
import { TextLink } from "./text-link.tsx";

/** Deeper than this it is shown as it was written. */
const DEEPEST = 40;

/** An element that was opened by a tag, and what came since. */
interface Frame {
  readonly name: string;
  readonly attributes: string;
  readonly nodes: ReactNode[];
}

export function buildInline(tokens: readonly Token[], depth = 0): ReactNode[] {
  const frames: Frame[] = [{ name: "", attributes: "", nodes: [] }];
  for (const token of tokens) {
    const nodes = frames.at(-1)?.nodes ?? [];
    if (token.type === "html") readTag(token.raw, frames);
    else nodes.push(buildToken(token, nodes.length, depth));
  }
  while (frames.length > 1) unwrap(frames);
  return frames[0]?.nodes ?? [];
}

function buildToken(token: Token, key: number, depth: number): ReactNode {
  if (depth > DEEPEST) return token.raw;
  switch (token.type) {
    case "text":
      return "tokens" in token && token.tokens !== undefined ? (
        <span key={key}>{buildInline(token.tokens, depth + 1)}</span>
      ) : (
        decodeEntities(token.raw)
      );
    case "escape":
      return (token as Tokens.Escape).text;
    case "strong":
      return <strong key={key}>{buildInline((token as Tokens.Strong).tokens, depth + 1)}</strong>;
    case "em":
      return <em key={key}>{buildInline((token as Tokens.Em).tokens, depth + 1)}</em>;
    case "del":
      return <del key={key}>{buildInline((token as Tokens.Del).tokens, depth + 1)}</del>;
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
    case "checkbox":
      return null;
    default:
      return token.raw;
  }
}

function buildLink({ href, title, text, tokens, autolink }: Tokens.Link, key: number, depth: number): ReactNode {
  return (
    <TextLink key={key} href={autolink === true ? href : decodeEntities(href)} title={decodeTitle(title)}>
      {autolink === true ? text : buildInline(tokens, depth + 1)}
    </TextLink>
  );
}

function decodeTitle(title: string | null | undefined): string | undefined {
  return title === null || title === undefined || title === "" ? undefined : decodeEntities(title);
}

/** What an image is called, without marks. */
function readText(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === "escape" || token.type === "codespan") return (token as Tokens.Escape).text;
      if (token.type === "html") return "";
      return "tokens" in token && token.tokens !== undefined ? readText(token.tokens) : decodeEntities(token.raw);
    })
    .join("");
}

function readTag(raw: string, frames: Frame[]): void {
  const [, slash, name = "", attributes = ""] = /^<(\/?)([a-z][\w-]*)([\s\S]*?)\/?>$/i.exec(raw) ?? [];
  const top = frames.at(-1);
  if (name === "" || top === undefined) return;
  const judged = judgeTag(name);
  if (slash === "/") closeFrame(name.toLowerCase(), frames);
  else if (judged === "drop" || isInlineTag(name)) {
    if (frames.length <= DEEPEST) frames.push({ name: name.toLowerCase(), attributes, nodes: [] });
  } else if (judged !== "unwrap") {
    const key = top.nodes.length;
    if (judged.tag === "br" || judged.tag === "wbr") top.nodes.push(createElement(judged.tag, { key }));
    else if (judged.tag === "img") top.nodes.push(buildImage(attributes, key));
  }
}

function closeFrame(name: string, frames: Frame[]): void {
  const at = frames.findLastIndex((frame) => frame.name === name);
  if (at < 1) return;
  while (frames.length - 1 > at) unwrap(frames);
  const frame = frames.pop();
  const parent = frames.at(-1);
  if (frame === undefined || parent === undefined) return;
  const judged = judgeTag(name);
  if (typeof judged === "string") return;
  const key = parent.nodes.length;
  const read = createReader(frame.attributes);
  parent.nodes.push(
    judged.tag === "a" ? (
      <TextLink key={key} href={read("href") ?? ""} title={read("title")}>
        {frame.nodes}
      </TextLink>
    ) : (
      createElement(judged.tag, { key, ...judgeAttributes(judged.tag, read) }, frame.nodes)
    ),
  );
}

/** What stands in an element that was never closed belongs to the one around it. */
function unwrap(frames: Frame[]): void {
  const frame = frames.pop();
  const parent = frames.at(-1);
  if (frame === undefined || parent === undefined || frame.nodes.length === 0) return;
  parent.nodes.push(<span key={parent.nodes.length}>{frame.nodes}</span>);
}

function buildImage(attributes: string, key: number): ReactNode {
  const read = createReader(attributes);
  return <TextImage key={key} url={read("src") ?? ""} alt={read("alt") ?? ""} title={read("title")} />;
}

/** The attributes of a tag by their names; the first of a name counts, as in HTML. */
function createReader(attributes: string): (name: string) => string | undefined {
  const values = new Map<string, string>();
  for (const [, name, double, single, bare] of attributes.matchAll(
    /([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?/g,
  )) {
    const key = (name ?? "").toLowerCase();
    if (!values.has(key)) values.set(key, decodeEntities(double ?? single ?? bare ?? ""));
  }
  return (name) => values.get(name);
}
