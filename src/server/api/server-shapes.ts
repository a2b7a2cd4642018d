/** The server itself. */
import type { Shape } from "../../protocol/schema.ts";

export const SERVER_SHAPES = {} as const satisfies { readonly [name: string]: Shape };
