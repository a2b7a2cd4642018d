/** Replaces the library for formulas in diagrams, which is not part of the page. Such diagrams are shown as code. */
const noFormulas = {
  renderToString(): string {
    throw new Error("Formulas in diagrams are not supported");
  },
};

// oxlint-disable-next-line import/no-default-export -- replaces a module with a default export
export default noFormulas;
