// What a client of Node makes of a server:  resp_client.mjs PACKAGE PORT USER [PASSWORD]
// Prints it as one object of JSON. Run by test_resp_clients.py among the packages.
import { createRequire } from "node:module";

const [name, port, user, password] = process.argv.slice(2);
const load = createRequire(import.meta.url);

// Both are made to look alike: `send` takes a command's words.
const makers = {
  async redis() {
    const { createClient } = load("redis");
    const client = createClient({ socket: { host: "127.0.0.1", port: Number(port) }, password });
    client.on("error", (error) => { throw error; });
    await client.connect();
    return { send: (...words) => client.sendCommand(words), end: () => client.close() };
  },
  async ioredis() {
    const { Redis } = load("ioredis");
    const client = new Redis({ host: "127.0.0.1", port: Number(port), password, lazyConnect: true });
    await client.connect();
    return { send: (first, ...rest) => client.call(first, ...rest), end: () => client.quit() };
  },
};

function decisionOf(reply) {
  if (!Array.isArray(reply)) return reply instanceof Map ? Object.fromEntries(reply) : reply;
  return Object.fromEntries(reply.flatMap((each, i) => (i % 2 ? [] : [[each, reply[i + 1]]])));
}

const client = await makers[name]();
const said = { ping: await client.send("PING") };
const decision = decisionOf(
  await client.send("SLUICE.CHECK", "resource", "/api/videos", "user", user));
said.check = Object.fromEntries(
  ["allowed", "rule", "limit", "remaining"].map((each) => [each, decision[each]]));
said.check.allowed = Boolean(said.check.allowed);
said.throttle = await client.send("CL.THROTTLE", user, "15", "30", "60");
said.together = await Promise.all(Array.from({ length: 100 }, () =>
  client.send("CL.THROTTLE", `${user}-together`, "9", "1", "86400")));
said.error = await client.send("GET", "key").then(() => "none", (error) => error.message);
said.after = await client.send("PING");
await client.end();
console.log(JSON.stringify(said));
