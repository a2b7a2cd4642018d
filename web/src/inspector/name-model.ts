/** What a model is called where it is listed: by one word where that is its name and its provider's, as `offline`. */
export function nameModel(model: string): string {
  return model.replace(/^([^/]+)\/\1$/, "$1");
}
