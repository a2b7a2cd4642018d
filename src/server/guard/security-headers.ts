/** Security headers of every response. The page replaces the content security policy with its own. */

/** Browser features the page never uses. Writing to the clipboard stays allowed. */
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

/** Nothing may be loaded, framed or submitted. */
export const CLOSED_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

export const SECURITY_HEADERS = {
  "content-security-policy": CLOSED_POLICY,
  "permissions-policy": REFUSED_FEATURES.map((name) => `${name}=()`).join(", "),
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  // A share link may be published.
  "x-robots-tag": "noindex",
} as const satisfies { readonly [name: string]: string };
