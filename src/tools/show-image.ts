/**
 * An image for the user to look at, as a tool: an SVG the model has drawn, or a small one given as data. Addresses are
 * shown only where an option names their hosts: a page that shows one calls it, and what a model was tricked into
 * writing there would leave the house.
 */
import { Buffer } from "node:buffer";
import { type ImageEvent, LoomError } from "../protocol/index.ts";
import { shorten } from "./describe-failure.ts";
import { defineTool } from "./define-tool.ts";
import { describeInput } from "./describe-input.ts";
import { sniffImage } from "./fetch/sniff-image.ts";
import { findSvgFault, MAX_SVG_CHARACTERS, nameSvg } from "./find-svg-fault.ts";
import { toolResult } from "./tool-result.ts";
import type { Tool } from "./tool.ts";

export interface ImageToolOptions {
  /** Hosts, `host` or `host:port`, whose images may be shown by their https address; none when absent. Code `tool_invalid`. */
  readonly hosts?: readonly string[];
  /** Characters of an SVG; 200,000 when absent. As data, whatever it is, it may have 500,000. */
  readonly maxSvgCharacters?: number;
}

interface ImageInput {
  readonly svg?: string;
  readonly url?: string;
  readonly alt: string;
}

const MAX_URL = 500_000;
const MAX_ADDRESS = 2000;
/** Pixels only: an SVG as data would not have been judged. */
const DATA = /^data:(image\/(?:png|jpeg|gif|webp|avif));base64,[A-Za-z0-9+/]+={0,2}$/;

const LARGE = /^data:(image\/(?:png|jpeg|gif|webp|avif));base64$/;

type Image = Omit<ImageEvent, "type" | "alt">;
type Read = { readonly image: Image } | { readonly fault: string };

/** The tool `show_image`. */
export function createImageTool({ hosts = [], maxSvgCharacters = MAX_SVG_CHARACTERS }: ImageToolOptions = {}): Tool {
  const allowed = new Set(hosts.map((host) => readHost(host)));
  const addresses = allowed.size === 0 ? "" : `, or an https address at ${shorten([...allowed].join(", "), 500)}`;
  return defineTool({
    name: "show_image",
    description:
      "Shows the user an image. Draw it as an SVG of plain shapes, paths and text, without scripts, styles or links; " +
      `or give an image as a data: URL${addresses}.`,
    input: describeInput<ImageInput>({
      type: "object",
      properties: {
        svg: { type: "string", minLength: 1, description: "The image as SVG; this or `url`" },
        url: { type: "string", minLength: 1, description: `data:image/png;base64,…${addresses}` },
        alt: { type: "string", minLength: 1, maxLength: 1000, description: "What the image shows, in words" },
      },
      required: ["alt"],
    }),
    // Not to be run twice: it would show twice.
    execute: async ({ svg, url, alt }, { show, saveBlob }) => {
      const read = readImage(svg, url, allowed, maxSvgCharacters);
      const large = "fault" in read && url !== undefined && saveBlob !== undefined ? readLarge(url) : undefined;
      if ("fault" in read && (large === undefined || saveBlob === undefined))
        return toolResult({ text: `${read.fault}. Nothing was shown.`, isError: true });
      if ("image" in read) show({ type: "image", ...read.image, alt });
      // Too large for an event: it is kept, and shown by where it is.
      else if (large !== undefined && saveBlob !== undefined)
        show({ type: "image", url: (await saveBlob(large.bytes, large)).url, media_type: large.mediaType, alt });
      return `The image is shown to the user: ${shorten(alt, 200)}`;
    },
  });
}

/** As addresses spell it: without the usual port, and in the letters of the web. */
function readHost(host: string): string {
  const url = /[\s/\\@?#*]/.test(host) ? null : URL.parse(`https://${host}`);
  if (url === null) throw new LoomError("tool_invalid", `${JSON.stringify(host)} is no host, such as example.org`);
  return url.host;
}

function readImage(svg: string | undefined, url: string | undefined, hosts: ReadonlySet<string>, maxSvg: number): Read {
  if ((svg === undefined) === (url === undefined)) return { fault: "Give `svg` or `url`, and not both" };
  if (svg !== undefined) return readSvg(svg.trim(), maxSvg);
  if (url === undefined || url.length > MAX_URL) return { fault: `\`url\` may have ${MAX_URL} characters` };
  const [, mediaType] = DATA.exec(url) ?? [];
  if (mediaType !== undefined) return { image: { url, media_type: mediaType } };
  if (/^data:image\/svg/i.test(url)) return { fault: "An SVG is given as text, in `svg`" };
  return readAddress(url, hosts);
}

/** An image of pixels that is too large for an event, and not for a blob. */
function readLarge(url: string): { readonly bytes: Uint8Array; readonly mediaType: string } | undefined {
  const [head = ""] = url.slice(0, 100).split(",", 1);
  const [, mediaType] = LARGE.exec(head) ?? [];
  if (url.length <= MAX_URL || mediaType === undefined) return undefined;
  const bytes = Buffer.from(url.slice(head.length + 1), "base64");
  return sniffImage(bytes) === mediaType ? { bytes, mediaType } : undefined;
}

function readSvg(svg: string, maxCharacters: number): Read {
  const fault = findSvgFault(svg, maxCharacters);
  if (fault !== undefined) return { fault: `The SVG cannot be shown: ${fault}` };
  const url = `data:image/svg+xml;base64,${Buffer.from(nameSvg(svg), "utf8").toString("base64")}`;
  if (url.length > MAX_URL) return { fault: `The SVG has ${url.length} characters as data, and may have ${MAX_URL}` };
  return { image: { url, media_type: "image/svg+xml" } };
}

function readAddress(address: string, hosts: ReadonlySet<string>): Read {
  const url = address.length > MAX_ADDRESS ? null : URL.parse(address);
  if (url === null || url.protocol !== "https:" || url.username !== "" || url.password !== "")
    return { fault: "`url` must be the data of an image, such as data:image/png;base64,…" };
  if (!hosts.has(url.host)) return { fault: `Images of ${shorten(url.host, 100)} may not be shown; draw it as an SVG` };
  return { image: { url: url.href } };
}
