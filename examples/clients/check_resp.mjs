#!/usr/bin/env node
// May this user go on? Asked over the Redis protocol, with node-redis (npm install redis).
//
//   check_resp.mjs USER [PATIENCE]
//
// Prints the answer; exit 0 allowed, 1 denied. With PATIENCE, in seconds, a denial is waited out
// where `retry_after` says that it will pass by then. If no decision is to be had, the user goes on:
// a limiter that is down must not take everything else down.
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "redis";

const url = process.env.SLUICE_RESP ?? "redis://127.0.0.1:6380";
const timeoutMs = Number(process.env.SLUICE_TIMEOUT_S ?? 0.1) * 1000;

// One for the whole program. While it is not connected commands fail at once, in place of being
// kept for later: later is too late for a decision.
const client = createClient({
  url,
  disableOfflineQueue: true,
  socket: { connectTimeout: timeoutMs, reconnectStrategy: false },
});
client.on("error", () => {}); // told where it matters, in ask()

// Rejects when the time is up. A command that is late may have been counted: it is not sent again.
function withinTime(promise) {
  const late = sleep(timeoutMs, null, { ref: false }).then(() => {
    throw new Error(`no answer in ${timeoutMs} ms`);
  });
  return Promise.race([promise, late]);
}

// The decision, by the names that it has in JSON too; null if there is none.
async function ask(user) {
  try {
    if (!client.isOpen) await withinTime(client.connect());
    const reply = await withinTime(client.sendCommand(
      ["SLUICE.CHECK", "tenant", "shop", "resource", "/api/videos", "user", user]));
    if (!Array.isArray(reply)) return reply; // RESP3 has maps, RESP2 name, value, name, value
    return Object.fromEntries(reply.flatMap((name, i) => (i % 2 ? [] : [[name, reply[i + 1]]])));
  } catch (error) {
    console.error(`check_resp.mjs: no decision: ${error.message || error.code}`);
    return null;
  }
}

async function askPatiently(user, patienceS) {
  const end = performance.now() + patienceS * 1000;
  for (;;) {
    const decision = await ask(user);
    const retryS = decision?.retry_after; // -1: never
    if (!decision || decision.allowed || retryS < 1) return decision;
    if (performance.now() + retryS * 1000 > end) return decision;
    await sleep(retryS * 1000);
  }
}

const [user, patience = "0"] = process.argv.slice(2);
if (!user) {
  console.error("usage: check_resp.mjs USER [PATIENCE]");
  process.exit(2);
}
const decision = await askPatiently(user, Number(patience));
if (!decision) {
  console.log("allowed, unchecked");
} else if (decision.allowed) {
  console.log(`allowed, ${decision.remaining} of ${decision.limit} left`);
} else {
  console.log(decision.retry_after > 0 ? `denied, again in ${decision.retry_after} s` : "denied");
  process.exitCode = 1;
}
if (client.isOpen) client.destroy();
