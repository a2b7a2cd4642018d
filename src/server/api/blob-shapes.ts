/** Blobs and images. */
import type { Shape } from "../../protocol/schema.ts";

export const BLOB_SHAPES = {} as const satisfies { readonly [name: string]: Shape };
