/** Sessions. */
import type { Shape } from "../../protocol/schema.ts";

export const SESSION_SHAPES = {} as const satisfies { readonly [name: string]: Shape };
