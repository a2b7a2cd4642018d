import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { DataBlock } from "../../client/index.ts";
import { type ChartProps, type Ui, UiProvider } from "../ui/ui-context.tsx";
import { DataView, findImage } from "./data-view.tsx";
import type { JsonObject } from "../../protocol/index.ts";

const show = (dataType: DataBlock["dataType"], data: DataBlock["data"], ui: Partial<Ui> = {}): string =>
  renderToStaticMarkup(
    <UiProvider {...ui}>
      <DataView block={{ dataType, data, metadata: { description: "What it is" } }} />
    </UiProvider>,
  );

const TABLE = {
  name: "Moons",
  columns: ["planet", "moons"],
  rows: [
    ["Earth", 1],
    ["<b>Mars</b>", 2],
  ],
};

describe("DataTable", () => {
  it("shows name, description, rows and row count", () => {
    const html = show("dataframe", TABLE);
    expect(html).toContain('<strong dir="auto">Moons</strong><span class="loom-short">What it is</span>');
    expect(html).toContain('aria-rowcount="3"');
    expect(html).toContain('aria-sort="none"');
    expect(html).toContain("&lt;b&gt;Mars&lt;/b&gt;");
    expect(html).toContain("2 rows");
    expect(show("dataframe", TABLE, { language: "zh" })).toContain("共 2 行");
  });

  it("renders few rows of a large table", () => {
    const rows = Array.from({ length: 100_000 }, (_, row) => [row]);
    const html = show("dataframe", { columns: ["n"], rows });
    expect(html).toContain('aria-rowcount="100001"');
    expect(html.match(/<tr aria-rowindex/g)?.length).toBeLessThan(60);
  });

  it("shows data that is not a table as JSON", () => {
    expect(show("dataframe", { some: "thing" })).toContain("thing");
  });
});

describe("ChartView", () => {
  const chart = { mark: "bar", ...TABLE };
  const Chart = ({ data, title }: ChartProps): string => `${String(title)} ${JSON.stringify(data["mark"])}`;

  it("shows the data without a plugin and always describes the chart", () => {
    const html = show("chart", chart);
    expect(html).toContain("Bar chart. 2 points. moons: 1 to 2");
    expect(html).toContain("<table");
    expect(show("chart", chart, { language: "zh" })).toContain("柱状图；2 个数据点；moons：1 到 2");
  });

  it("draws with the plugin and keeps the data available", () => {
    const html = show("chart", chart, { plugins: { Chart } });
    expect(html).toContain("Moons. Bar chart");
    expect(html).toContain("{&quot;type&quot;:&quot;bar&quot;}");
    expect(html).toContain("Show data");
    expect(html).not.toContain("<table");
  });

  it("shows an unknown format as JSON", () => {
    expect(show("chart", { series: [1] }, { plugins: { Chart } })).toContain("Showing raw data");
  });
});

describe("DataImage", () => {
  it("loads only through the page and has an alternative text", () => {
    const data = { url: "https://elsewhere.example/i.png", alt: "A hill" };
    expect(show("image", data)).not.toContain("<img");
    const html = show("image", data, { imageUrl: (url) => `/v1/images?url=${encodeURIComponent(url)}` });
    expect(html).toContain('src="/v1/images?url=https%3A%2F%2Felsewhere.example%2Fi.png"');
    expect(html).toContain("A hill");
  });
});

describe("custom data", () => {
  it("is shown as JSON with its description", () => {
    const html = show("custom", { answer: 42 });
    expect(html).toContain("What it is");
    expect(html).toContain("42");
  });
});

const findUrl = (data: JsonObject): string | undefined => findImage(data)?.url;

describe("findImage", () => {
  it("reads URLs and typed base64 content", () => {
    expect(findImage({ url: "https://a.example/i.png", alt: "A" })).toEqual({
      url: "https://a.example/i.png",
      alt: "A",
    });
    expect(findUrl({ image_url: { url: "/v1/blobs/x" } })).toBe("/v1/blobs/x");
    expect(findUrl({ base64: "AA\nBB", media_type: "image/jpeg" })).toBe("data:image/jpeg;base64,AABB");
    expect(findUrl({ data: "AABB", format: "JPG" })).toBe("data:image/jpeg;base64,AABB");
    expect(findUrl({ b64_json: "AABB" })).toBe("data:image/png;base64,AABB");
    expect(findUrl({ url: "data:image/webp;base64,AABB" })).toBe("data:image/webp;base64,AABB");
  });

  it("rejects documents and malformed content", () => {
    for (const data of [
      { url: "data:image/svg+xml;base64,AABB" },
      { url: "data:text/html,<script>alert(1)</script>" },
      { url: "DATA:image/svg+xml,x" },
      { base64: "AABB", media_type: "image/svg+xml" },
      { base64: "AABB", media_type: "text/html" },
      { base64: '"><script>', media_type: "image/png" },
      { base64: "AABB", media_type: "image/png;base64,x" },
      { base64: "" },
      {},
    ])
      expect(findUrl(data), JSON.stringify(data)).toBeUndefined();
  });
});
