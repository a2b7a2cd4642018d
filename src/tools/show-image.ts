/**
 * The `show_image` tool: shows an SVG drawn by the model, or an image as a data URL. Other URLs are only shown for
 * hosts listed in the options, because a page that loads a URL can leak data that a model was tricked into writing
 * there.
 */
import { Buffer } from "node:buffer";
import { LoomError } from "../protocol/index.ts";
import type { ImageEvent } from "../protocol/events.generated.ts";
import { type OptionTable, readOptions, TEXTS_OPTION, withDefault } from "../protocol/read-options.ts";
import { defineTool } from "./define-tool.ts";
import { describeInput } from "./describe-input.ts";
import { sniffImage } from "./fetch/sniff-image.ts";
import { addSvgNamespace, findSvgFault } from "./find-svg-fault.ts";
import { nameSubject } from "./summarize-tool.ts";
import { toolResult } from "./tool-result.ts";
import type { Tool } from "./tool.ts";
import { shorten } from "../protocol/cut-text.ts";

/** Options of `createImageTool`. */
export interface ImageToolOptions {
  /** Hosts (`host` or `host:port`) whose https images may be shown. Default: none. Code `tool_invalid`. */
  readonly hosts?: readonly string[];
}

interface ImageInput {
  readonly svg?: string;
  readonly url?: string;
  readonly alt: string;
}

const MAX_URL = 500_000;
const MAX_ADDRESS = 2000;
/** Raster images only: an SVG in a data URL would not be checked. */
const DATA = /^data:(image\/(?:png|jpeg|gif|webp|avif));base64,[A-Za-z0-9+/]+={0,2}$/;

const LARGE_HEAD = /^data:(image\/(?:png|jpeg|gif|webp|avif));base64$/;

const IMAGE_OPTIONS = {
  hosts: withDefault(TEXTS_OPTION, []),
} as const satisfies OptionTable<ImageToolOptions>;

type ImageFields = Omit<ImageEvent, "type" | "alt">;
type ReadImageResult = { readonly image: ImageFields } | { readonly fault: string };

/**
 * Creates the `show_image` tool, which shows the user an image.
 *
 * Throws `tool_invalid` if an entry of `hosts` is not a host, and `invalid_arguments` for a wrong option.
 */
export function createImageTool(options: ImageToolOptions = {}): Tool {
  const { hosts } = readOptions(IMAGE_OPTIONS, options);
  const allowed = new Set(hosts.map((host) => readHost(host)));
  const addresses = allowed.size === 0 ? "" : `, or an https URL on ${shorten([...allowed].join(", "), 500)}`;
  return defineTool({
    name: "show_image",
    title: { en: "Show an image", zh: "展示图片" },
    summarize: ({ alt }) => nameSubject({ en: "Show an image", zh: "展示图片" }, alt),
    description:
      "Shows the user an image. Draw it as an SVG of plain shapes, paths and text, without scripts, styles or links; " +
      `or pass an image as a data: URL${addresses}.`,
    input: describeInput<ImageInput>({
      type: "object",
      properties: {
        svg: { type: "string", minLength: 1, description: "The image as SVG. Pass either this or `url`" },
        url: { type: "string", minLength: 1, description: `data:image/png;base64,…${addresses}` },
        alt: { type: "string", minLength: 1, maxLength: 1000, description: "Text that describes the image" },
      },
      required: ["alt"],
    }),
    // Not idempotent: the image would be shown twice.
    execute: async ({ svg, url, alt }, { show, saveBlob }) => {
      const read = readImage(svg, url, allowed);
      const large = "fault" in read && url !== undefined && saveBlob !== undefined ? readLarge(url) : undefined;
      if ("fault" in read && (large === undefined || saveBlob === undefined))
        return toolResult({ text: `${read.fault}. Nothing was shown.`, isError: true });
      if ("image" in read) show({ type: "image", ...read.image, alt });
      // Too large for an event: saved as a blob and shown by its URL.
      else if (large !== undefined && saveBlob !== undefined)
        show({ type: "image", url: (await saveBlob(large.bytes, large)).url, media_type: large.mediaType, alt });
      return toolResult({
        text: `Shown to the user: ${shorten(alt.toWellFormed(), 200)}`,
        summary: nameSubject({ en: "Showed an image", zh: "已展示图片" }, alt),
      });
    },
  });
}

/** Normalizes a host as URLs do: in punycode, without the default port. */
function readHost(host: string): string {
  const url = /[\s/\\@?#*]/.test(host) ? null : URL.parse(`https://${host}`);
  if (url === null)
    throw new LoomError(
      "tool_invalid",
      `${JSON.stringify(host)} is not a host; write it as example.org or example.org:8443`,
    );
  return url.host;
}

function readImage(svg: string | undefined, url: string | undefined, hosts: ReadonlySet<string>): ReadImageResult {
  if ((svg === undefined) === (url === undefined)) return { fault: "Pass either `svg` or `url`" };
  if (svg !== undefined) return readSvg(svg.trim());
  if (url === undefined || url.length > MAX_URL) return { fault: `\`url\` can have at most ${MAX_URL} characters` };
  const [, mediaType] = DATA.exec(url) ?? [];
  if (mediaType !== undefined) return { image: { url, media_type: mediaType } };
  if (/^data:image\/svg/i.test(url)) return { fault: "Pass an SVG as text in `svg`" };
  return readAddress(url, hosts);
}

/** Reads a raster image that is too large for an event but can be saved as a blob. */
function readLarge(url: string): { readonly bytes: Uint8Array; readonly mediaType: string } | undefined {
  const [head = ""] = url.slice(0, 100).split(",", 1);
  const [, mediaType] = LARGE_HEAD.exec(head) ?? [];
  if (url.length <= MAX_URL || mediaType === undefined) return undefined;
  const bytes = Buffer.from(url.slice(head.length + 1), "base64");
  return sniffImage(bytes) === mediaType ? { bytes, mediaType } : undefined;
}

function readSvg(svg: string): ReadImageResult {
  const fault = findSvgFault(svg);
  if (fault !== undefined) return { fault: `The SVG cannot be shown: ${fault}` };
  const url = `data:image/svg+xml;base64,${Buffer.from(addSvgNamespace(svg), "utf8").toString("base64")}`;
  if (url.length > MAX_URL)
    return { fault: `The SVG has ${url.length} characters as a data URL; at most ${MAX_URL} are allowed` };
  return { image: { url, media_type: "image/svg+xml" } };
}

function readAddress(address: string, hosts: ReadonlySet<string>): ReadImageResult {
  const url = address.length > MAX_ADDRESS ? null : URL.parse(address);
  if (url === null || url.protocol !== "https:" || url.username !== "" || url.password !== "")
    return { fault: "`url` must be an image as a data URL, such as data:image/png;base64,…" };
  if (!hosts.has(url.host))
    return { fault: `Images from ${shorten(url.host, 100)} cannot be shown; draw it as an SVG` };
  return { image: { url: url.href } };
}
