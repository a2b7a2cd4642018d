/** The list of trusted proxies. Only their `X-Forwarded-*` headers are used; those of other addresses are ignored. */
import { BlockList, isIP } from "node:net";
import { LoomError } from "../../protocol/index.ts";

export interface Proxies {
  has(address: string): boolean;
}

/** Accepts addresses (`10.0.0.7`), ranges (`10.0.0.0/8`, `fd00::/8`) and `loopback`. Throws `invalid_arguments`. */
export function readProxies(texts: readonly string[]): Proxies {
  const list = new BlockList();
  for (const text of texts) if (!addTo(list, text)) throw refuse(text);
  return {
    has: (given) => {
      const address = readAddress(given);
      return address !== undefined && list.check(address, familyOf(address));
    },
  };
}

function addTo(list: BlockList, text: string): boolean {
  if (text === "loopback") {
    list.addSubnet("127.0.0.0", 8, "ipv4");
    list.addAddress("::1", "ipv6");
    return true;
  }
  const [base = "", bits, ...more] = text.split("/");
  if (isIP(base) === 0 || more.length > 0) return false;
  const address = readAddress(base) ?? base;
  if (bits === undefined) {
    list.addAddress(address, familyOf(address));
    return true;
  }
  if (!/^\d{1,3}$/.test(bits) || Number(bits) > (isIP(address) === 4 ? 32 : 128) || address !== base) return false;
  list.addSubnet(address, Number(bits), familyOf(address));
  return true;
}

/**
 * Returns an address without port, brackets and zone, with IPv4-mapped IPv6 as IPv4. Undefined if it is not an address.
 */
export function readAddress(text: string): string | undefined {
  const given = text.trim();
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(given)?.[1] ?? /^([\d.]+):\d+$/.exec(given)?.[1] ?? given;
  const address = bare.replace(/%.*$/, "").toLowerCase();
  const inside = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1] ?? address;
  return isIP(inside) === 0 ? undefined : inside;
}

export function isLoopback(address: string): boolean {
  const bare = readAddress(address);
  return bare !== undefined && (bare === "::1" || (isIP(bare) === 4 && bare.startsWith("127.")));
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 4 ? "ipv4" : "ipv6";
}

function refuse(text: string): LoomError {
  const given = JSON.stringify(text.slice(0, 60));
  return new LoomError(
    "invalid_arguments",
    `\`trustedProxies\` must be addresses, ranges such as 10.0.0.0/8, or "loopback", not ${given}`,
  );
}
