// Builds the page into the package's dist folder, with relative URLs. The page imports the package by its public entry
// points, which are resolved to the source here.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Emits theme.js as a blocking script, because modules run after the first paint. */
function putThemeFirst(): Plugin {
  const source = at("./src/theme.js");
  return {
    name: "theme-first",
    buildStart() {
      if (this.meta.watchMode) return;
      this.emitFile({ type: "asset", name: "theme.js", source: readFileSync(source) });
    },
    transformIndexHtml: (_html, { bundle = {} }) => {
      const built = Object.values(bundle).find((file) => file.type === "asset" && file.names.includes("theme.js"));
      const src = built === undefined ? "./src/theme.js" : `./${built.fileName}`;
      return [{ tag: "script", attrs: { src }, injectTo: "head-prepend" }];
    },
  };
}

/** The licence of the font for formulas must come with it. */
function addFontLicence(): Plugin {
  return {
    name: "font-licence",
    buildStart() {
      if (this.meta.watchMode) return;
      const source = readFileSync(at("../node_modules/@fontsource/stix-two-math/LICENSE"));
      this.emitFile({ type: "asset", fileName: "assets/stix-two-math-licence.txt", source });
    },
  };
}

export default defineConfig({
  root: at("."),
  base: "./",
  plugins: [putThemeFirst(), addFontLicence()],
  resolve: {
    alias: [
      { find: /^loom-agent\/react\/style\.css$/, replacement: at("../src/react/style.css") },
      { find: /^loom-agent\/(\w+)$/, replacement: at("../src/$1/index.ts") },
    ],
  },
  build: {
    outDir: at("../dist/page"),
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The chart chunk is large and loaded on demand.
    chunkSizeWarningLimit: 1500,
  },
  server: { proxy: { "/v1": { target: "http://127.0.0.1:10338", ws: true } } },
});
