#!/usr/bin/env node
// May this user go on? Asked over HTTP, with what Node brings along.
//
//   check_http.mjs USER [PATIENCE]
//
// Prints the answer; exit 0 allowed, 1 denied. With PATIENCE, in seconds, a denial is waited out
// where Retry-After says that it will pass by then. If no decision is to be had, the user goes on:
// a limiter that is down must not take everything else down.
import { setTimeout as sleep } from "node:timers/promises";

const url = `${process.env.SLUICE_HTTP ?? "http://127.0.0.1:8080"}/v1/check`;
const timeoutMs = Number(process.env.SLUICE_TIMEOUT_S ?? 0.1) * 1000;

// { decision, retryS }, or null if there is no decision. 429 is one, and so is 503 with JSON: the
// rules deny what their store could not count.
async function ask(user) {
  try {
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ tenant: "shop", resource: "/api/videos", user }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const body = await answer.text();
    if (answer.headers.get("content-type") !== "application/json") throw new Error(body);
    const retry = answer.headers.get("retry-after");
    return { decision: JSON.parse(body), retryS: retry === null ? null : Number(retry) };
  } catch (error) {
    console.error(`check_http.mjs: no decision: ${error.cause?.message ?? error.message}`);
    return null;
  }
}

async function askPatiently(user, patienceS) {
  const end = performance.now() + patienceS * 1000;
  for (;;) {
    const answer = await ask(user);
    if (!answer || answer.decision.allowed || answer.retryS === null) return answer;
    if (performance.now() + answer.retryS * 1000 > end) return answer;
    await sleep(answer.retryS * 1000);
  }
}

const [user, patience = "0"] = process.argv.slice(2);
if (!user) {
  console.error("usage: check_http.mjs USER [PATIENCE]");
  process.exit(2);
}
const answer = await askPatiently(user, Number(patience));
if (!answer) {
  console.log("allowed, unchecked");
} else if (answer.decision.allowed) {
  console.log(`allowed, ${answer.decision.remaining} of ${answer.decision.limit} left`);
} else {
  console.log(answer.retryS === null ? "denied" : `denied, again in ${answer.retryS} s`);
  process.exitCode = 1;
}
