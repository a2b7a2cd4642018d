/** Structured data of an answer: a table, a chart, an image, or custom JSON. */
import { memo, type NamedExoticComponent, type ReactNode, useMemo } from "react";
import type { DataBlock } from "../../client/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import { ImageItem } from "../parts/image-item.tsx";
import { ShortText } from "../parts/log-box.tsx";
import { ChartView } from "./chart-view.tsx";
import { DataTable } from "./data-table.tsx";
import { DataTree } from "./data-tree.tsx";
import { findImage } from "./find-image.ts";

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
