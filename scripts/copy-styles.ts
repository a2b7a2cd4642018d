// Copies the styles of the components beside their compiled code: the compiler takes no notice of them.
import { cpSync, globSync } from "node:fs";

for (const path of globSync("src/react/**/*.css")) cpSync(path, path.replace(/^src/, "dist"));
