// Copies the stylesheets of the React components to dist: tsc does not copy CSS files.
import { cpSync, globSync } from "node:fs";

for (const path of globSync("src/react/**/*.css")) cpSync(path, path.replace(/^src/, "dist"));
