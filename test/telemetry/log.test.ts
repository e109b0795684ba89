import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { type LogLevel, createLogger, logDepthMax, logItemsMax, logTextLengthMax } from "../../src/telemetry/log.ts";

const secret = 'k"e\\y-12345';

function recorded(level: LogLevel = "debug") {
  const lines: string[] = [];
  const logger = createLogger({
    level,
    destination: { write: (line) => void lines.push(line) },
    redact: (text) => text.replaceAll(secret, "[api key]"),
  });
  const parsed = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { logger, lines, parsed };
}

describe("the log", () => {
  test("writes one JSON object per line, with level, time, message and fields", () => {
    const { logger, lines, parsed } = recorded();
    logger.warn("the lane backs off", { instance: "shop/main", delayMs: 500, message: "503" });
    expect(lines[0]?.endsWith("}\n")).toBe(true);
    expect(parsed()).toStrictEqual([
      {
        level: "warn",
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        msg: "the lane backs off",
        instance: "shop/main",
        delayMs: 500,
        message: "503",
      },
    ]);
  });

  test("omits messages below its level", () => {
    const { logger, parsed } = recorded("warn");
    logger.debug("a");
    logger.info("b");
    logger.warn("c");
    logger.error("d");
    expect(parsed().map(({ msg }) => msg)).toStrictEqual(["c", "d"]);
  });

  test("adds the fields of a child and of a grandchild to their lines", () => {
    const { logger, parsed } = recorded();
    logger.child({ instance: "shop/main" }).child({ pass: 7 }).info("a pass ends", { writes: 3 });
    expect(parsed()[0]).toMatchObject({ instance: "shop/main", pass: 7, writes: 3 });
  });

  test("renames a field that would hide one of the logger's own", () => {
    const { logger, parsed } = recorded();
    logger.info("a", { level: 9, msg: "b", time: 0 });
    expect(parsed()[0]).toMatchObject({ level: "info", msg: "a", level_: 9, msg_: "b", time_: 0 });
  });

  test("redacts secrets in messages, fields, names of fields, children, errors and their causes", () => {
    const { logger, lines } = recorded();
    const cause = new TypeError(`fetch ${secret} failed`);
    const error = Object.assign(new Error(`GET /x?api_key=${secret}`, { cause }), { url: `/clear/${secret}` });
    error.stack = `Error: ${secret}\n    at here`;
    logger.child({ key: secret }).error(`a ${secret}`, {
      error,
      [secret]: 1,
      nested: { deep: [secret, { deeper: secret }] },
      url: new URL(`https://waf.example/?k=${encodeURIComponent("x")}`),
      set: new Set([secret]),
      map: new Map([["a", secret]]),
      printable: { toJSON: () => secret },
    });
    const line = lines.join("");
    expect(line).toContain("[api key]");
    expect(line).not.toContain("12345");
  });

  test("keeps the code, the stack and the cause of an error", () => {
    const { logger, parsed } = recorded();
    const error = Object.assign(new Error("outer", { cause: new Error("inner") }), { code: "ECONNRESET" });
    logger.error("a call failed", { error });
    expect(parsed()[0]).toMatchObject({
      error: { name: "Error", message: "outer", code: "ECONNRESET", cause: { message: "inner" } },
    });
  });

  test("limits the depth, number and length of values", () => {
    const { logger, lines, parsed } = recorded();
    interface Ring {
      self?: Ring;
    }
    const ring: Ring = {};
    ring.self = ring;
    logger.info("large", {
      ring,
      many: Array.from({ length: 100_000 }, (_, position) => position),
      long: "x".repeat(logTextLengthMax * 4),
    });
    const line = parsed()[0] as { many: unknown[]; long: string };
    expect(line.many).toHaveLength(logItemsMax + 1);
    expect(line.long.startsWith("x".repeat(logTextLengthMax))).toBe(true);
    expect(lines[0]?.split("self")).toHaveLength(logDepthMax + 1);
    expect(lines[0]?.length).toBeLessThan(logTextLengthMax * 2);
  });

  test("never fails, whatever is logged", () => {
    const { logger, parsed } = recorded();
    const fail = (): never => {
      throw new Error("no");
    };
    const hostile = Object.defineProperty({}, "trap", { get: fail, enumerable: true });
    logger.info("hostile", { hostile, toJson: { toJSON: fail }, big: 10n, nan: Number.NaN });
    expect(parsed()[0]).toMatchObject({ hostile: "(cannot be logged)", big: "10", nan: "NaN" });
  });

  test("writes valid JSON for any fields", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.dictionary(fc.string(), fc.anything()), (message, fields) => {
        const { logger, parsed } = recorded();
        logger.info(message, fields);
        expect(parsed()).toHaveLength(1);
      }),
    );
  });
});
