// Handles the paths of the page. Only searches and blocked requests call a WAF, one at a time; all other pages show the reported
// state.
import packageJson from "../../../package.json" with { type: "json" };
import type { InstanceSummary, Summary } from "../../api/summary.ts";
import type { Clock } from "../../async/clock.ts";
import { Turns } from "../../async/turns.ts";
import { AddressCover } from "../../model/address-cover.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { asSentence } from "../../model/sentence.ts";
import { CommandError } from "../describe-error.ts";
import { parseInstanceName } from "../instance-name.ts";
import { parseLogFilter } from "../logs/log-filter.ts";
import { parseAddress } from "../parse-address.ts";
import { html } from "../report/html.ts";
import type { SeenInstance } from "../targets/seen.ts";
import type { Target } from "../targets/target.ts";
import { summarize } from "../summarize.ts";
import { explainOn } from "../why-command.ts";
import type { WhyView } from "../why-view.ts";
import type { BlockedRequests } from "./blocked-requests.ts";
import { historyPage } from "./history-page.ts";
import type { ReadHistory } from "./instance-page.ts";
import { KeptRequests } from "./kept-requests.ts";
import { overviewPage, readChoice, refusal } from "./overview-page.ts";
import { assetAt, framed, shown } from "./page-frame.ts";
import type { PageApp, PageRequest, PageResponse } from "./page-server.ts";
import { SummaryCache } from "./summary-cache.ts";
import { chooseInstancePage, whyPage } from "./why-page.ts";

export interface PageParts {
  readonly target: Target;
  readonly isCluster: boolean;
  /** The options that select the same target in suggested commands: `wordsOf` for commands that plan, `words` for all others. */
  readonly wordsOf: (instance: SeenInstance) => string;
  readonly words: string;
  /** Whether the page may read the logs of every WAF, or only those of WAFs with `spec.logs` enabled. */
  readonly readsAllLogs: boolean;
  readonly clock: Clock;
}

/** The maximum number of WAFs whose lists one search reads. */
const searchedMax = 10;
/** Further searches are rejected while this many are waiting. */
const waitingMax = 8;

class TooBusy extends CommandError {}

export interface PreparedPageApp extends PageApp {
  /** Reads everything once, before the first request. Returns the reason if nothing may be read. */
  prepare(): Promise<string | undefined>;
}

export function createPageApp(parts: PageParts): PreparedPageApp {
  return new App(parts);
}

class App implements PreparedPageApp {
  readonly #parts: PageParts;
  readonly #cache: SummaryCache;
  readonly #turns = new Turns();
  readonly #requests: KeptRequests;
  /** Pages that were rendered from a summary: several users may look at the same WAF. */
  readonly #pages = new WeakMap<Summary, Map<string, Promise<string>>>();
  /** The reads of blocked requests in progress, by instance: all users who want to see the same wait for one read. */
  readonly #reading = new Map<string, Promise<BlockedRequests>>();
  /** The last page about blocked requests: many users may look at it at once. */
  #shownRequests: { readonly of: readonly unknown[]; readonly body: Buffer } | undefined;
  #waiting = 0;

