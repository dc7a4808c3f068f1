// What grpc-js makes of a server:  grpc_client.mjs PROTO PORT USER
// Prints it as one object of JSON. Run by test_grpc_clients.py among the packages.
import grpc from "@grpc/grpc-js";
import protoLoader from "@grpc/proto-loader";

const [proto, port, user] = process.argv.slice(2);
const files = ["envoy/service/ratelimit/v3/rls.proto", "grpc/health/v1/health.proto"];
const loaded = grpc.loadPackageDefinition(protoLoader.loadSync(files, {
  includeDirs: [proto], keepCase: true, enums: String, defaults: true,
}));
const target = `127.0.0.1:${port}`;
const limits = new loaded.envoy.service.ratelimit.v3.RateLimitService(
  target, grpc.credentials.createInsecure());
const health = new loaded.grpc.health.v1.Health(target, grpc.credentials.createInsecure());
const TIMEOUT_MS = 30_000;

function call(client, method, request, timeoutMs = TIMEOUT_MS) {
  return new Promise((resolve, reject) => {
    client[method](request, { deadline: Date.now() + timeoutMs },
                   (error, response) => (error ? reject(error) : resolve(response)));
  });
}

const ask = (entries, timeoutMs) => call(limits, "ShouldRateLimit", {
  domain: "shop",
  descriptors: [{ entries: entries.map(([key, value]) => ({ key, value })) }],
}, timeoutMs);
const codeOf = (promise) => promise.then(() => 0, (error) => error.code);

const responses = [];
for (let i = 0; i < 6; i++) responses.push(await ask([["route", "api"], ["user", user]]));
const retry = responses.at(-1).response_headers_to_add.find(
  (field) => field.key.toLowerCase() === "retry-after");
const together = {};
for (const each of await Promise.all(Array.from({ length: 400 }, () => ask([["user", user]]))))
  together[each.overall_code] = (together[each.overall_code] ?? 0) + 1;

const watch = health.Watch({ service: "" });
const watched = await new Promise((resolve, reject) => {
  watch.once("data", (said) => resolve(said.status));
  watch.once("error", reject);
});
watch.on("error", () => {}); // it is told that it was cancelled
watch.cancel();

console.log(JSON.stringify({
  codes: responses.map((each) => each.overall_code),
  left: responses.map((each) => each.statuses[0].limit_remaining),
  retry: Number(retry.value || retry.raw_value),
  together,
  wrong: await codeOf(ask([])),
  late: await codeOf(ask([["user", user]], -1000)),
  health: (await call(health, "Check", { service: "" })).status,
  watched,
}));
limits.close();
health.close();
