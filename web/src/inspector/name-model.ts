/** Shortens a model name whose provider has the same name: `offline/offline` becomes `offline`. */
export function nameModel(model: string): string {
  return model.replace(/^([^/]+)\/\1$/, "$1");
}
