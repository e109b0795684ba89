// `wafsync ui`: serves the page about a folder or a cluster on this machine, until a signal.
import { once } from "node:events";
import type { UiOptions } from "./commands/process-commands.ts";
import { cannotListen, isLoopback, parseBindAddress, startPageServer } from "../pages/server.ts";
import { StatePages } from "../pages/app.ts";
import { withTarget } from "./targets/open-target.ts";

/** @returns 0 if it was stopped by a signal. */
export async function runUi(options: UiOptions): Promise<number> {
  const bind = parseBindAddress(options.bindAddress);
  return await withTarget(options, async (target, { out, notes, stopping, atEnd }) => {
    const { stop } = stopping();
    const app = new StatePages(target, options);
    atEnd(async () => app.close());
    // Thousands of files take a while to read, so this is done before the first request.
    const refused = await app.prepare();
    if (refused !== undefined) notes.remark("warning", refused);
    const server = await startPageServer(
      bind,
      async (request) => await app.handle(request),
      // `notes` shows no keys.
      (error) => notes.remark("error", String((error as Partial<Error>).message)),
    ).catch(cannotListen("--bind-address", options.bindAddress));
    atEnd(async () => await server.close());
    if (!isLoopback(bind)) {
      const open = `there is no login: everyone who can reach ${options.bindAddress} can see the page.`;
      notes.remark("warning", open);
    }
    out.line(`The page is at ${server.url} until you press Ctrl-C.`);
    if (!stop.aborted) await once(stop, "abort");
    return 0;
  });
}
