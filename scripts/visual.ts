/**
 * Compares pictures of the components with the stored ones, all or those whose name contains an argument. `--update`
 * stores them instead.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCatalogueFixture } from "../test/visual/catalogue-fixture.ts";
import { comparePictures } from "../test/visual/compare-pictures.ts";
import { namePicture, PICTURE_FOLDER, PICTURES } from "../test/visual/pictures.ts";

const isUpdate = process.argv.includes("--update");
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const fixture = await createCatalogueFixture();
const page = await fixture.open({ component: "button", state: "all" });
const differences = mkdtempSync(join(tmpdir(), "loom-visual-"));
mkdirSync(PICTURE_FOLDER, { recursive: true });

for (const options of PICTURES) {
  const name = namePicture(options);
  if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) continue;
  const path = join(PICTURE_FOLDER, `${name}.png`);
  const taken = await fixture.take(options);
  const compared = existsSync(path) ? await comparePictures(page, readFileSync(path), taken) : undefined;
  if (compared?.isEqual === true) continue;
  if (isUpdate) {
    writeFileSync(path, taken);
    console.log(`stored ${name}.png`);
    continue;
  }
  process.exitCode = 1;
  writeFileSync(join(differences, `${name}.png`), taken);
  if (compared !== undefined) writeFileSync(join(differences, `${name}-difference.png`), compared.png);
  console.log(`${name}: ${compared === undefined ? "not stored" : `${compared.pixels} pixels differ`}`);
}
if (isUpdate && wanted.length === 0) removeUnused();
if (process.exitCode === 1) console.log(`pictures: ${differences}; store them with: npm run visual -- --update`);
else rmSync(differences, { recursive: true });
await fixture.close();

function removeUnused(): void {
  const known = new Set(PICTURES.map((options) => `${namePicture(options)}.png`));
  for (const name of readdirSync(PICTURE_FOLDER)) if (!known.has(name)) rmSync(join(PICTURE_FOLDER, name));
  const bytes = readdirSync(PICTURE_FOLDER).reduce((sum, name) => sum + statSync(join(PICTURE_FOLDER, name)).size, 0);
  console.log(`${known.size} pictures, ${Math.round(bytes / 1000)} kB`);
}
