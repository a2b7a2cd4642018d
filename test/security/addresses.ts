// Addresses of this machine and of internal networks, in every spelling that a URL allows.

/** Loopback, private, link-local and reserved addresses, and cloud metadata services. */
export const INTERNAL_IPV4 = [
  ..."127.0.0.1 127.1.2.3 0.0.0.0 0.1.2.3 10.0.0.1 172.16.0.1 172.31.255.254 192.168.1.1 169.254.169.254".split(" "),
  ..."169.254.170.2 100.64.0.1 100.100.100.200 168.63.129.16 192.0.0.192 198.18.0.1 224.0.0.1 240.0.0.1 255.255.255.255".split(
    " ",
  ),
] as const;

const toNumber = (address: string): number => address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
const hex = (value: number): string => value.toString(16);
const octal = (value: number): string => `0${value.toString(8)}`;

/**
 * Spellings of an IPv4 address in a URL: one number, octal, hexadecimal, fewer parts, digits of other scripts, and
 * embedded in IPv6.
 */
export function spellHosts(address: string): readonly string[] {
  const parts = address.split(".").map(Number);
  const [a = 0, b = 0, c = 0, d = 0] = parts;
  const whole = toNumber(address);
  const high = hex(a * 256 + b);
  const low = hex(c * 256 + d);
  const wide = Array.from(address)
    .map((sign) => (sign === "." ? "." : String.fromCodePoint(0xff10 + Number(sign))))
    .join("");
  const circled = Array.from(address)
    .map((sign) => (/[1-9]/.test(sign) ? String.fromCodePoint(0x245f + Number(sign)) : sign))
    .join("");
  return [
    address,
    `${address}.`,
    String(whole),
    `0x${hex(whole)}`,
    octal(whole),
    `0X${hex(whole).toUpperCase()}`,
    parts.map(octal).join("."),
    parts.map((part) => `0x${hex(part)}`).join("."),
    parts.map((part) => `000${part.toString(8)}`).join("."),
    `${a}.${whole % 2 ** 24}`,
    `${a}.${b}.${c * 256 + d}`,
    `0x${hex(a)}.${whole % 2 ** 24}`,
    `${octal(a)}.0x${hex(b)}.${c * 256 + d}`,
    address.replaceAll(".", "。"),
    address.replaceAll(".", "．"),
    address.replaceAll(".", "｡"),
    address.replace(".", "%2e"),
    wide,
    circled,
    address.replaceAll(".", "%E3%80%82"),
    `%${hex(address.charCodeAt(0))}${address.slice(1)}`,
    `${address.slice(0, 1)}\u00ad${address.slice(1)}`,
    `[::ffff:${address}]`,
    `[::ffff:${high}:${low}]`,
    `[0:0:0:0:0:ffff:${high}:${low}]`,
    `[::FFFF:${high}:${low}]`,
    `[::${address}]`,
    `[::${high}:${low}]`,
    `[64:ff9b::${address}]`,
    `[64:ff9b::${high}:${low}]`,
    `[64:ff9b:1::${address}]`,
    `[2002:${high}:${low}::1]`,
    `[2001:0:${high}:${low}::1]`,
    `[2001:0:4136:e378:8000:63bf:${hex(0xffff ^ (a * 256 + b))}:${hex(0xffff ^ (c * 256 + d))}]`,
    `[::ffff:0:${address}]`,
    `[fe80::5efe:${address}]`,
    `[fe80::5efe:${address}%25eth0]`,
  ];
}

export const INTERNAL_IPV6 = [
  ..."::1 :: 0:0:0:0:0:0:0:1 0000:0000:0000:0000:0000:0000:0000:0001 fe80::1 fe80::1%25eth0 fe80::1%25lo fec0::1".split(
    " ",
  ),
  ..."fc00::1 fd00:ec2::254 fd20:ce::254 fdff::1 ff02::1 ff01::1 100::1 2001:db8::1 3fff::1 5f00::1 2001:2::1 2001:10::1 4000::1".split(
    " ",
  ),
] as const;

/** Host names that often resolve to internal addresses. Each test decides what they resolve to. */
export const INTERNAL_NAMES = [
  ..."localhost LOCALHOST localhost. foo.localhost localhost.localdomain ip6-localhost metadata metadata.google.internal".split(
    " ",
  ),
  ..."instance-data kubernetes.default.svc 127.0.0.1.nip.io localtest.me inner.test xn--inner-test ｌｏｃａｌｈｏｓｔ ①②⑦.test".split(
    " ",
  ),
] as const;

/** URLs that hide the host behind user info, odd separators, control characters or another host. */
export function disguiseUrls(host: string, port: string): readonly string[] {
  return [
    `http://public.test@${host}${port}/`,
    `http://public.test:80@${host}${port}/`,
    `http://${host}${port}@public.test/`,
    `http://public.test%40${host}${port}/`,
    `http://user:pass@${host}${port}/`,
    `http://@${host}${port}/`,
    `http://:@${host}${port}/`,
    `http:${host}${port}/`,
    `http:/${host}${port}/`,
    `http:///${host}${port}/`,
    `http:\\\\${host}${port}\\`,
    `http://\\${host}${port}/`,
    `//${host}${port}/`,
    `${host}${port}/`,
    ` http://${host}${port}/ `,
    `\thttp://${host}${port}/`,
    `ht\ntp://${host}${port}/`,
    `HTTP://${host}${port}/`,
    `http://${host}${port}#@public.test/`,
    `http://${host}${port}?@public.test/`,
    `http://${host}${port}/\\@public.test`,
    `http://public.test#@${host}${port}/`,
    `http://public.test\\@${host}${port}/`,
    `http://${host}\u0000.public.test${port}/`,
    `http://${host}%00.public.test${port}/`,
    `http://${host}%09${port}/`,
    `http://${host}\r\nX: y${port}/`,
    `http://${host}%0d%0aX:y${port}/`,
  ];
}

export const OTHER_SCHEMES = [
  ..."file:///etc/passwd file://localhost/etc/passwd ftp://127.0.0.1/ gopher://127.0.0.1:6379/_INFO dict://127.0.0.1:11211/stat".split(
    " ",
  ),
  ..."ldap://127.0.0.1/ tftp://127.0.0.1/ jar:http://127.0.0.1!/ data:text/plain,hello blob:http://127.0.0.1/x javascript:alert(1)".split(
    " ",
  ),
  ..."ws://127.0.0.1/ wss://127.0.0.1/ unix:/var/run/docker.sock http+unix://%2Fvar%2Frun%2Fdocker.sock/ netdoc:///etc/passwd".split(
    " ",
  ),
  ..."view-source:http://127.0.0.1/ about:blank phar://x ssh://127.0.0.1 https+file:///x".split(" "),
] as const;

/** Ports of services that often run on a server. */
export const OTHER_PORTS = [
  1, 21, 22, 23, 25, 110, 143, 445, 2375, 3306, 5432, 6379, 8080, 8443, 9200, 10_250, 11_211, 27_017, 65_535,
] as const;
