/**
 * What tells browsers to do nothing with an answer but what it is for: on everything that is served, a page, an error, a
 * stream. A page says for itself what it may load.
 */

/** What the page never asks a browser for. It may write to the clipboard. */
const REFUSED_FEATURES = [
  "accelerometer",
  "autoplay",
  "camera",
  "clipboard-read",
  "display-capture",
  "encrypted-media",
  "geolocation",
  "gyroscope",
  "hid",
  "idle-detection",
  "magnetometer",
  "microphone",
  "midi",
  "payment",
  "publickey-credentials-get",
  "screen-wake-lock",
  "serial",
  "usb",
  "xr-spatial-tracking",
];

/** Nothing is loaded, framed, or sent anywhere. */
export const CLOSED_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

export const SECURITY_HEADERS = {
  "content-security-policy": CLOSED_POLICY,
  "permissions-policy": REFUSED_FEATURES.map((name) => `${name}=()`).join(", "),
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
} as const satisfies { readonly [name: string]: string };
