// The catalogue of components. It is not part of the page that is shipped.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import page from "../vite.config.ts";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: at("."),
  base: "./",
  resolve: page.resolve ?? {},
  build: { target: "es2023", assetsInlineLimit: 0, modulePreload: { polyfill: false }, chunkSizeWarningLimit: 1500 },
});
