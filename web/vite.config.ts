// How the page is built: into the package's dist, with addresses that hold wherever it is mounted. The page sees of the
// package what everybody sees, its doors; here they stand open to the source.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

// oxlint-disable-next-line import/no-default-export -- Vite asks for it
export default defineConfig({
  root: at("."),
  base: "./",
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
    // Charts come when a chart does.
    chunkSizeWarningLimit: 1500,
  },
  server: { proxy: { "/v1": { target: "http://127.0.0.1:10338", ws: true } } },
});
