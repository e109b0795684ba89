// The operator's page: the port is opened at the start, and everything else is loaded with the first request.
import { realClock } from "../async/clock.ts";
import type { OperatorSight, ServePage } from "../app/operator-runtime.ts";
import type { Logger } from "../telemetry/log.ts";
import type { BindAddress, PageApp, PageServer } from "../pages/server.ts";
import { startPageServer } from "../pages/server.ts";

/** The operator also runs without its page, because another process on the host may use the port. */
export function operatorPage(bind: BindAddress, log: Logger): ServePage {
  return async (sight) => {
    let server: PageServer;
    try {
      server = await startPageServer({
        bind,
        load: async () => await loadApp(sight),
        onProblem: (error) => log.error("page failed", { error }),
      });
    } catch (error) {
      log.warn("the page cannot listen", { code: (error as NodeJS.ErrnoException).code ?? "", ...bind });
      return async () => undefined;
    }
    log.info("serving page", { url: server.url });
    return async () => await server.close();
  };
}

async function loadApp(sight: OperatorSight): Promise<PageApp> {
  const { createPageApp } = await import("../pages/app.ts");
  const { openOperator } = await import("./targets/operator-target.ts");
  return createPageApp({
    target: openOperator(sight),
    isCluster: true,
    wordsOf: () => "",
    words: "",
    readsAllLogs: false,
    clock: realClock,
  });
}
