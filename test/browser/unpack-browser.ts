// Unpacks the browser into the folder for temporary files (TMPDIR) and prints its path. This is a separate process, because the
// package has no other option for the folder.
import chromium from "@sparticuz/chromium";

process.stdout.write(await chromium.executablePath());
