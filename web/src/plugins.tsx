/** Plugins for code, formulas, charts and diagrams. Their libraries are loaded on first use. */
import { lazy, type ReactNode } from "react";
import type { ChartProps, CodeProps, DiagramProps, MathProps, UiPlugins } from "loom-agent/react";
import { isKnownLanguage } from "./plugins/code-languages.ts";
import { TurnMenu } from "./shell/turn-menu.tsx";

const HighlightedCode = lazy(async () => ({ default: (await import("./plugins/code-highlight.tsx")).HighlightedCode }));

/** The highlighter is loaded with the first block in a known language. Shows plain code if the language is unknown or the code is incomplete. */
function CodePlugin({ code, language, isComplete }: CodeProps): ReactNode {
  return isComplete && isKnownLanguage(language) ? <HighlightedCode code={code} language={language} /> : code;
}

const Formula = lazy(async () => ({ default: (await import("./plugins/math-formula.tsx")).Formula }));

function MathPlugin(props: MathProps): ReactNode {
  return <Formula {...props} />;
}

const Chart = lazy(async () => ({ default: (await import("./plugins/chart-plugin.tsx")).Chart }));

function ChartPlugin(props: ChartProps): ReactNode {
  return <Chart {...props} />;
}

const Diagram = lazy(async () => ({ default: (await import("./plugins/diagram/diagram-plugin.tsx")).Diagram }));

function DiagramPlugin(props: DiagramProps): ReactNode {
  return <Diagram {...props} />;
}

export const PLUGINS: UiPlugins = {
  Code: CodePlugin,
  Math: MathPlugin,
  Chart: ChartPlugin,
  Diagram: DiagramPlugin,
  TurnMenu,
};
