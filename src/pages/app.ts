// Handles the paths of the page. Only searches and blocked requests call a WAF; all other pages show the reported state.
import packageJson from "../../package.json" with { type: "json" };
import type { InstanceSummary, Summary } from "../kinds/summary.ts";
import { realClock } from "../async/clock.ts";
import { CommandError, sentencesOf } from "../cli/describe-error.ts";
import { chosenFrom, targetWords, type TargetOptions } from "../cli/targets/open-target.ts";
import type { Seen, Target } from "../cli/targets/target.ts";
import { parseAddress } from "../cli/arguments.ts";
import { objectsOf, summarize } from "../cli/summarize.ts";
import { explainOn } from "../cli/why-view.ts";
import { AddressCover } from "../address/ranges.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { editedTexts } from "../model/texts.ts";
import { assetAt, framed, heading } from "./frame.ts";
import { html } from "./html.ts";
import { chooseInstancePage, findIn, instancePage, instancesWith, overviewPage, whyPage } from "./waf-pages.ts";
import { instancePath } from "./parts.ts";
import { readRequests } from "./requests.ts";
import { requestSections } from "./requests-page.ts";
import type { PageRequest, PageResponse } from "./server.ts";

/** The maximum number of WAFs whose lists one search reads. */
const searchedMax = 10;

interface ReadSummary {
  /** The objects that the summary is about. */
  readonly seen: Seen;
  readonly summary: Summary;
}

export class StatePages {
  readonly #target: Target;
  readonly #options: TargetOptions;
  readonly #stopping = new AbortController();

  /** @param options those that selected the target, for suggested commands */
  constructor(target: Target, options: TargetOptions) {
    this.#target = target;
    this.#options = options;
  }

