/** Structured data of an answer: a table, a chart, an image, or custom JSON. */
import { memo, type ReactNode } from "react";
import type { DataBlock } from "../../client/index.ts";
import { ShortText } from "../parts/log-box.tsx";
import { ChartView } from "./chart-view.tsx";
import { DataImage } from "./data-image.tsx";
import { DataTable } from "./data-table.tsx";
import { DataTree } from "./data-tree.tsx";

export interface DataViewProps {
  readonly block: DataBlock;
}

/** Shows a data block by its type. Data that does not match its type is shown as JSON. */
export const DataView = memo(function DataView({ block }: DataViewProps): ReactNode {
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
