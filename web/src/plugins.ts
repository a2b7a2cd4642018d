/** Code, formulas and charts for the components. What is heavy of each is loaded when the first is there to be seen. */
import type { UiPlugins } from "loom-agent/react";
import { Chart } from "./plugins/chart-plugin.tsx";
import { CodePlugin } from "./plugins/code-plugin.tsx";
import { MathPlugin } from "./plugins/math-plugin.tsx";

export const PLUGINS: UiPlugins = { Code: CodePlugin, Math: MathPlugin, Chart };
