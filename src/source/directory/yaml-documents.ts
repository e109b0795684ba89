// Parses YAML and JSON text into plain values and keeps their lines. An invalid document does not affect the others in its
// file. Messages are made only from error codes, because those of the parser quote the text, which may be a Secret.
import {
  Composer,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  Parser,
  visit,
} from "yaml";

const depthMax = 64;
const aliasesMax = 100;

type Segments = readonly (string | number)[];

export interface YamlDocument {
  readonly value: unknown;
  /** The place of a field such as `["spec", "addresses", 3]`. */
  at(segments: Segments): YamlPlace;
}

export interface YamlPlace {
  /** Of the nearest existing parent if there is no such field. */
  readonly line: number;
  /** The comment behind a string in a list; empty if there is none. */
  readonly comment: string;
}

/** Why a document can't be read, and on which line. */
export interface YamlFault {
  readonly line: number;
  readonly message: string;
}

export interface YamlDocuments {
  /** Without empty ones. */
  readonly documents: readonly YamlDocument[];
  readonly faults: readonly YamlFault[];
}

/** The documents of a file, and the faults of invalid ones. Never throws. */
export function readYamlDocuments(text: string): YamlDocuments {
  const lines = new LineCounter();
  const options = {
    lineCounter: lines,
    logLevel: "error",
    merge: true,
    prettyErrors: false,
    stringKeys: true,
    // The library compares each key with every other key, which takes minutes for a large file. `faultOfNodes` checks them instead.
    uniqueKeys: false,
  } as const;
  const documents: YamlDocument[] = [];
  const faults: YamlFault[] = [];
  for (const document of new Composer(options).compose(new Parser(lines.addNewLine).parse(text))) {
    const fault = faultOf(document, lines);
    if (fault !== undefined) {
      faults.push(fault);
      continue;
    }
    try {
      const value: unknown = document.toJS({ maxAliasCount: aliasesMax }) ?? undefined;
      if (value !== undefined) documents.push({ value, at: (segments) => placeOf(document, segments, lines) });
    } catch {
      const message = "the document has too many aliases, or an alias without its anchor";
      faults.push({ line: lineOfNode(document.contents, lines), message });
    }
  }
  return { documents, faults };
}

/** The first fault that makes a document invalid. */
function faultOf(document: Document, lines: LineCounter): YamlFault | undefined {
  const error = document.errors[0] ?? document.warnings[0];
  const quote = error?.code === "MISSING_CHAR" ? openQuoteLine(document, error.pos[0], lines) : undefined;
  if (quote !== undefined)
    return { line: quote, message: "this is not valid YAML: a quote on this line is not closed" };
  if (error !== undefined) {
    return {
      line: lineAt(lines, error.pos[0]),
      message: `this is not valid YAML: ${errorTexts[error.code] ?? error.code}`,
    };
  }
  return faultOfNodes(document, lines);
}

/** The parser reports a missing quotation mark at the end of the text, but users look for its start. */
function openQuoteLine(document: Document, end: number, lines: LineCounter): number | undefined {
  let line: number | undefined;
  visit(document, {
    Scalar: (_, { type, range }) => {
      const isQuoted = type === "QUOTE_DOUBLE" || type === "QUOTE_SINGLE";
      if (!isQuoted || range === undefined || range === null || range[0] >= end || range[1] < end) return undefined;
      line = lineAt(lines, range[0]);
      return visit.BREAK;
    },
  });
  return line;
}

/** Finds duplicate keys, unresolved aliases and too deep nesting. */
function faultOfNodes(document: Document, lines: LineCounter): YamlFault | undefined {
  let fault: YamlFault | undefined;
  let aliases = 0;
  const refuse = (node: unknown, message: string): symbol => {
    fault = { line: lineOfNode(node, lines), message };
    return visit.BREAK;
  };
  visit(document, {
    Alias: (_, node) => {
      aliases += 1;
      // Each alias is resolved from the start of the document, so they are counted first.
      if (aliases > aliasesMax) return refuse(node, `more than ${aliasesMax} aliases (*name)`);
      if (node.resolve(document) !== undefined) return undefined;
      return refuse(node, `this is not valid YAML: ${errorTexts.BAD_ALIAS}`);
    },
    Collection: (_, node, path) => {
      if (path.filter(isCollection).length >= depthMax) return refuse(node, `nested deeper than ${depthMax} levels`);
      const keys = new Set<unknown>();
      for (const key of isMap(node) ? node.items.map((pair) => pair.key) : []) {
        if (!isScalar(key)) continue;
        const isKnown = keys.size === keys.add(key.value).size && key.value !== "<<";
        if (isKnown) return refuse(key, "the key on this line is duplicated in its mapping");
      }
      return undefined;
    },
  });
  return fault;
}

/** Follows the path as far as it exists in the document. */
function placeOf(document: Document, segments: Segments, lines: LineCounter): YamlPlace {
  let node: unknown = document.contents;
  let line = lineOfNode(node, lines);
  for (const segment of segments) {
    if (isAlias(node)) node = node.resolve(document);
    const item: unknown = isSeq(node) ? node.items[Number(segment)] : undefined;
    const pair = isMap(node)
      ? node.items.find(({ key }) => isScalar(key) && key.value === String(segment))
      : { key: item, value: item };
    node = pair?.value;
    if (pair?.key === undefined) break;
    line = lineOfNode(pair.key, lines);
  }
  return { line, comment: (isScalar(node) && node.comment?.replace(/\n[^]*/, "")) || "" };
}

function lineOfNode(node: unknown, lines: LineCounter): number {
  return lineAt(lines, (node as Node | null)?.range?.[0] ?? 0);
}

function lineAt(lines: LineCounter, offset: number): number {
  return Math.max(1, lines.linePos(offset).line);
}

/** For the mistakes that people make; others are named by the code of the library. */
const errorTexts: Readonly<Partial<Record<Document["errors"][number]["code"], string>>> = {
  BAD_ALIAS: "an alias (*name) has no anchor (&name) before it; quote a string that begins with *",
  BAD_DIRECTIVE: "a directive (%…) is invalid",
  BAD_DQ_ESCAPE: "a double-quoted string has an invalid escape; write \\\\ for a backslash, or use single quotes",
  BAD_INDENT: "the indentation is wrong, or a bracket is not closed",
  BAD_SCALAR_START: "a string begins with a reserved character; put it in quotes",
  BLOCK_AS_IMPLICIT_KEY:
    "there is a second ': ' on one line, or the line is indented too far; put the string in quotes",
  MISSING_CHAR: "a character is missing, such as a closing quote or bracket, a ':' or a ','",
  MULTILINE_IMPLICIT_KEY: "a key spans several lines; check for a missing ':' or an unclosed quote",
  MULTIPLE_DOCS: "a document begins without '---' before it",
  NON_STRING_KEY: "a key must be a plain string; quote strings that begin with '{' or '['",
  RESOURCE_EXHAUSTION: "it is nested too deeply",
  TAB_AS_INDENT: "a tab is used for indentation; use spaces",
  TAG_RESOLVE_FAILED: "a tag (!…) is not supported; quote strings that begin with '!'",
  UNEXPECTED_TOKEN: "an unexpected character or value",
};
