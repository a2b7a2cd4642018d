/**
 * Decides whether an IP address is public: not an address of this machine, its network or cloud metadata services.
 *
 * Invariant: an address that is not known to be public is rejected. For IPv6, only global unicast is public. An
 * embedded IPv4 address is checked itself, except in obsolete forms, which are rejected.
 */
import { BlockList, isIP } from "node:net";
import { networkInterfaces } from "node:os";

/** Not public, according to the registries of special-purpose addresses. */
const REFUSED_IPV4: readonly (readonly [network: string, prefix: number])[] = [
  ["0.0.0.0", 8], // this network
  ["10.0.0.0", 8], // private
  ["100.64.0.0", 10], // carrier-grade NAT
  ["127.0.0.0", 8], // loopback
  ["169.254.0.0", 16], // link-local, and where clouds tell secrets to their guests
  ["168.63.129.16", 32], // Azure's services for its guests
  ["172.16.0.0", 12], // private
  ["192.0.0.0", 24], // protocol assignments
  ["192.0.2.0", 24], // documentation
  ["192.31.196.0", 24], // AS112
  ["192.52.193.0", 24], // AMT
  ["192.88.99.0", 24], // 6to4 relays
  ["192.168.0.0", 16], // private
  ["192.175.48.0", 24], // AS112
  ["198.18.0.0", 15], // benchmarks
  ["198.51.100.0", 24], // documentation
  ["203.0.113.0", 24], // documentation
  ["224.0.0.0", 4], // multicast
  ["240.0.0.0", 4], // reserved, broadcast
];

/** Parts of global unicast that are not public. */
const REFUSED_IPV6: readonly (readonly [network: string, prefix: number])[] = [
  ["2001::", 23], // protocol assignments; Teredo, benchmarks, ORCHID
  ["2001:db8::", 32], // documentation
  ["2002::", 16], // 6to4
  ["2620:4f:8000::", 48], // AS112
  ["3fff::", 20], // documentation
  ["3ffe::", 16], // once 6bone
];

const refusedIpv4 = new BlockList();
for (const [network, prefix] of REFUSED_IPV4) refusedIpv4.addSubnet(network, prefix, "ipv4");
const refusedIpv6 = new BlockList();
for (const [network, prefix] of REFUSED_IPV6) refusedIpv6.addSubnet(network, prefix, "ipv6");
const globalIpv6 = new BlockList();
globalIpv6.addSubnet("2000::", 3, "ipv6");

/** Returns false for text that is not an address, and for addresses with a zone, which are always local. */
export function isPublicAddress(address: string): boolean {
  if (address.includes("%")) return false;
  const family = isIP(address);
  if (family === 0) return false;
  const ipv4 = family === 4 ? address : findEmbeddedIpv4(parseIpv6(address));
  if (ipv4 !== undefined) return !refusedIpv4.check(ipv4, "ipv4") && !listOwnAddresses().check(ipv4, "ipv4");
  if (!globalIpv6.check(address, "ipv6") || refusedIpv6.check(address, "ipv6")) return false;
  return !listOwnAddresses().check(address, "ipv6");
}

/** Addresses of this machine. They can be public, but local services may trust connections from them. */
function listOwnAddresses(): BlockList {
  const own = new BlockList();
  let all: ReturnType<typeof networkInterfaces> = {};
  try {
    all = networkInterfaces();
  } catch {
    // Not available in some sandboxes.
  }
  for (const { address, family } of Object.values(all).flatMap((each) => each ?? []))
    own.addAddress(address, family === "IPv4" ? "ipv4" : "ipv6");
  return own;
}

/** Returns the eight groups of an address accepted by `isIP`. */
function parseIpv6(address: string): number[] {
  const dotted = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  let text = address;
  if (dotted !== null) {
    const [a = 0, b = 0, c = 0, d = 0] = dotted.slice(1).map(Number);
    text = `${address.slice(0, dotted.index)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  }
  const [head = "", tail] = text.split("::");
  const read = (part: string): number[] =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
  const front = read(head);
  const back = tail === undefined ? [] : read(tail);
  return [...front, ...Array.from({ length: 8 - front.length - back.length }, () => 0), ...back];
}

/** Returns the IPv4 address in a mapped (::ffff:0:0/96) or NAT64 (64:ff9b::/96) address. */
function findEmbeddedIpv4(groups: readonly number[]): string | undefined {
  const [a, b, c, d, e, f, high = 0, low = 0] = groups;
  const isMapped = a === 0 && b === 0 && c === 0 && d === 0 && e === 0 && f === 0xffff;
  const isNat64 = a === 0x64 && b === 0xff9b && c === 0 && d === 0 && e === 0 && f === 0;
  return isMapped || isNat64 ? `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}` : undefined;
}
