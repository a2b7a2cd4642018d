/** Writes a minimal PDF with one line of text per page. */
import { deflateSync } from "node:zlib";

/**
 * Returns a PDF with Latin text, with Chinese text through a character map, or without text, on any number of pages.
 */
export function writePdf(text: string, title?: string, times = 1, compress?: "intact" | "damaged"): Buffer {
  const isLatin = /^[\x20-\x7e]*$/.test(text);
  const shown = isLatin ? `(${text.replaceAll(/[()\\]/g, "\\$&")})` : `<${toHex(text)}>`;
  const content = text === "" ? "" : `BT /F1 24 Tf 50 700 Td ${shown} Tj ET\n`.repeat(times);
  const font = isLatin
    ? "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
    : "<< /Type /Font /Subtype /Type0 /BaseFont /Any /Encoding /Identity-H /DescendantFonts [6 0 R] /ToUnicode 7 0 R >>";
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
    compress === undefined ? writeStream(content) : writeCompressed(content, compress),
    font,
    "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Any /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /DW 1000 >>",
    writeStream(
      "/CIDInit /ProcSet findresource begin begincmap /CMapType 2 def\n1 begincodespacerange <0000> <ffff> endcodespacerange\n" +
        "1 beginbfrange <0000> <ffff> <0000> endbfrange\nendcmap end",
    ),
    `<< ${title === undefined ? "" : `/Title (${title})`} >>`,
  ];
  let pdf = "%PDF-1.4\n";
  const offsets: number[] = [];
  for (const [index, object] of objects.entries()) {
    offsets.push(pdf.length);
    pdf += `${index + 1} 0 obj\n${object}\nendobj\n`;
  }
  const start = pdf.length;
  pdf += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`;
  for (const offset of offsets) pdf += `${`${offset}`.padStart(10, "0")} 00000 n \n`;
  pdf += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R /Info 8 0 R >>\nstartxref\n${start}\n%%EOF\n`;
  return Buffer.from(pdf, "latin1");
}

function writeStream(content: string): string {
  return `<< /Length ${content.length} >>\nstream\n${content}\nendstream`;
}

/** The checksum at the end of a damaged stream is wrong; readers of PDFs do not mind. */
function writeCompressed(content: string, kind: "intact" | "damaged"): string {
  const bytes = deflateSync(content);
  if (kind === "damaged") bytes.writeUInt32BE(0, bytes.length - 4);
  return `<< /Filter /FlateDecode /Length ${bytes.length} >>\nstream\n${bytes.toString("latin1")}\nendstream`;
}

function toHex(text: string): string {
  return Buffer.from(text, "utf16le").swap16().toString("hex");
}
