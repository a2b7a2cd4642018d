import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RequestInfo } from "../guard/authorize.ts";
import {
  clearCookies,
  mayUseCookies,
  MAX_SHARE_COOKIES,
  readCookies,
  readPage,
  writeSessionCookie,
  writeShareCookie,
} from "./cookies.ts";

const ORIGIN = "http://localhost:10338";
const SECRET = `loom_ses_abcdefghijkl_${"A-z_9".repeat(8)}`;

function come(headers: { readonly [name: string]: string }, method = "GET", origin = ORIGIN): RequestInfo {
  return { method, headers: new Headers(headers), url: new URL(origin), address: undefined, origin };
}

const ALL = ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "UPGRADE"] as const;
const SAFE = ["GET", "HEAD"] as const;

describe("cookies count", () => {
  it.each<[string, { readonly [name: string]: string }, readonly string[]]>([
    ["the page's own origin", { origin: ORIGIN }, ALL],
    ["the same in capitals", { origin: "HTTP://LOCALHOST:10338" }, ALL],
    ["its own origin, whatever the rest says", { origin: ORIGIN, "sec-fetch-site": "cross-site" }, ALL],
    ["a read of the page itself", { "sec-fetch-site": "same-origin" }, ALL],
    ["an address that was typed", { "sec-fetch-site": "none" }, ALL],
    ["nothing told", {}, SAFE],
    ["an empty origin", { origin: "" }, SAFE],
    ["no page in particular", { origin: "null" }, []],
    ["no page, though of the same site", { origin: "null", "sec-fetch-site": "same-origin" }, []],
    ["another port", { origin: "http://localhost:3000" }, []],
    ["another port that begins alike", { origin: "http://localhost:103380" }, []],
    ["no port", { origin: "http://localhost" }, []],
    ["another scheme", { origin: "https://localhost:10338" }, []],
    ["a name that begins alike", { origin: "http://localhost.evil.example:10338" }, []],
    ["a name that ends alike", { origin: "http://evil-localhost:10338" }, []],
    ["a name below ours", { origin: "http://a.localhost:10338" }, []],
    ["our name as a user", { origin: "http://localhost:10338@evil.example" }, []],
    ["our origin and more", { origin: `${ORIGIN}/` }, []],
    ["two origins", { origin: `${ORIGIN}, ${ORIGIN}` }, []],
    ["an origin that is allowed to ask", { origin: "https://app.example.com" }, []],
    ["another site", { "sec-fetch-site": "cross-site" }, []],
    ["another origin of the same site", { "sec-fetch-site": "same-site" }, []],
    ["a word nobody knows", { "sec-fetch-site": "friendly" }, []],
  ])("for %s only with %s: %s", (_what, headers, methods) => {
    for (const method of ALL) {
      const stranger = come({ ...headers, cookie: `loom-session-10338=${SECRET}` }, method);
      expect(mayUseCookies(stranger), method).toBe(methods.includes(method));
      expect(readCookies(stranger).session, method).toBe(methods.includes(method) ? SECRET : undefined);
    }
  });

  it("never for a page of any other origin, whatever it is", () => {
    const origins = fc.oneof(
      fc.string(),
      fc.webUrl({ withFragments: true, withQueryParameters: true }),
      fc.tuple(fc.string(), fc.string()).map(([a, b]) => `${a}${ORIGIN}${b}`),
    );
    fc.assert(
      fc.property(origins, fc.constantFrom(...ALL), (text, method) => {
        const headers = new Headers();
        try {
          headers.set("origin", text);
        } catch {
          return;
        }
        const given = headers.get("origin") ?? "";
        fc.pre(given !== "" && given.toLowerCase() !== ORIGIN);
        expect(readPage({ headers, origin: ORIGIN })).toBe("foreign");
        expect(mayUseCookies({ headers, origin: ORIGIN, method })).toBe(false);
      }),
    );
  });
});

describe("of what a browser brings", () => {
  const read = (cookie: string, origin = ORIGIN) => readCookies(come({ cookie, origin }, "GET", origin));

  it.each([
    ["another port's", `loom-session-3000=${SECRET}`],
    ["one without a port", `loom-session=${SECRET}`],
    ["one that is there twice", `loom-session-10338=${SECRET}; loom-session-10338=${SECRET}x`],
    ["a token", `loom-session-10338=${SECRET.replace("ses", "tok")}`],
    ["a link", `loom-session-10338=${SECRET.replace("ses", "shr")}`],
    ["one in quotes", `loom-session-10338="${SECRET}"`],
    ["one that is very long", `loom-session-10338=loom_ses_${"a".repeat(5000)}`],
    ["an empty one", "loom-session-10338="],
    ["a name alone", "loom-session-10338"],
    ["nothing", ""],
  ])("%s is nobody's", (_what, cookie) => {
    expect(read(cookie)).toEqual({ session: undefined, shares: [] });
  });

  it("its own are found among others", () => {
    const link = "loom_shr_p0q2_secret";
    expect(read(`a=b;loom-session-10338=${SECRET};  loom-share-p0q2=${link} ; loom-share-x=${SECRET}; =;;c`)).toEqual({
      session: SECRET,
      shares: [link],
    });
  });

  it("so many links count, the newest of them", () => {
    const links = Array.from({ length: MAX_SHARE_COOKIES + 5 }, (_, i) => `loom_shr_${i}_x`);
    const { shares } = read(links.map((link, i) => `loom-share-${i}=${link}`).join("; "));
    expect(shares).toEqual(links.slice(5));
  });
});

describe("a cookie", () => {
  it.each([
    ["http://localhost:10338", "", "loom-session-10338", "Path=/; Max-Age=60; HttpOnly; SameSite=Strict"],
    ["https://agents.example.com", "", "loom-session-443", "Path=/; Max-Age=60; HttpOnly; SameSite=Strict; Secure"],
    ["http://agents.example.com", "/loom", "loom-session-80", "Path=/loom; Max-Age=60; HttpOnly; SameSite=Strict"],
    ["http://[::1]:8080", "", "loom-session-8080", "Path=/; Max-Age=60; HttpOnly; SameSite=Strict"],
  ])("of %s%s is written so that only its own page uses it", (origin, basePath, name, rest) => {
    const stranger = come({}, "POST", origin);
    const written = writeSessionCookie(stranger, SECRET, { basePath, expiresAt: 61_500, now: 1000 });
    expect(written).toBe(`${name}=${SECRET}; ${rest}`);
    const cookie = written.split(";", 1)[0] ?? "";
    expect(readCookies(come({ cookie, origin }, "POST", origin)).session).toBe(SECRET);
    expect(clearCookies(stranger, { basePath })).toEqual([`${name}=; ${rest.replace("60", "0")}`]);
  });

  it("of a link has a name of its own, and goes with the browser where the link does not end", () => {
    expect(writeShareCookie(come({}), "p0q2", "loom_shr_p0q2_x", { basePath: "" })).toBe(
      "loom-share-p0q2=loom_shr_p0q2_x; Path=/; HttpOnly; SameSite=Strict",
    );
    const cookie = "loom-share-p0q2=loom_shr_p0q2_x; loom-share-r=loom_shr_r_y; other=z";
    const cleared = clearCookies(come({ cookie, origin: ORIGIN }, "POST"), { basePath: "" });
    expect(cleared.map((text) => text.split(";", 1)[0])).toEqual([
      "loom-session-10338=",
      "loom-share-p0q2=",
      "loom-share-r=",
    ]);
  });
});
