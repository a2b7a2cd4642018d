/** Plugins for code, formulas, charts and diagrams. Their libraries are loaded on first use. */
import { lazy, type ReactNode } from "react";
import type { ChartProps, CodeProps, DiagramProps, MathProps, UiPlugins } from "loom-agent/react";
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

/** Names and aliases of the languages that can be highlighted, known without loading the highlighter. */
const NAMES =
  "arduino ino bash sh zsh c h cpp cc c++ h++ hpp hh hxx cxx csharp cs c# css diff patch go golang graphql gql ini toml " +
  "java jsp javascript js jsx mjs cjs json jsonc json5 kotlin kt kts less lua pluto makefile mk mak make markdown md mkdown " +
  "mkd objectivec mm objc obj-c obj-c++ objective-c++ perl pl pm php python py gyp ipython r ruby rb gemspec podspec thor " +
  "irb rust rs scss shell console shellsession sql swift typescript ts tsx mts cts vbnet vb wasm xml html xhtml rss atom " +
  "xjb xsd xsl plist wsf svg yaml yml";

const names: ReadonlySet<string> = new Set(NAMES.split(" "));

export function isKnownLanguage(name: string): boolean {
  return names.has(name.toLowerCase());
}

/** Exported for tests. */
export const LANGUAGE_NAMES: readonly string[] = [...names];
