/**
 * The catalogue of components. `?component=…&state=…` shows one state and nothing else, in `language` (`en`, `zh`) and
 * `theme` (`light`, `dark`), in a column of `width` pixels. Without a state, all states of the component are listed.
 */
import { type ReactNode, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { type UiActions, type UiLanguage, UiProvider } from "loom-agent/react";
import { PLUGINS } from "../src/plugins.tsx";
import { SCENES } from "./scenes.ts";
import { PageProvider } from "../src/shell/page-context.tsx";
import { NOW } from "./now.ts";
import { createScenePage } from "./scene-page.ts";
import type { Scene } from "./scene.tsx";

const parameters = new URLSearchParams(location.search);
const language: UiLanguage = parameters.get("language") === "zh" ? "zh" : "en";
const theme = parameters.get("theme");
const width = Number(parameters.get("width") ?? 0);
const scene = SCENES.find(({ component }) => component === parameters.get("component"));
const state = parameters.get("state");

const done = (): Promise<{ readonly kind: "done" }> => Promise.resolve({ kind: "done" });
const ACTIONS: UiActions = {
  approve: done,
  allowTool: done,
  rate: done,
  changeTodo: done,
  retry: () => undefined,
  edit: () => Promise.resolve(true),
  openVersion: () => undefined,
  inspect: () => undefined,
};
/** Plugins of the page use it. */
const PAGE = createScenePage({ language });
const getNow = (): number => NOW;

document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
if (theme !== null) document.documentElement.dataset["theme"] = theme;

function formatLink(component: string, name?: string): string {
  const query = new URLSearchParams(parameters);
  query.set("component", component);
  if (name === undefined) query.delete("state");
  else query.set("state", name);
  return `?${query}`;
}

function Catalogue(): ReactNode {
  const show = scene?.states[state ?? ""];
  if (scene !== undefined && show !== undefined) return <OneState scene={scene} show={show} />;
  return (
    <main className="catalogue">
      <h1>Components</h1>
      {(scene === undefined ? SCENES : [scene]).map(({ component, states }) => (
        <section key={component}>
          <h2>{component}</h2>
          <ul>
            {Object.keys(states).map((name) => (
              <li key={name}>
                <a href={formatLink(component, name)}>{name}</a>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </main>
  );
}

function OneState({ scene: { component }, show }: { readonly scene: Scene; readonly show: Scene["states"][string] }) {
  // Screens of the page fill the window and bring their own providers.
  if (component.startsWith("page ")) return show(language);
  return (
    <UiProvider language={language} actions={ACTIONS} plugins={PLUGINS} now={getNow}>
      <PageProvider page={PAGE}>
        <main className="scene" style={width > 0 ? { width } : undefined}>
          <h1 className="loom-said">{component}</h1>
          <Suspense>{show(language)}</Suspense>
        </main>
      </PageProvider>
    </UiProvider>
  );
}

const root = document.querySelector("#root");
if (root !== null) createRoot(root).render(<Catalogue />);