  /** Reads everything once, before the first request. Returns the reason if nothing may be read. */
  async prepare(): Promise<string | undefined> {
    return await this.#read().then(
      () => undefined,
      (error: unknown) => this.#problemOf(error),
    );
  }

  async #read(): Promise<ReadSummary> {
    const seen = await this.#target.see();
    return { seen, summary: summarize(seen, this.#options) };
  }

  async handle(request: PageRequest): Promise<PageResponse> {
    const { path, query } = request;
    const asset = assetAt(path);
    if (asset !== undefined) return asset;
    let read: ReadSummary | undefined;
    try {
      read = await this.#read();
      return await this.#route(request, read);
    } catch (error) {
      const problem = this.#problemOf(error);
      const status = read === undefined ? 403 : 400;
      if (path === "/summary" || path.endsWith(".json")) return json(status, { error: problem });
      return page(status, errorPage(read?.summary, problem, query.get("address") ?? ""));
    }
  }

  /** In sentences without keys. @throws any other error than a CommandError */
  #problemOf(error: unknown): string {
    if (error instanceof CommandError) return this.#redact(sentencesOf(error));
    throw error;
  }

  #redact(text: string): string {
    return this.#target.redactor.redact(text);
  }

  /** Stops reading logs. */
  close(): void {
    this.#stopping.abort();
  }

  async #route({ path, query }: PageRequest, read: ReadSummary): Promise<PageResponse> {
    const { summary } = read;
    const wanted = query.get("instance");
    const instances = summary.instances.filter(({ instance }) => wanted === null || instance === wanted);
    if (path === "/summary") return json(200, { ...summary, instances });
    if (path === "/") return page(200, overviewPage(summary, findIn(query)));
    if (path === "/why" || path === "/why.json") return await this.#why(path === "/why.json", query, summary);
    for (const instance of summary.instances) {
      const at = instancePath(instance.instance);
      if (path === at) return await this.#instance(instance, query, read);
      if (path === `${at}/requests`) return page(200, await this.#readRequests(objectNameOf(instance), summary));
    }
    return page(404, errorPage(summary, "This page does not exist. The WAF may have been removed."));
  }

  async #instance(instance: InstanceSummary, query: URLSearchParams, { seen, summary }: ReadSummary) {
    const address = (query.get("address") ?? "").trim();
    const cover = address === "" ? undefined : new AddressCover(parseAddress(address));
    const objects = objectsOf(seen, instance.instance);
    const name = objectNameOf(instance);
    const history = await this.#target.history(name).catch((error: unknown) => this.#problemOf(error));
    return page(200, instancePage(summary, instance, objects, history, cover));
  }

  /** @throws CommandError if the log may not be read */
  async #readRequests(name: ObjectName, summary: Summary): Promise<string> {
    const instance = nameKey(name);
    const sight = await this.#target.look(name, { live: false });
    const ports = {
      clock: realClock,
      random: Math.random,
      stopping: this.#stopping.signal,
      redact: (text: string) => this.#redact(text),
    };
    const called = await this.#target.callWaf(sight, async (waf) => await readRequests({ ...ports, waf }, { sight }));
    if (!called.ok) throw new CommandError(`the log of ${instance} was not read: ${called.problem}`);
    const requests = called.value;
    if (requests.state !== "Done") throw new CommandError(`the log of ${instance} was not read`);
    const title = `Blocked requests of ${instance}`;
    const linkOf = (client: string): string => `/why?${String(new URLSearchParams({ address: client, instance }))}`;
    const about = html`<a href="${instancePath(instance)}">${instance}</a>, ${requests.period}, days and times in UTC`;
    const body = [heading(title, about), ...requestSections(requests, "Not everything is shown", linkOf)];
    return framed(summary, { title, instance, body });
  }

  async #why(isJson: boolean, query: URLSearchParams, summary: Summary): Promise<PageResponse> {
    const text = query.get("address") ?? "";
    const wanted = query.get("instance") ?? "";
    const find = findIn(query);
    const address = parseAddress(text);
    const instances = wantedInstances(summary, wanted || undefined, find);
    if (instances.length > searchedMax) {
      if (!isJson)
        return page(200, chooseInstancePage({ ...summary, instances: [...instances] }, find, address, searchedMax));
      return json(400, { error: "Add instance=NAMESPACE/NAME: one search reads the lists of only a few WAFs." });
    }
    const explained = await explainOn(this.#target, instances.map(objectNameOf), address);
    const views = editedTexts(explained, (one) => this.#redact(one));
    if (isJson) return json(200, { address, instances: views });
    const search = { address: text, instance: wanted };
    return page(200, whyPage(summary, search, address, views, targetWords(this.#options)));
  }
}

function objectNameOf({ instance }: InstanceSummary): ObjectName {
  const [namespace = "", name = ""] = instance.split("/");
  return { namespace, name };
}

/** The instances that a search is about. @throws CommandError if there is none */
function wantedInstances(
  { instances, where }: Summary,
  wanted: string | undefined,
  find: string,
): readonly InstanceSummary[] {
  const all = instances.map((summary) => ({ ...objectNameOf(summary), summary }));
  const named = chosenFrom(all, wanted, { where }).map(({ summary }) => summary);
  const fitting = instancesWith(find, named);
  if (fitting.length > 0) return fitting;
  throw new CommandError(`there is no WafInstance with ${find} in its name or domain`);
}

/** @param address keeps what the person searched for */
function errorPage(summary: Summary | undefined, problem: string, address = ""): string {
  const title = "The request failed";
  const body = html`<section>
    <h1>${title}</h1>
    <p>${problem}</p>
    <p><a href="/">All WAFs</a></p>
  </section>`;
  return framed(summary ?? { where: "", version: packageJson.version }, {
    title,
    address,
    body: [body],
    isLive: summary === undefined,
  });
}

function page(status: number, body: string): PageResponse {
  return { status, type: "text/html; charset=utf-8", body };
}

function json(status: number, value: unknown): PageResponse {
  return { status, type: "application/json", body: `${JSON.stringify(value, undefined, 2)}\n` };
}
