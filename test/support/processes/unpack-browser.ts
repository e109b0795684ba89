// Unpacks the browser into the folder for temporary files (TMPDIR) and prints its path. A process of its own: the package
// knows no other way to be told where.
import chromium from "@sparticuz/chromium";

process.stdout.write(await chromium.executablePath());
