/** Runs and what is asked of them. */
import type { Shape } from "../../protocol/schema.ts";

export const RUN_SHAPES = {} as const satisfies { readonly [name: string]: Shape };
