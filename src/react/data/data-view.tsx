/** Structured data of an answer: a table, a chart, an image, or custom JSON. */
import { memo, type NamedExoticComponent, type ReactNode, useMemo } from "react";
import type { DataBlock } from "../../client/index.ts";
import type { Json, JsonObject } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { ImageItem } from "../parts/image-item.tsx";
import { ShortText } from "../parts/log-box.tsx";
import { ChartView } from "./chart-view.tsx";
import { DataTable } from "./data-table.tsx";
import { DataTree } from "./data-tree.tsx";
import { isRasterDataUrl } from "../text/sanitize-link.ts";

export interface DataViewProps {
  readonly block: DataBlock;
}

/** Shows a data block by its type. Data that does not match its type is shown as JSON. */
export const DataView: NamedExoticComponent<DataViewProps> = memo(function DataView({
  block,
}: DataViewProps): ReactNode {
  const { dataType, data, metadata } = block;
  const given = metadata?.["description"];
  const description = typeof given === "string" && given !== "" ? given : undefined;
  switch (dataType) {
    case "dataframe":
      return <DataTable data={data} description={description} />;
    case "chart":
      return <ChartView data={data} description={description} />;
    case "image":
      return <DataImage data={data} description={description} />;
    case "custom":
      return (
        <figure className="loom-data-custom">
          {description === undefined ? null : (
            <figcaption className="loom-data-caption">
              <ShortText text={description} />
            </figcaption>
          )}
          <DataTree data={data} />
        </figure>
      );
  }
});

interface DataImageProps {
  readonly data: JsonObject;
  readonly description?: string | undefined;
}

/** An image sent as data. `Ui.imageUrl` decides whether and from where it is loaded. */
const DataImage = memo(function DataImage({ data, description }: DataImageProps): ReactNode {
  const image = useMemo(() => findImage(data), [data]);
  if (image === undefined) return <DataTree data={data} />;
  return <ImageItem url={image.url} alt={image.alt === "" ? description : image.alt} />;
});

interface FoundImage {
  /** A URL, or a `data:` URL of an allowed type. */
  readonly url: string;
  /** Empty if the sender gave no description. */
  readonly alt: string;
}

/**
 * Finds the image in a data block of type `image`: a URL or base64 content. Inline content must be a raster image; SVG
 * is rejected.
 */
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
