// Removes the C++ headers of the Node package after `npm ci`: 67 MB for compiling native modules, which this project does
// not do.
import { globSync, rmSync } from "node:fs";

for (const path of globSync("node_modules/node/node_modules/*/include")) rmSync(path, { recursive: true });
