import type { NextConfig } from "next";

const config: NextConfig = {
  // It starts threads from its own files, so it must not be bundled.
  serverExternalPackages: ["loom-agent"],
};

export default config;
