import { measureColumns } from "../fit-text.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InputEditor } from "./input-editor.ts";
import { splitGraphemes } from "../screen/text-rows.ts";

/** One text and a number, changed in the simplest way. */
class SimpleModel {
  text = "";
  cursor = 0;

  insert(text: string): void {
    this.text = this.text.slice(0, this.cursor) + text + this.text.slice(this.cursor);
    this.cursor += text.length;
  }

  remove(from: number, to: number): void {
    this.text = this.text.slice(0, Math.max(0, from)) + this.text.slice(to);
    this.cursor = Math.max(0, Math.min(from, this.cursor));
  }
}

const STEPS: { readonly [name: string]: (editor: InputEditor, model: SimpleModel) => void } = {
  backspace: (editor, model) => {
    editor.backspace();
    if (model.cursor > 0) model.remove(model.cursor - 1, model.cursor);
  },
  delete: (editor, model) => {
    editor.delete();
    model.text = model.text.slice(0, model.cursor) + model.text.slice(model.cursor + 1);
  },
  left: (editor, model) => {
    editor.move(-1);
    model.cursor = Math.max(0, model.cursor - 1);
  },
  right: (editor, model) => {
    editor.move(1);
    model.cursor = Math.min(model.text.length, model.cursor + 1);
  },
  lineEnd: (editor, model) => {
    editor.moveToLineEnd();
    const end = model.text.indexOf("\n", model.cursor);
    model.cursor = end === -1 ? model.text.length : end;
  },
  killLineStart: (editor, model) => {
    editor.killToLineStart();
    const start = model.text.slice(0, model.cursor).lastIndexOf("\n") + 1;
    model.remove(start, model.cursor);
  },
};

describe("InputEditor", () => {
  it("has the text and the cursor of a simple model after any keys", () => {
    const step = fc.oneof(
      fc.stringMatching(/^[a-z \n]{1,4}$/).map((text) => ["insert", text] as const),
      fc.constantFrom(...Object.keys(STEPS)).map((name) => [name, ""] as const),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const [editor, model] = [new InputEditor(), new SimpleModel()];
        for (const [name, text] of steps) {
          if (name === "insert") {
            editor.insert(text);
            model.insert(text);
          } else STEPS[name]?.(editor, model);
          expect([editor.text, editor.cursor]).toEqual([model.text, model.cursor]);
        }
      }),
    );
  });

  it("keeps the cursor in range, and loses no character in the layout, for any text and any keys", () => {
    const moves = ["wordLeft", "wordRight", "up", "down", "yank", "killWord", "killLine", "home", "end"] as const;
    const step = fc.oneof(
      fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }).map((text) => ["insert", text] as const),
      fc.string({ maxLength: 30 }).map((text) => ["paste", `${text}\n\n\n\n\n\n`] as const),
      fc.constantFrom(...moves).map((name) => [name, ""] as const),
    );
    fc.assert(
      // A single character can be 3 columns wide, such as a note with its stem.
      fc.property(fc.array(step, { maxLength: 40 }), fc.integer({ min: 4, max: 30 }), (steps, width) => {
        const editor = new InputEditor();
        for (const [name, text] of steps) {
          if (name === "insert") editor.insert(text);
          else if (name === "paste") editor.paste(text);
          else if (name === "wordLeft" || name === "wordRight") editor.moveWord(name === "wordLeft" ? -1 : 1);
          else if (name === "up" || name === "down") editor.moveRow(name === "up" ? -1 : 1, width);
          else if (name === "yank") editor.yank();
          else if (name === "killWord") editor.killWord(-1);
          else if (name === "killLine") editor.killToLineEnd();
          else if (name === "home") editor.moveToLineStart();
          else editor.moveToLineEnd();
          expect(editor.cursor).toBeGreaterThanOrEqual(0);
          expect(editor.cursor).toBeLessThanOrEqual(editor.length);
          const { rows, cursor } = editor.layOut(width);
          expect(cursor.row).toBeLessThan(rows.length);
          expect(cursor.column).toBeLessThanOrEqual(width);
          for (const row of rows) expect(measureColumns(row)).toBeLessThanOrEqual(width);
        }
      }),
    );
  });

  it("moves over wide characters and emoji as a whole", () => {
    const editor = new InputEditor();
    editor.insert("你好👩‍👩‍👧x");
    // As in a terminal that shows the three persons apart.
    expect(editor.layOut(20).cursor).toEqual({ row: 0, column: 11 });
    editor.move(-1);
    editor.backspace();
    expect([editor.text, editor.layOut(20).cursor.column]).toEqual(["你好x", 4]);
    // A wide character does not fit into one column.
    expect(editor.layOut(3).rows).toEqual(["你", "好x"]);
    editor.set("e");
    editor.insert("\u0301");
    expect([editor.length, splitGraphemes(editor.text)]).toEqual([1, ["e\u0301"]]);
  });

  it("shows a long paste as a label, sends all of it, and deletes it as a whole", () => {
    const text = Array.from({ length: 120 }, (_, index) => `line ${index}`).join("\r\n");
    const editor = new InputEditor();
    editor.insert("a ");
    editor.paste(text);
    editor.insert(" b");
    expect(editor.layOut(60).rows).toEqual(["a [pasted 120 lines] b"]);
    expect(editor.text).toBe(`a ${text.replaceAll("\r\n", "\n")} b`);
    editor.move(-2);
    editor.backspace();
    expect(editor.text).toBe("a  b");
    editor.paste("two\nlines");
    expect(editor.layOut(60).rows).toEqual(["a two", "lines b"]);
  });

  it("does not show control characters", () => {
    const editor = new InputEditor();
    editor.paste("\u001B[2Jx\u0007");
    expect(editor.layOut(20).rows).toEqual(["\uFFFD[2Jx\uFFFD"]);
  });
});
