// Builds the page into the package's dist folder, with relative URLs. The entry points of the package are resolved to the
// source here.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, defineConfig, type Plugin, type Rolldown } from "vite";

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
    transformIndexHtml: (_html, { bundle = {}, path }) => {
      if (path !== "/index.html") return [];
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

/** The licences of what the chart worker bundles; Vite lists only those of the page itself. */
function addWorkerLicences(): Plugin {
  return {
    name: "worker-licences",
    generateBundle(_options, bundle) {
      const modules = Object.values(bundle).flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
      const folders = modules.flatMap(
        (id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id.replaceAll("\\", "/")) ?? [],
      );
      const texts = [...new Set(folders)]
        .toSorted((a, b) => (a < b ? -1 : 1))
        .map((folder) => {
          const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Record<
            string,
            string
          >;
          const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
          return `## ${name} - ${version}\n\n${file === undefined ? "" : readFileSync(join(folder, file), "utf8")}`;
        });
      this.emitFile({ type: "asset", fileName: "assets/chart-worker-licences.txt", source: texts.join("\n\n") });
    },
  };
}

const FRAME_URL = "assets/diagram-frame.html";

/**
 * Adds the frame that draws diagrams: one document with its script inline, because a sandboxed frame has an opaque origin,
 * from which the server accepts no requests.
 */
function addDiagramFrame(): Plugin {
  const root = at("./src/diagram-frame");
  return {
    name: "diagram-frame",
    configureServer({ middlewares }) {
      middlewares.use((request, response, next) => {
        if (request.url === `/${FRAME_URL}`) request.url = "/src/diagram-frame/frame.html";
        if (request.headers.origin === "null") response.setHeader("access-control-allow-origin", "*");
        next();
      });
    },
    async buildStart() {
      if (this.meta.watchMode) return;
      const built = await build({
        configFile: false,
        root,
        logLevel: "warn",
        plugins: [leaveOutFormulas()],
        build: {
          write: false,
          target: "es2023",
          modulePreload: false,
          license: { fileName: "licences.txt" },
          chunkSizeWarningLimit: 4000,
          rolldownOptions: { input: join(root, "frame.ts"), output: { codeSplitting: false } },
        },
      });
      const outputs = [built].flat() as readonly Pick<Rolldown.RolldownOutput, "output">[];
      const html = readFileSync(join(root, "frame.html"), "utf8");
      for (const file of outputs.flatMap(({ output }) => output))
        if (file.type === "chunk")
          this.emitFile({ type: "asset", fileName: FRAME_URL, source: putInline(html, file.code) });
        else this.emitFile({ type: "asset", fileName: `assets/diagram-frame-${file.fileName}`, source: file.source });
    },
  };
}

/** Formulas in diagrams would need a further library. Such diagrams are shown as code. */
function leaveOutFormulas(): Plugin {
  const refusal = 'throw new Error("Formulas in diagrams are not supported");';
  return {
    name: "no-formulas",
    enforce: "pre",
    resolveId: (id) => (id === "katex" ? "\0katex" : undefined),
    load: (id) => (id === "\0katex" ? `export default { renderToString() { ${refusal} } };` : undefined),
  };
}

/** Replaces the script of a document by its code. The code must not end the element. */
function putInline(html: string, code: string): string {
  const script = `<script type="module">${code.replaceAll(/<(?=\/script|!--)/gi, "\\x3c")}</script>`;
  return html.replace(/\s*<script .*<\/script>/, "").replace("</body>", () => `${script}</body>`);
}

export default defineConfig({
  root: at("."),
  base: "./",
  plugins: [putThemeFirst(), addFontLicence(), addDiagramFrame()],
  worker: { plugins: () => [addWorkerLicences()] },
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
    license: { fileName: "assets/licences.txt" },
    // The chart chunk is large and loaded on demand.
    chunkSizeWarningLimit: 1500,
    // One chunk with what many chunks share, instead of many small ones.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "shared", minShareCount: 8 }] } } },
  },
  server: { proxy: { "/v1": { target: "http://127.0.0.1:10338", ws: true } } },
});
