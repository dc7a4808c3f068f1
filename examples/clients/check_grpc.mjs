#!/usr/bin/env node
// May this user go on? Asked over gRPC as Envoy asks, with grpc-js
// (npm install @grpc/grpc-js @grpc/proto-loader) and the messages of ../../proto.
//
//   check_grpc.mjs USER [PATIENCE]
//
// Prints the answer; exit 0 allowed, 1 denied. With PATIENCE, in seconds, a denial is waited out
// where Retry-After says that it will pass by then. If no decision is to be had, the user goes on:
// a limiter that is down must not take everything else down.
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import grpc from "@grpc/grpc-js";
import protoLoader from "@grpc/proto-loader";

const target = process.env.SLUICE_GRPC ?? "127.0.0.1:8081";
const timeoutMs = Number(process.env.SLUICE_TIMEOUT_S ?? 0.1) * 1000;

const messages = protoLoader.loadSync("envoy/service/ratelimit/v3/rls.proto", {
  includeDirs: [fileURLToPath(new URL("../../proto", import.meta.url))],
  keepCase: true,
  enums: String,
  defaults: true,
});
const { RateLimitService } = grpc.loadPackageDefinition(messages).envoy.service.ratelimit.v3;

// One for the whole program: calls share its connection.
const client = new RateLimitService(target, grpc.credentials.createInsecure());

// The response, or null. The domain is the tenant, and entries are attributes.
function ask(user) {
  const request = {
    domain: "shop",
    descriptors: [{ entries: [{ key: "resource", value: "/api/videos" },
                              { key: "user", value: user }] }],
  };
  return new Promise((resolve) => {
    client.ShouldRateLimit(request, { deadline: Date.now() + timeoutMs }, (error, response) => {
      if (error) console.error(`check_grpc.mjs: no decision: ${error.message}`);
      resolve(error ? null : response);
    });
  });
}

// From Retry-After, which Envoy would give to its client; null: never, or not said.
function retryOf(response) {
  const header = response.response_headers_to_add.find((each) => /^retry-after$/i.test(each.key));
  return header ? Number(header.value || header.raw_value) : null;
}

async function askPatiently(user, patienceS) {
  const end = performance.now() + patienceS * 1000;
  for (;;) {
    const response = await ask(user);
    if (response?.overall_code !== "OVER_LIMIT") return response;
    const retryS = retryOf(response);
    if (retryS === null || performance.now() + retryS * 1000 > end) return response;
    await sleep(retryS * 1000);
  }
}

const [user, patience = "0"] = process.argv.slice(2);
if (!user) {
  console.error("usage: check_grpc.mjs USER [PATIENCE]");
  process.exit(2);
}
const response = await askPatiently(user, Number(patience));
if (!response) {
  console.log("allowed, unchecked");
} else if (response.overall_code !== "OVER_LIMIT") {
  const [status] = response.statuses;
  console.log(`allowed, ${status.limit_remaining} of ${status.current_limit.requests_per_unit} left`);
} else {
  const retryS = retryOf(response);
  console.log(retryS === null ? "denied" : `denied, again in ${retryS} s`);
  process.exitCode = 1;
}
client.close();
