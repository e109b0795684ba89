// Serves prepared pages of logs in a separate process, so only the reader is measured.
// `node log-pages-server.ts DAYS PAGES_PER_DAY ROWS_PER_PAGE` prints its base URL.
import { createServer } from "node:http";
import { makeLogEntry } from "../src/simulator/log-entries.ts";

const [days = 1, pagesPerDay = 1, rowsPerPage = 1] = process.argv.slice(2).map(Number);
const rowCount = pagesPerDay * rowsPerPage;
const millisecondsPerDay = 86_400_000;
/** Every day has the same pages with the rows of one day, so that the pages fit into memory. */
const pages = Array.from({ length: pagesPerDay }, (_, page) => {
  const logDay = { seed: 1, day: 20_000, rowCount, lateMsMax: 0 };
  const hits = Array.from({ length: rowsPerPage }, (_, row) => makeLogEntry(logDay, page * rowsPerPage + row));
  const scrollId = page + 1 < pagesPerDay ? String(page + 1) : null;
  return Buffer.from(JSON.stringify({ _scroll_id: scrollId, hits: { total: { value: rowCount }, hits } }));
});

const server = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? "/", "http://localhost");
  const page = pages[Number(searchParams.get("scroll_id") ?? 0)] ?? Buffer.from("{}");
  response.writeHead(200, { "content-type": "application/json", "content-length": page.length });
  response.end(page);
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("a TCP port was expected");
  const firstDay = new Date(20_000 * millisecondsPerDay).toISOString().slice(0, 10);
  console.log(`http://127.0.0.1:${address.port} ${days} days from ${firstDay}`);
});
process.on("SIGTERM", () => process.exit());
