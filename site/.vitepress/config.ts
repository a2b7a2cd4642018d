// VitePress reads its configuration from here. The folder has only what must be in it, because the linter skips it.
export { siteConfig as default } from "../site-config.ts";
