/**
 * What must not be among the packages that are installed: each is of the registry and known by its bytes, runs no program
 * of its own when it is installed, is not given up by its makers, and has a licence that can be kept. Pure: it is given
 * the texts, and asks nobody.
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

/** What whoever installs the package gets with it. A new one is a line here, and one in docs/decisions. */
const RUNTIME: ReadonlySet<string> = new Set([
  "@hono/node-server",
  "@tanstack/virtual-core",
  "hono",
  "jose",
  "marked",
  "ws",
]);

/** Those that bring a program to be run when they are installed, all for development, and whether it is run. */
const INSTALL_SCRIPTS: { readonly [name: string]: { readonly isRun: boolean; readonly why: string } } = {
  node: { isRun: true, why: "puts the executable of the version the tests run on into place" },
  lmdb: { isRun: false, why: "would compile what comes ready-made; a peer in a benchmark" },
  "msgpackr-extract": { isRun: false, why: "would compile what lmdb can do without" },
};

const LICENCES: ReadonlySet<string> = new Set([
  "MIT",
  "ISC",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "0BSD",
  "Unlicense",
  // One of the two may be chosen, or both are kept.
  "(AFL-2.1 OR BSD-3-Clause)",
  "(MIT OR GPL-3.0-or-later)",
  "(MIT AND Zlib)",
]);

/** Licences that ask for more, of packages that are used and not shipped. */
const OWN_LICENCES: { readonly [name: string]: string } = {
  "@fontsource/noto-sans-sc": "OFL-1.1",
  "@modelcontextprotocol/server-everything": "SEE LICENSE IN LICENSE",
  "axe-core": "MPL-2.0",
};
/** A compiler of styles, with one package for each system. */
const isOwnLicence = (name: string, licence: string): boolean =>
  OWN_LICENCES[name] === licence || (/^lightningcss(?:-|$)/.test(name) && licence === "MPL-2.0");

const INTEGRITY = /^sha512-[A-Za-z0-9+/]{86}==$/;
const REGISTRY = "https://registry.npmjs.org/";

export function findDependencyFaults({ manifest, lock }: DependencyFiles): readonly DependencyFault[] {
  const workspaces = new Set(manifest.workspaces);
  const faults = Object.keys(manifest.dependencies ?? {}).flatMap((name): DependencyFault[] =>
    RUNTIME.has(name) ? [] : [{ rule: "runtime", name, detail: "is no known dependency of the package itself" }],
  );
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (path === "" || workspaces.has(path)) continue;
    const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
    const isOurs = entry.link === true && workspaces.has(entry.resolved ?? "");
    if (!isOurs) faults.push(...judgePackage(name, entry, manifest.allowScripts ?? {}));
  }
  return faults;
}

function judgePackage(
  name: string,
  { resolved, link, integrity = "", license = "", deprecated, hasInstallScript }: LockedPackage,
  allowed: { readonly [name: string]: boolean },
): readonly DependencyFault[] {
  const faults: DependencyFault[] = [];
  const report = (rule: DependencyFault["rule"], detail: string): void => void faults.push({ rule, name, detail });
  if (link === true || (resolved !== undefined && !resolved.startsWith(REGISTRY)))
    report("source", `comes from ${resolved ?? "a link"}, not from the registry`);
  if (!INTEGRITY.test(integrity)) report("integrity", "is not known by its bytes");
  if (deprecated !== undefined) report("deprecated", deprecated);
  if (!LICENCES.has(license) && !isOwnLicence(name, license))
    report("licence", `has the licence ${license || "of nobody"}`);
  if (hasInstallScript === true) {
    const known = Object.hasOwn(INSTALL_SCRIPTS, name) ? INSTALL_SCRIPTS[name] : undefined;
    if (known === undefined) report("install-script", "runs a program when it is installed, and is not known to");
    else if (known.isRun !== allowed[name])
      report(
        "install-script",
        `is ${known.isRun ? "" : "not "}to run its program, and \`allowScripts\` says otherwise`,
      );
  }
  return faults;
}