  constructor(parts: PageParts) {
    this.#parts = parts;
    const { target, clock, wordsOf, isCluster } = parts;
    this.#requests = new KeptRequests(parts);
    this.#cache = new SummaryCache({
      see: async () => await target.see(),
      summarize: (seen) => summarize(seen, { version: packageJson.version, words: wordsOf, isCluster }),
      clock,
    });
  }

  async prepare(): Promise<string | undefined> {
    return (await this.#cache.get()).summary.refused;
  }

  async handle(request: PageRequest): Promise<PageResponse> {
    const { path } = request;
    const asset = assetAt(path);
    if (asset !== undefined) return asset;
    const isJson = path === "/summary" || path.endsWith(".json");
    let summary: Summary | undefined;
    try {
      ({ summary } = await this.#cache.get());
      return await this.#route(request, summary);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      const problem = this.#redact(problemOf(error));
      const status = error instanceof TooBusy ? 503 : 400;
      if (isJson) return json(status, { error: problem });
      return page(status, errorPage(summary, problem));
    }
  }

  async close(): Promise<void> {
    this.#requests.close();
    this.#cache.close();
    await this.#turns.ended();
    await this.#parts.target.close();
  }

  async #route({ path, query }: PageRequest, summary: Summary): Promise<PageResponse> {
    const { refused } = summary;
    const isRefused = refused !== undefined;
    if (path === "/summary") return json(isRefused ? 403 : 200, ofOne(summary, query.get("instance")));
    if (path === "/") return page(isRefused ? 403 : 200, overviewPage(summary, readChoice(query)));
    if (isRefused) return page(403, framed({ ...frameOf(summary), title: "No access", body: [refusal(refused)] }));
    if (path === "/why" || path === "/why.json") return await this.#why(path === "/why.json", query, summary);
    const [, folder, namespace = "", name = "", view, ...rest] = path.split("/").map((one) => decoded(one));
    if (folder === "instances" && rest.length === 0) {
      const instance = summary.instances.find((one) => one.instance === `${namespace}/${name}`);
      if (instance !== undefined) return await this.#instance({ namespace, name }, instance, view, { query, summary });
    }
    return page(404, errorPage(summary, "This page does not exist. The WAF may have been removed."));
  }

  async #instance(
    name: ObjectName,
    instance: InstanceSummary,
    view: string | undefined,
    { query, summary }: { readonly query: URLSearchParams; readonly summary: Summary },
  ): Promise<PageResponse> {
    if (view === undefined) {
      const pages = this.#pages.get(summary) ?? new Map<string, Promise<string>>();
      this.#pages.set(summary, pages);
      const made = pages.get(instance.instance) ?? this.#instancePage(name, instance, summary);
      pages.set(instance.instance, made);
      return page(200, await made);
    }
    if (view === "history") {
      const address = query.get("address") ?? "";
      const cover = address === "" ? undefined : new AddressCover(parseAddress(address));
      return page(200, historyPage(summary, instance.instance, await this.#history(name), cover));
    }
    if (view === "requests") {
      const client = (query.get("client") ?? "").trim();
      const parsed = parseLogFilter({
        client: client === "" ? [] : [client],
        country: [],
        reason: [],
        status: [],
        path: [],
      });
      if (!parsed.ok) throw new CommandError(`${JSON.stringify(client)} is not a valid client`, `${parsed.problem}.`);
      const requests = await this.#blockedRequests(name);
      const { requestsPage } = await import("./requests-page.ts");
      const of = [summary, requests, client];
      if (this.#shownRequests?.of.every((part, place) => part === of[place]) !== true) {
        const body = requestsPage(summary, requests, { instance: instance.instance, client, fits: parsed.filter });
        this.#shownRequests = { of, body: Buffer.from(body) };
      }
      return page(200, this.#shownRequests.body);
    }
    return page(404, errorPage(summary, "This page does not exist."));
  }

  async #blockedRequests(name: ObjectName): Promise<BlockedRequests> {
    const kept = this.#requests.get(name);
    if (kept !== undefined) return kept;
    const key = nameKey(name);
    const reading =
      this.#reading.get(key) ??
      this.#inTurn(async () => await this.#requests.read(name)).finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return await reading;
  }

  async #instancePage(name: ObjectName, instance: InstanceSummary, summary: Summary): Promise<string> {
    // The chart library is large, and the overview page does not need it.
    const { instancePage } = await import("./instance-page.ts");
    return instancePage(summary, instance, await this.#history(name), this.#parts.clock.nowMs());
  }

  async #history(instance: ObjectName): Promise<ReadHistory> {
    try {
      return { ok: true, events: await this.#parts.target.history(instance) };
    } catch (error) {
      if (error instanceof CommandError) return { ok: false, problem: this.#redact(problemOf(error)) };
      throw error;
    }
  }

  async #why(isJson: boolean, query: URLSearchParams, summary: Summary): Promise<PageResponse> {
    const { target, words, isCluster } = this.#parts;
    const text = query.get("address") ?? "";
    const wanted = query.get("instance") ?? "";
    const address = parseAddress(text);
    const names = namesOf(summary, wanted);
    const searched = { address: text, instance: wanted };
    const frame = { where: summary.where, version: summary.version, searched };
    if (names.length > searchedMax) {
      const choose = "Add instance=NAMESPACE/NAME: one search reads the lists of only a few WAFs.";
      const all = summary.instances.map(({ instance }) => instance);
      return isJson ? json(400, { error: choose }) : page(200, chooseInstancePage(frame, all, searchedMax));
    }
    const views: readonly WhyView[] = await this.#inTurn(async () => {
      // The files may have changed since the summary was read; objects are always read again.
      if (!isCluster) await target.see();
      return await explainOn(target, names, address);
    });
    if (isJson) return json(200, { address, instances: views }, (body) => this.#redact(body));
    return page(
      200,
      whyPage(frame, { address, views, words }, (line) => this.#redact(line)),
    );
  }

  /** Calls one WAF at a time, however many users search. @throws TooBusy if too many searches are waiting */
  async #inTurn<T>(act: () => Promise<T>): Promise<T> {
    if (this.#waiting >= waitingMax) throw new TooBusy("too many searches are waiting", "Try again in a moment.");
    this.#waiting += 1;
    return await this.#turns.run(act).finally(() => {
      this.#waiting -= 1;
    });
  }

  #redact(text: string): string {
    return this.#parts.target.redactor.redact(text);
  }
}

function problemOf({ message, hint }: CommandError): string {
  const sentence = asSentence(`${message.charAt(0).toUpperCase()}${message.slice(1)}`);
  return hint === undefined ? sentence : `${sentence} ${hint}`;
}

function namesOf({ instances }: Summary, wanted: string): readonly ObjectName[] {
  const parsed = wanted === "" ? undefined : parseInstanceName(wanted);
  const names = instances.map(({ instance }) => {
    const [namespace = "", name = ""] = instance.split("/");
    return { namespace, name };
  });
  const fitting = names.filter(
    ({ namespace, name }) =>
      parsed === undefined || (parsed.name === name && (parsed.namespace ?? namespace) === namespace),
  );
  if (fitting.length > 0) return fitting;
  throw new CommandError(wanted === "" ? "there is no WafInstance" : `there is no WafInstance ${wanted}`);
}

function ofOne(summary: Summary, wanted: string | null): Summary {
  if (wanted === null) return summary;
  return { ...summary, instances: summary.instances.filter(({ instance }) => instance === wanted) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

function frameOf({ where, version }: Pick<Summary, "where" | "version">) {
  return { where, version };
}

function errorPage(summary: Summary | undefined, problem: string): string {
  const title = "The request failed";
  const frame = frameOf(summary ?? { where: "", version: packageJson.version });
  const body = html`<section>
    <h1>${title}</h1>
    <p>${shown(problem, 2_000)}</p>
    <p><a href="/">All WAFs</a></p>
  </section>`;
  return framed({ ...frame, title, body: [body] });
}

function page(status: number, body: string | Buffer): PageResponse {
  return { status, type: "text/html; charset=utf-8", body };
}

function json(status: number, value: unknown, edit: (body: string) => string = (body) => body): PageResponse {
  return { status, type: "application/json", body: `${edit(JSON.stringify(value, undefined, 2))}\n` };
}
