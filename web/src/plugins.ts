/** Plugins for code, formulas and charts. Their libraries are loaded on first use. */
import type { UiPlugins } from "loom-agent/react";
import { Chart } from "./plugins/chart-plugin.tsx";
import { CodePlugin } from "./plugins/code-plugin.tsx";
import { MathPlugin } from "./plugins/math-plugin.tsx";

export const PLUGINS: UiPlugins = { Code: CodePlugin, Math: MathPlugin, Chart };
