/** Converts a fetched page to text: checks the media type, decodes the charset and extracts readable text from HTML. */
import type { Buffer } from "node:buffer";
import { LoomError } from "../../protocol/index.ts";

const TEXT_TYPE =
  /^(?:text\/.*|application\/(?:.*\+)?(?:json|xml|yaml|toml|javascript|ecmascript|x-javascript|x-ndjson|x-yaml|jsonl|graphql|sql|x-sh|x-www-form-urlencoded)|image\/svg\+xml|message\/.*)$/;
const META_CHARSET = /<meta[^>]{0,200}charset\s{0,8}=\s{0,8}["']?([\w-]{1,40})/i;
/** HTML declares its charset within these bytes. */
const META_BYTES = 2048;

/** Throws `tool_failed` if the page is not text. Yields to the event loop while it reads HTML. */
export async function decodePage(bytes: Buffer, contentType: string, signal?: AbortSignal): Promise<string> {
  const [first = "", ...parameters] = contentType.split(";").map((part) => part.trim());
  const mediaType = first.toLowerCase();
  const isText = mediaType === "" ? !bytes.subarray(0, META_BYTES).includes(0) : TEXT_TYPE.test(mediaType);
  if (!isText)
    throw new LoomError(
      "tool_failed",
      `The page is ${mediaType.slice(0, 100) || "binary data"}. Only text can be read.`,
    );
  const isHtml = mediaType === "text/html" || mediaType === "application/xhtml+xml";
  const charset = parameters.find((parameter) => /^charset=/i.test(parameter))?.slice("charset=".length);
  const text = decode(bytes, charset ?? (isHtml ? findCharset(bytes) : undefined));
  if (!isHtml) return text;
  // Loaded on demand, with its table of entities.
  const { readHtmlAsync } = await import("../../context/read-html.ts");
  return readHtmlAsync(text, signal);
}

function findCharset(bytes: Buffer): string | undefined {
  return META_CHARSET.exec(bytes.toString("latin1", 0, META_BYTES))?.[1];
}

function decode(bytes: Buffer, charset: string | undefined): string {
  try {
    return new TextDecoder(charset?.replaceAll(/["']/g, "")).decode(bytes);
  } catch {
    // Unknown charset.
    return new TextDecoder().decode(bytes);
  }
}
