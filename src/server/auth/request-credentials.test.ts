import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RequestInfo } from "../guard/read-request-info.ts";
import {
  clearCookies,
  findPageOrigin,
  MAX_SHARE_COOKIES,
  mayUseCookies,
  readCookies,
  writeSessionCookie,
  writeShareCookie,
} from "./request-credentials.ts";

const ORIGIN = "http://localhost:10338";
const SECRET = `loom_ses_abcdefghijkl_${"A-z_9".repeat(8)}`;

function makeRequest(headers: { readonly [name: string]: string }, method = "GET", origin = ORIGIN): RequestInfo {
  return { method, headers: new Headers(headers), url: new URL(origin), address: undefined, origin };
}

const ALL = ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "UPGRADE"] as const;
const SAFE = ["GET", "HEAD"] as const;

describe("accepted cookies", () => {
  it.each<[string, { readonly [name: string]: string }, readonly string[]]>([
    ["own origin", { origin: ORIGIN }, ALL],
    ["own origin in upper case", { origin: "HTTP://LOCALHOST:10338" }, ALL],
    ["own origin and a contradicting Sec-Fetch-Site", { origin: ORIGIN, "sec-fetch-site": "cross-site" }, ALL],
    ["same-origin request", { "sec-fetch-site": "same-origin" }, ALL],
    ["URL typed by hand", { "sec-fetch-site": "none" }, ALL],
    ["no browser headers", {}, SAFE],
    ["empty origin", { origin: "" }, SAFE],
    ["origin null", { origin: "null" }, []],
    ["origin null from the same origin", { origin: "null", "sec-fetch-site": "same-origin" }, []],
    ["another port", { origin: "http://localhost:3000" }, []],
    ["port with the same prefix", { origin: "http://localhost:103380" }, []],
    ["missing port", { origin: "http://localhost" }, []],
    ["another scheme", { origin: "https://localhost:10338" }, []],
    ["host with the same prefix", { origin: "http://localhost.evil.example:10338" }, []],
    ["host with the same suffix", { origin: "http://evil-localhost:10338" }, []],
    ["subdomain", { origin: "http://a.localhost:10338" }, []],
    ["own host as user name", { origin: "http://localhost:10338@evil.example" }, []],
    ["trailing slash", { origin: `${ORIGIN}/` }, []],
    ["two origins", { origin: `${ORIGIN}, ${ORIGIN}` }, []],
    ["origin allowed by CORS", { origin: "https://app.example.com" }, []],
    ["another site", { "sec-fetch-site": "cross-site" }, []],
    ["another origin of the same site", { "sec-fetch-site": "same-site" }, []],
    ["unknown Sec-Fetch-Site value", { "sec-fetch-site": "friendly" }, []],
  ])("%s: %s accepted for %s", (_case, headers, methods) => {
    for (const method of ALL) {
      const request = makeRequest({ ...headers, cookie: `loom-session-10338=${SECRET}` }, method);
      expect(mayUseCookies(request), method).toBe(methods.includes(method));
      expect(readCookies(request).session, method).toBe(methods.includes(method) ? SECRET : undefined);
    }
  });

  it("are never accepted from a page of another origin", () => {
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
        expect(findPageOrigin({ headers, origin: ORIGIN })).toBe("foreign");
        expect(mayUseCookies({ headers, origin: ORIGIN, method })).toBe(false);
      }),
    );
  });
});

describe("reading cookies", () => {
  const read = (cookie: string, origin = ORIGIN) => readCookies(makeRequest({ cookie, origin }, "GET", origin));

  it.each([
    ["another port's cookie", `loom-session-3000=${SECRET}`],
    ["a cookie without port", `loom-session=${SECRET}`],
    ["a duplicate cookie", `loom-session-10338=${SECRET}; loom-session-10338=${SECRET}x`],
    ["a token", `loom-session-10338=${SECRET.replace("ses", "tok")}`],
    ["a link", `loom-session-10338=${SECRET.replace("ses", "shr")}`],
    ["a quoted value", `loom-session-10338="${SECRET}"`],
    ["a very long value", `loom-session-10338=loom_ses_${"a".repeat(5000)}`],
    ["an empty value", "loom-session-10338="],
    ["a name without value", "loom-session-10338"],
    ["nothing", ""],
  ])("ignores %s", (_case, cookie) => {
    expect(read(cookie)).toEqual({ session: undefined, shares: [] });
  });

  it("finds its cookies among others", () => {
    const link = "loom_shr_p0q2_secret";
    expect(read(`a=b;loom-session-10338=${SECRET};  loom-share-p0q2=${link} ; loom-share-x=${SECRET}; =;;c`)).toEqual({
      session: SECRET,
      shares: [link],
    });
  });

  it("keeps only the newest share links", () => {
    const links = Array.from({ length: MAX_SHARE_COOKIES + 5 }, (_, i) => `loom_shr_${i}_x`);
    const { shares } = read(links.map((link, i) => `loom-share-${i}=${link}`).join("; "));
    expect(shares).toEqual(links.slice(5));
  });
});

describe("writing cookies", () => {
  it.each([
    ["http://localhost:10338", "", "loom-session-10338", "Path=/; Max-Age=60; HttpOnly; SameSite=Strict"],
    ["https://agents.example.com", "", "loom-session-443", "Path=/; Max-Age=60; HttpOnly; SameSite=Strict; Secure"],
    ["http://agents.example.com", "/loom", "loom-session-80", "Path=/loom; Max-Age=60; HttpOnly; SameSite=Strict"],
    ["http://[::1]:8080", "", "loom-session-8080", "Path=/; Max-Age=60; HttpOnly; SameSite=Strict"],
  ])("restricts the session cookie of %s%s to its own page", (origin, basePath, name, rest) => {
    const request = makeRequest({}, "POST", origin);
    const written = writeSessionCookie(request, SECRET, { basePath, expiresAt: 61_500, now: 1000 });
    expect(written).toBe(`${name}=${SECRET}; ${rest}`);
    const cookie = written.split(";", 1)[0] ?? "";
    expect(readCookies(makeRequest({ cookie, origin }, "POST", origin)).session).toBe(SECRET);
    expect(clearCookies(request, { basePath })).toEqual([`${name}=; ${rest.replace("60", "0")}`]);
  });

  it("names share cookies by link and makes them session cookies if the link does not expire", () => {
    expect(writeShareCookie(makeRequest({}), "p0q2", "loom_shr_p0q2_x", { basePath: "" })).toBe(
      "loom-share-p0q2=loom_shr_p0q2_x; Path=/; HttpOnly; SameSite=Strict",
    );
    const cookie = "loom-share-p0q2=loom_shr_p0q2_x; loom-share-r=loom_shr_r_y; other=z";
    const cleared = clearCookies(makeRequest({ cookie, origin: ORIGIN }, "POST"), { basePath: "" });
    expect(cleared.map((text) => text.split(";", 1)[0])).toEqual([
      "loom-session-10338=",
      "loom-share-p0q2=",
      "loom-share-r=",
    ]);
  });
});
