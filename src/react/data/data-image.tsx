/** An image sent as data. `Ui.imageUrl` decides whether and from where it is loaded. */
import { memo, type ReactNode, useMemo } from "react";
import type { JsonObject } from "../../protocol/index.ts";
import { ImageItem } from "../parts/image-item.tsx";
import { DataTree } from "./data-tree.tsx";
import { findImage } from "./find-image.ts";

export interface DataImageProps {
  readonly data: JsonObject;
  readonly description?: string | undefined;
}

export const DataImage = memo(function DataImage({ data, description }: DataImageProps): ReactNode {
  const image = useMemo(() => findImage(data), [data]);
  if (image === undefined) return <DataTree data={data} />;
  return <ImageItem url={image.url} alt={image.alt === "" ? description : image.alt} />;
});
