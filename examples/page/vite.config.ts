// Serves the page, and passes its requests and its WebSocket on to Loom.
import { defineConfig } from "vite";

const target = process.env["LOOM_URL"] ?? "http://127.0.0.1:10338";

export default defineConfig({
  server: { host: "127.0.0.1", proxy: { "/v1": { target, changeOrigin: true, ws: true } } },
});
