import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readQuery } from "./query-terms.ts";
import { readTerms, writeTerms } from "./read-terms.ts";
import { stemWord } from "./stem-word.ts";

const termsOf = (text: string): string[] => readTerms(text).map(({ term }) => term);
const readTermNames = (query: string): string[] =>
  readQuery(query).terms.map(({ term, isPrefix, isWeak }) => term + (isPrefix ? "*" : "") + (isWeak ? "?" : ""));

/** Words that must have the same stem, one group per line. */
const FAMILIES = `
deploy deploys deployed deploying deployment deployments
configure configured configuring configuration configures
authenticate authenticates authenticated authenticating authentication
validate validates validated validating validation
migrate migrates migrated migrating migration migrations
create creates created creating creation creator
generate generates generated generating generation generator
operate operates operated operating operation operations operator
iterate iterates iterated iterating iteration iterations
add adds added adding
embed embeds embedded embedding embeddings
exceed exceeds exceeded exceeding
alias aliases
policy policies
plan plans planned planning
retrieve retrieves retrieved retrieving retrieval
compress compresses compressed compressing compression
summarise summarised summarising summarize summarizes summarizing
tokenize tokenizes tokenizer tokenization tokenise tokeniser
serialize serialise serialization serialisation serialised
normalise normalize normalisation normalization
index indexes indexed indexing indices
status statuses
process processes processed processing
class classes
query queries queried querying
retry retries retried retrying
copy copies copied copying
cache caches cached caching
delete deletes deleted deleting deletion
execute executes executed executing execution
complete completes completed completing completion
connect connects connected connecting connection connections
encrypt encrypts encrypted encrypting encryption
translate translates translated translating translation
relate relates related relating relation
rotate rotates rotated rotating rotation
locate locates located locating location
update updates updated updating
use uses used using
run runs running
stop stops stopped stopping
cancel cancels cancelled canceled cancelling canceling
label labels labelled labeled labelling
control controls controlled controlling
call calls called calling
install installs installed installing
observe observes observed observing
stream streams streamed streaming
measure measures measured measuring measurement
message messages messaging
store stores stored storing
restore restores restored restoring
resume resumes resumed resuming
search searches searched searching
fix fixes fixed fixing
write writes writing
approve approves approved approving approval
propose proposes proposed proposing proposal
collect collects collected collecting collection
detect detects detected detecting detection
inject injects injected injecting injection
edit edits edited editing edition
quick quickly
recent recently
durable durability
available availability
secure securely
dark darkness
parse parses parsed parsing
key keys
day days
box boxes
watch watches watched watching
push pushes pushed pushing
bus buses
city cities
egg eggs
merge merges merged merging
try tries tried trying
commit commits committed committing
submit submits submitted submitting
refer refers referred referring
handle handles handled handling
enable enables enabled enabling
optimise optimize optimised optimization
organise organize organisation organizer
initialise initialize initialisation
monitor monitors monitored monitoring
transform transforms transformed transformation
implement implements implemented implementation
document documents documented documentation
recommend recommended recommendation
install installation
forget forgot forgotten forgetting
send sent sending
write wrote written
`
  .trim()
  .split("\n");

describe("readTerms", () => {
  it.each([
    ["Deploying Apps", ["deploy", "app"]],
    ["Café ＡＢＣ naïve", ["cafe", "abc", "naiv"]],
    ["部署应用", ["部署", "署应", "应用", "用"]],
    ["用Docker部署", ["用", "docker", "部署", "署"]],
    ["createAgent run_end v1.2", ["createag", "creat", "agent", "run", "end", "v1", "2"]],
    [
      "XMLParser HTTPServer APIs OAuth",
      ["xmlparser", "xml", "parser", "httpserver", "http", "server", "api", "oauth", "o", "auth"],
    ],
    ["C C++ C# f# C++17", ["c", "cplusplus", "csharp", "fsharp", "cplusplus", "17"]],
    ["Straße STRASSE", ["strass", "strass"]],
    ["𠮷野家", ["𠮷野", "野家", "家"]],
    ["💥 -- ", []],
  ])("reads %j as %j", (text, terms) => expect(termsOf(text)).toEqual(terms));

  it.each([
    ["ガイド", "ｶﾞｲﾄﾞ"],
    ["ガイドを読む", "ガイドを読む".normalize("NFD")],
    ["배포 문서", "배포 문서".normalize("NFD")],
    ["déploiement", "de\u0301ploiement"],
    ["第12章ABC", "第１２章ＡＢＣ"],
  ])("normalizes %j and keeps the positions", (text, other) => {
    expect(termsOf(other)).toEqual(termsOf(text));
    const terms = readTerms(other);
    for (const { term, start, end } of terms)
      expect(termsOf(other.slice(start, end)).some((one) => one.startsWith(term))).toBe(true);
  });

  it.each(FAMILIES)("gives one stem to: %s", (family) => {
    const words = family.split(" ");
    const [first = ""] = words;
    expect(words.filter((word) => stemWord(word) !== stemWord(first))).toEqual([]);
  });

  it("keeps different words apart", () => {
    const words = (
      "thing this bus class sing red gas general generate generic organ organize universe add ad opera operate news new " +
      "run rune use us comment commence string strong need seed author authentic test testament metric meter"
    ).split(" ");
    expect(new Set(words.map(stemWord)).size).toBe(words.length);
  });

  it("returns letters only, at most one more than the word has", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z]{1,20}$/), (word) => {
        expect(stemWord(word)).toMatch(/^[a-z]+$/);
        expect(stemWord(word).length).toBeLessThanOrEqual(word.length + 1);
      }),
    );
  });

  it("returns only valid index terms with positions inside the text", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(0x10_ff_ff), { maxLength: 60 }), (codes) => {
        const text = String.fromCodePoint(...codes).toWellFormed();
        const terms = readTerms(text);
        // White space, a quote or an FTS5 operator would be misread by the index.
        expect(terms.filter(({ term }) => term === "" || /[\s"*^:(){}+\-A-Z]/.test(term))).toEqual([]);
        expect(terms.filter(({ start, end }) => start < 0 || start > end || end > text.length)).toEqual([]);
        expect(writeTerms(text).trim().split(" ").join(" ")).toBe(termsOf(text).join(" "));
      }),
      { numRuns: 150 },
    );
  });
});

describe("readQuery", () => {
  it.each([
    ["How do I deploy the app?", ["deploy", "app"]],
    ["如何部署应用", ["部署", "署应", "应用"]],
    ["什么是检索", ["检索"]],
    ["请求", ["请求"]],
    ["申请", ["申请"]],
    ["目的地", ["目的?", "的地?"]],
    ["着火", ["着火?"]],
    ["酒吧", ["酒吧?"]],
    ["请告诉我检索", ["检索"]],
    ["面条怎么做", ["面条", "做?"]],
    ["车", ["车*"]],
    ["什么车", ["车?"]],
    ["the", ["the?"]],
    ["什么", ["什么?"]],
    ["", []],
  ])("reads %j as %j", (query, terms) => expect(readTermNames(query)).toEqual(terms));

  it.each(["hello", "你好", "thanks!", "how are you", "1+1"])("recognizes %j as empty", (query) =>
    expect(readQuery(query).isEmpty).toBe(true),
  );
});
