// Receives webhooks: verifies the signature, does each message once, and answers.
//
//   usage: WEBHOOK_SECRET=whsec_… node receiver.mjs [PORT]
//
// WEBHOOK_SECRET may hold several secrets with blanks between them, while one replaces another. It prints one line for
// each message that it does. Node's standard library is enough.
import {createHmac, timingSafeEqual} from "node:crypto";
import {createServer} from "node:http";

const tolerance = 300;  // seconds
const longestBody = 1 << 20;
const mostIds = 100_000;

const keys = (process.env.WEBHOOK_SECRET ?? "").split(" ").filter(Boolean)
  .map((each) => Buffer.from(each.replace(/^whsec_/, ""), "base64"));

// Whether one of the signatures is by one of the keys, and the timestamp is that of an attempt of now.
function isGenuine(id, timestamp, body, signatures) {
  if (!/^[0-9]{1,15}$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > tolerance) return false;
  const given = signatures.split(" ", 16).filter((each) => each.startsWith("v1,"))
    .map((each) => Buffer.from(each.slice(3), "base64"));
  return keys.some((key) => {
    const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
    return given.some((each) => each.length === expected.length && timingSafeEqual(each, expected));
  });
}

// The ids of messages that were done. A real receiver stores the id with what the message does, in one transaction:
// then a crash between the two neither loses a message nor does it twice.
const done = new Set();
function doOnce(id, work) {
  if (done.has(id)) return;
  work();
  done.add(id);
  if (done.size > mostIds) done.delete(done.values().next().value);
}

async function bodyOf(request) {
  const parts = [];
  let size = 0;
  for await (const part of request) {
    if ((size += part.length) > longestBody) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);  // the bytes as they came, before anything parses them
}

const server = createServer(async (request, response) => {
  const body = await bodyOf(request);
  if (body === undefined) return response.writeHead(413, {Connection: "close"}).end();
  const {"webhook-id": id = "", "webhook-timestamp": timestamp = "", "webhook-signature": signatures = ""} = request.headers;
  if (!isGenuine(id, timestamp, body, signatures)) return response.writeHead(401).end();
  doOnce(id, () => console.log(`done ${id}: ${body.length} bytes`));
  response.writeHead(204).end();
});
server.listen(Number(process.argv[2] ?? 8000), "127.0.0.1", () => console.log(`listening on ${server.address().port}`));
