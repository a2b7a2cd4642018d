/**
 * Finds the image in a data block of type `image`: a URL or base64 content. Inline content must be a raster image; SVG
 * is rejected.
 */
import type { Json, JsonObject } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { isRasterDataUrl } from "../text/sanitize-link.ts";

export interface FoundImage {
  /** A URL, or a `data:` URL of an allowed type. */
  readonly url: string;
  /** Empty if the sender gave no description. */
  readonly alt: string;
}

export function findImage(data: JsonObject): FoundImage | undefined {
  const url = findUrl(data);
  if (url === undefined) return undefined;
  return { url, alt: pickText(data, ["alt", "description", "caption", "name", "title"]) ?? "" };
}

function findUrl(data: JsonObject): string | undefined {
  const given = data["url"] ?? data["src"] ?? data["image_url"];
  const url = isJsonObject(given) ? given["url"] : given;
  if (typeof url === "string" && url !== "") return isData(url) ? checkInline(url) : url;
  const bytes = pickText(data, ["base64", "b64_json", "data", "content", "image"]);
  if (bytes === undefined) return undefined;
  if (isData(bytes)) return checkInline(bytes);
  const mediaType = pickText(data, ["media_type", "mediaType", "mime_type", "mimeType", "type", "format"]);
  return checkInline(`data:${completeMediaType(mediaType)};base64,${bytes.replaceAll(/\s/g, "")}`);
}

const isData = (url: string): boolean => /^data:/i.test(url);

function completeMediaType(mediaType: string | undefined): string {
  if (mediaType === undefined) return "image/png";
  const name = mediaType.toLowerCase().replace(/^\.?jpg$|^image\/jpg$/, "image/jpeg");
  return name.includes("/") ? name : `image/${name}`;
}

function checkInline(url: string): string | undefined {
  return isRasterDataUrl(url) ? url : undefined;
}

function pickText(data: JsonObject, names: readonly string[]): string | undefined {
  return names
    .map((name): Json | undefined => data[name])
    .find((value): value is string => typeof value === "string" && value !== "");
}
