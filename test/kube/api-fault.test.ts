import { describe, expect, test } from "@jest/globals";
import { faultOfResponse, faultOfStatus } from "../../src/kube/api-server.ts";
import { statusBody } from "../support/fakes/scripted-api-server.ts";

describe("the faults of the API server", () => {
  test.each([
    [400, "BadRequest", "Invalid"],
    [401, "Unauthorized", "Unauthorized"],
    [403, "Forbidden", "Forbidden"],
    [404, "NotFound", "NotFound"],
    [405, "MethodNotAllowed", "Invalid"],
    [409, "Conflict", "Conflict"],
    [409, "AlreadyExists", "AlreadyExists"],
    [410, "Expired", "Gone"],
    [413, "RequestEntityTooLarge", "Invalid"],
    [422, "Invalid", "Invalid"],
    [429, "TooManyRequests", "TooManyRequests"],
    [500, "InternalError", "Unavailable"],
    [500, "Expired", "Gone"],
    [503, "ServiceUnavailable", "Unavailable"],
    [504, "Timeout", "TimedOut"],
    [302, "", "ContractBroken"],
  ])("HTTP %d with reason %s is %s", (status, reason, code) => {
    const fault = faultOfResponse(status, JSON.stringify(statusBody(status, reason)), undefined);
    expect(fault).toMatchObject({ code, status });
  });

  test("a body that is not a Status object is quoted in short and otherwise ignored", () => {
    expect(faultOfResponse(404, "404 page not found\n", undefined)).toMatchObject({
      code: "NotFound",
      message: "HTTP 404: 404 page not found",
    });
    expect(faultOfResponse(502, "<html>".repeat(1000), undefined).message.length).toBeLessThan(250);
    expect(faultOfResponse(500, '{"reason":"Expired"}', undefined).code).toBe("Unavailable");
  });

  test("the server's delay comes from the header, or otherwise from the details", () => {
    const body = JSON.stringify({ kind: "Status", details: { retryAfterSeconds: 3 } });
    expect(faultOfResponse(429, body, "7").retryAfterMs).toBe(7000);
    expect(faultOfResponse(429, body, undefined).retryAfterMs).toBe(3000);
    expect(faultOfResponse(429, "", "Wed, 21 Oct 2026 07:28:00 GMT").retryAfterMs).toBeUndefined();
    expect(faultOfResponse(429, "", "999999999").retryAfterMs).toBe(3_600_000);
  });

  test("an ERROR event reports its causes", () => {
    const fault = faultOfStatus(statusBody(504, "Timeout", ["ResourceVersionTooLarge"]));
    expect(fault).toMatchObject({ code: "TimedOut", status: 504, causes: ["ResourceVersionTooLarge"] });
    expect(faultOfStatus("nonsense")).toMatchObject({ code: "Unavailable", status: 500 });
  });

  test("a long message is truncated between two words, so that no part of a key remains", () => {
    const message = `${"words ".repeat(340)}a-key-0123456789 ${"x".repeat(100_000)}`;
    const body = JSON.stringify({ kind: "Status", message, reason: "Invalid" });
    expect(faultOfResponse(422, body, undefined).message).toBe(`${"words ".repeat(340)}…`);
    expect(faultOfResponse(502, `${"words ".repeat(33)}a-key-0123456789`, undefined).message).toBe(
      `HTTP 502: ${"words ".repeat(33)}…`,
    );
  });
});
