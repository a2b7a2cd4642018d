/** Bundles a source file for a browser as an application's build would: one module, tree-shaken and minified. */
import { rolldown } from "rolldown";

export interface BundleOptions {
  /** Packages to leave out of the bundle. */
  readonly external?: readonly string[];
}

export async function bundleForBrowser(entry: string, { external = [] }: BundleOptions = {}): Promise<string> {
  const bundle = await rolldown({
    input: entry,
    platform: "browser",
    external: [...external],
    transform: { define: { "process.env.NODE_ENV": JSON.stringify("production") } },
    onLog: (level, log) => {
      if (level === "warn") throw new Error(`bundling ${entry}: ${log.message}`);
    },
  });
  try {
    const { output } = await bundle.generate({ format: "esm", minify: true, codeSplitting: false });
    if (output.length !== 1) throw new Error(`bundling ${entry} gave ${output.length} files`);
    return output[0].code;
  } finally {
    await bundle.close();
  }
}
