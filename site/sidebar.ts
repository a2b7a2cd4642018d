/** The structure of the site. Each entry is a page; its title is its first heading unless a shorter one is given. */

export interface SidebarPage {
  readonly source: string;
  readonly title?: string;
  readonly anchor?: string;
}

export interface SidebarGroup {
  readonly title: string;
  readonly items: readonly (string | SidebarPage | SidebarGroup)[];
}

const guide = (name: string): string => `docs/guides/${name}.md`;

const HANDBOOK = [
  "what-is-loom",
  "install-and-first-run",
  "agents",
  "tools-and-approval",
  "knowledge-base",
  "events-and-dialects",
  "resume-and-durability",
  "observe",
  "deployment-guide",
  "backup-and-maintenance",
];

const DIALECTS = [
  "loom",
  "export",
  "engine",
  "lumine",
  "stream-event",
  "ai-sdk",
  "ag-ui",
  "openai-responses",
  "openai-chat",
];

/** `apiPages` are the generated pages of the API reference. */
export function englishSidebar(apiPages: readonly SidebarPage[]): readonly SidebarGroup[] {
  return [
    {
      title: "Start",
      items: [
        "docs/quickstart.md",
        guide("from-the-ai-sdk"),
        "docs/concepts.md",
        "docs/gallery/README.md",
        { title: "Handbook", items: HANDBOOK.map((name) => `docs/handbook/en/${name}.md`) },
      ],
    },
    {
      title: "Guides",
      items: [
        ...["build-an-agent", "write-a-tool", "use-models", "use-mcp-servers", "use-a-knowledge-base"].map(guide),
        ...["compress-the-context", "build-a-graph", "use-callbacks", "write-a-run", "follow-a-session"].map(guide),
        ...[
          "receive-a-stream",
          "check-and-convert-streams",
          "use-the-server",
          "build-a-page",
          "theme-the-page",
          "use-blobs",
        ].map(guide),
      ],
    },
    {
      title: "Integrations",
      items: [
        {
          title: "Record other agents",
          items: ["ai-sdk", "langgraph", "openai", "ingest-a-run"].map(guide),
        },
        { title: "Use other clients", items: ["ai-sdk-chat", "ag-ui", "openai-clients"].map(guide) },
      ],
    },
    {
      title: "Operate",
      items: [
        guide("run-a-server"),
        guide("reverse-proxy"),
        guide("allow-origins"),
        guide("serverless"),
        guide("without-a-terminal"),
        "deploy/README.md",
        "docs/security.md",
        guide("authentication"),
        guide("maintain-a-store"),
        { source: guide("maintain-a-store"), anchor: "back-up-restore-and-verify", title: "Back up and restore" },
        guide("store-sessions-in-postgresql"),
        guide("operate-postgresql"),
        "docs/operations/README.md",
        guide("use-metrics"),
        guide("use-traces-and-logs"),
        "docs/operations/audit-log.md",
        guide("upgrade"),
      ],
    },
    {
      title: "Protocol",
      items: [
        { source: guide("implement-the-protocol"), title: "Implement the protocol" },
        "docs/specifications.md",
        "docs/protocol.md",
        {
          title: "Dialects",
          items: [
            { source: "docs/dialects/README.md", title: "Overview" },
            ...DIALECTS.map((name) => `docs/dialects/${name}.md`),
          ],
        },
        "docs/control.md",
        { source: "spec/README.md", title: "Test vectors" },
        "docs/conformance.md",
        "docs/threats.md",
      ],
    },
    {
      title: "Reference",
      items: [
        { source: "docs/http.md", title: "HTTP endpoints" },
        "docs/errors.md",
        "docs/configuration.md",
        guide("command-line"),
        "docs/entry-points.md",
        { title: "API", items: apiPages },
      ],
    },
    {
      title: "Project",
      items: [
        "docs/comparison.md",
        "docs/benchmarks.md",
        "CHANGELOG.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "docs/contributing/extend-loom.md",
      ],
    },
  ];
}

export const CHINESE_SIDEBAR: readonly SidebarGroup[] = [
  {
    title: "开始",
    items: ["docs/quickstart.zh.md", "docs/guides/from-the-ai-sdk.zh.md", "docs/concepts.zh.md"],
  },
  { title: "手册", items: HANDBOOK.map((name) => `docs/handbook/zh/${name}.md`) },
  { title: "参考", items: ["docs/protocol.zh.md"] },
];

/** All pages of a sidebar, in order. */
export function listSidebarPages(groups: readonly SidebarGroup[]): readonly SidebarPage[] {
  return groups.flatMap(({ items }) =>
    items.flatMap((item) => {
      if (typeof item === "string") return [{ source: item }];
      return "items" in item ? listSidebarPages([item]) : [item];
    }),
  );
}
