import type * as Os from "node:os";
import { networkInterfaces } from "node:os";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { isPublicAddress } from "./public-address.ts";

vi.mock("node:os", async (load) => {
  const os = await load<typeof Os>();
  return { ...os, networkInterfaces: vi.fn(os.networkInterfaces) };
});

const ours = [
  ..."0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 168.63.129.16 169.254.169.254".split(
    " ",
  ),
  ..."172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.7".split(
    " ",
  ),
  ..."203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255".split(" "),
];
const theirs = [
  ..."1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 93.184.216.34 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0".split(
    " ",
  ),
  ..."169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255".split(
    " ",
  ),
];

describe("isPublicAddress", () => {
  it.each(ours)("rejects %s, also embedded in an IPv6 address", (address) => {
    const hex = address.split(".").map((part) => Number(part).toString(16).padStart(2, "0"));
    const tail = `${hex[0]}${hex[1]}:${hex[2]}${hex[3]}`;
    const forms = [
      address,
      `::ffff:${address}`,
      `::ffff:${tail}`,
      `0:0:0:0:0:ffff:${tail}`,
      `::FFFF:${tail.toUpperCase()}`,
      `64:ff9b::${tail}`,
      `64:ff9b::${address}`,
      `64:ff9b:1::${tail}`,
      `::${address}`,
      `2002:${tail}::1`,
      `2001:0:${tail}::1`,
    ];
    for (const form of forms) expect([form, isPublicAddress(form)]).toEqual([form, false]);
  });

  it.each(theirs)("accepts %s, also mapped or through NAT64", (address) => {
    for (const form of [address, `::ffff:${address}`, `64:ff9b::${address}`])
      expect([form, isPublicAddress(form)]).toEqual([form, true]);
  });

  it.each([
    ..."::|::1|fe80::1|fe80::1%eth0|febf::1|fec0::1|fc00::1|fdff::1|ff02::1|100::1|2001:db8::1|3fff::1|2001::1|2001:2::1".split(
      "|",
    ),
    ..."2001:10::1|2001:20::1|2002:808:808::1|5f00::1|4000::1|2620:4f:8000::1|2606:4700:4700::1111%eth0".split("|"),
    ..."|localhost|1.2.3|0x7f.1|2130706433|1.2.3.4.5|[::1]|::ffff:999.1.1.1|8.8.8.8 ".split("|"),
  ])("rejects %j", (address) => expect(isPublicAddress(address)).toBe(false));

  it.each(["2606:4700:4700::1111", "2001:4860:4860::8888", "2a00:1450:4001:80b::200e", "2400:3200::1"])(
    "accepts %s",
    (address) => expect(isPublicAddress(address)).toBe(true),
  );

  it("rejects a public address of this machine", () => {
    const own = { netmask: "", mac: "", internal: false, cidr: null };
    vi.mocked(networkInterfaces).mockReturnValue({
      eth0: [
        { ...own, address: "8.8.4.4", family: "IPv4" },
        { ...own, address: "2606:4700::77", family: "IPv6", scopeid: 0 },
        { ...own, address: "fe80::1", family: "IPv6", scopeid: 2 },
      ],
    });
    for (const address of ["8.8.4.4", "::ffff:8.8.4.4", "64:ff9b::8.8.4.4", "2606:4700::77", "2606:4700:0:0:0:0:0:77"])
      expect(isPublicAddress(address)).toBe(false);
    for (const address of ["8.8.8.8", "2606:4700::78"]) expect(isPublicAddress(address)).toBe(true);
    vi.mocked(networkInterfaces).mockImplementation(() => {
      throw new Error("not allowed");
    });
    expect(isPublicAddress("8.8.4.4")).toBe(true);
    vi.mocked(networkInterfaces).mockReset();
  });

  it("gives the same result for all spellings of an address", () => {
    const group = fc.integer({ min: 0, max: 0xffff });
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
        const long = groups.map((each) => each.toString(16).padStart(4, "0")).join(":");
        const short = new URL(`http://[${long}]/`).hostname.slice(1, -1);
        expect(isPublicAddress(short)).toBe(isPublicAddress(long));
        expect(isPublicAddress(long.toUpperCase())).toBe(isPublicAddress(long));
      }),
    );
  });
});
