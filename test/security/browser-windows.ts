// What pages of others show of a server in frames, and what they can do with windows of it that they have opened.
import type { Frame, Page } from "playwright-core";

interface Shown {
  readonly tag: string;
  readonly address: string;
  /** Of what is in it, in the end. */
  readonly url: string;
}

const FRAMES = ["iframe", "iframe sandbox=allow-scripts", "object", "embed"] as const;

/** These addresses in all that has something of another site in it. */
export async function showFrames(frame: Frame, addresses: readonly string[]): Promise<readonly Shown[]> {
  const cases = FRAMES.flatMap((tag) => addresses.map((address) => ({ tag, address })));
  await frame.evaluate(
    (all) =>
      Promise.all(
        all.map(({ tag, address }, index) => {
          const [name = "", sandbox] = tag.split(" sandbox=");
          const element = document.createElement(name);
          if (sandbox !== undefined) element.setAttribute("sandbox", sandbox);
          element.setAttribute("name", `shown-${index}`);
          element.setAttribute(name === "object" ? "data" : "src", address);
          return new Promise<void>((resolve) => {
            for (const type of ["load", "error"]) element.addEventListener(type, () => resolve());
            document.body.append(element);
            setTimeout(resolve, 5000);
          });
        }),
      ),
    cases,
  );
  const inside = frame.childFrames();
  const shown = cases.map((each, index) => ({
    ...each,
    url: inside.find((child) => child.name() === `shown-${index}`)?.url() ?? "",
  }));
  await frame.evaluate(() => document.body.replaceChildren());
  return shown;
}

export async function openWindow(frame: Frame, address: string): Promise<Page> {
  const [opened] = await Promise.all([
    frame.page().waitForEvent("popup"),
    frame.evaluate((to) => void Object.assign(globalThis, { held: globalThis.open(to) }), address),
  ]);
  await opened.waitForLoadState();
  return opened;
}

/** Runs in the page of the other site: whether the window that it has opened is there for it. */
export function isHeld(): boolean {
  return !(globalThis as unknown as { readonly held: Window }).held.closed;
}

/** Runs in the page of the other site: what it can do with the window that it has opened. */
export function tryWindow(base: string): {
  readonly isClosed: boolean;
  readonly frames: number;
  readonly read: string;
} {
  const { held } = globalThis as unknown as { readonly held: Window };
  const attempt = (act: () => unknown): string => {
    try {
      const what = act();
      return typeof what === "string" ? what : "";
    } catch {
      return "";
    }
  };
  held.postMessage({ type: "run", message: "Hi" }, base);
  attempt(() => Object.assign(held, { moved: true }));
  attempt(() => (held.location.href = "javascript:void(document.title='moved')"));
  return {
    isClosed: held.closed,
    frames: held.length,
    read: attempt(() => held.document.title) + attempt(() => held.location.href),
  };
}
