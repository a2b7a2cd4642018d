/** Names and aliases of the languages that can be highlighted, known without loading the highlighter. */
const NAMES =
  "arduino ino bash sh zsh c h cpp cc c++ h++ hpp hh hxx cxx csharp cs c# css diff patch go golang graphql gql ini toml " +
  "java jsp javascript js jsx mjs cjs json jsonc json5 kotlin kt kts less lua pluto makefile mk mak make markdown md mkdown " +
  "mkd objectivec mm objc obj-c obj-c++ objective-c++ perl pl pm php python py gyp ipython r ruby rb gemspec podspec thor " +
  "irb rust rs scss shell console shellsession sql swift typescript ts tsx mts cts vbnet vb wasm xml html xhtml rss atom " +
  "xjb xsd xsl plist wsf svg yaml yml";

const names: ReadonlySet<string> = new Set(NAMES.split(" "));

export function isKnownLanguage(name: string): boolean {
  return names.has(name.toLowerCase());
}

/** Exported for tests. */
export const LANGUAGE_NAMES: readonly string[] = [...names];
