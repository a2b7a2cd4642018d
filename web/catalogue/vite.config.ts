// The catalogue of components. It is not part of the page that is shipped.
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";
import page from "../vite.config.ts";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The root is that of the page, whose files the catalogue uses. The address without a path shows the catalogue. */
function openCatalogue(): Plugin {
  return {
    name: "open-catalogue",
    configureServer({ middlewares }) {
      middlewares.use((request, response, next) => {
        if (request.url?.split("?")[0] !== "/") return next();
        return response.writeHead(302, { location: `/catalogue/${request.url.slice(1)}` }).end();
      });
    },
  };
}

export default defineConfig({
  root: at(".."),
  base: "./",
  plugins: [openCatalogue()],
  resolve: page.resolve ?? {},
  build: {
    rolldownOptions: { input: at("./index.html") },
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1500,
  },
});
