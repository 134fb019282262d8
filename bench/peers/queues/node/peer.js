// Measures a queue over PostgreSQL that is a package of npm, for bench/compare_queues.py: see ../README.md.
//
// usage: node peer.js SETTINGS, a JSON object with: module, workload, jobs, rate, seconds, processes, workers, and what
// the module takes. This process puts the jobs; the workers are in processes of their own.
import { fork } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const BATCH = 1000; // jobs of an insert
const LEAD = 3000; // ms from the last insert to the first due time
const settings = JSON.parse(process.argv[2]);
const queue = await import(`./${settings.module}.js`);
const now = () => performance.timeOrigin + performance.now(); // ms since 1970
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function workHere() {
  let told = { finished: 0, late: [] };
  let first = 0;
  let last = 0;
  const onStart = (due) => {
    const at = now();
    first ||= at;
    if (due) told.late.push(at - due);
  };
  const onFinish = (count) => {
    last = now();
    told.finished += count;
  };
  const stop = await queue.work(settings, onStart, onFinish);
  const timer = setInterval(() => {
    if (told.finished === 0 && told.late.length === 0) return;
    process.send({ ...told, first, last });
    told = { finished: 0, late: [] };
  }, 20);
  process.on("disconnect", () => process.exit(1)); // the other process was killed
  process.on("message", async () => {
    clearInterval(timer);
    await stop();
    process.exit(0);
  });
}

class Workers {
  finished = 0;
  first = Infinity;
  last = 0;
  late = [];

  constructor() {
    this.processes = Array.from({ length: settings.processes }, () => {
      const child = fork(fileURLToPath(import.meta.url), [process.argv[2]], { env: { ...process.env, PEER_WORKS: "1" } });
      child.on("message", (told) => {
        this.finished += told.finished;
        this.first = Math.min(this.first, told.first || Infinity);
        this.last = Math.max(this.last, told.last);
        for (const each of told.late) this.late.push(each);
      });
      child.on("exit", (code) => {
        if (!this.ends) {
          console.error(`${settings.module}: a process of workers has ended with the status ${code}`);
          process.exit(1);
        }
      });
      return child;
    });
  }

  async end() {
    this.ends = true;
    for (const each of this.processes) each.send("end");
    await Promise.all(this.processes.map((each) => new Promise((resolve) => each.on("exit", resolve))));
  }
}

async function put(connection, count, dueOf = () => 0) {
  for (let done = 0; done < count; done += BATCH) {
    const size = Math.min(BATCH, count - done);
    await connection.put(Array.from({ length: size }, (_, i) => dueOf(done + i)));
  }
}

/** Keeps between jobs / 2 and jobs in stock. */
async function flow(connection, workers) {
  let putSoFar = settings.jobs;
  const begin = now();
  let from = 0;
  let before = 0;
  for (;;) {
    const at = now();
    // The processes of workers need some time to start.
    if (!from && workers.finished > 0 && at > Math.max(begin, workers.first) + 1000) {
      from = at;
      before = workers.finished;
    }
    if (from && at > from + settings.seconds * 1000) return [workers.finished - before, (at - from) / 1000];
    const open = putSoFar - workers.finished;
    if (open < settings.jobs / 2) {
      await put(connection, settings.jobs - open);
      putSoFar += settings.jobs - open;
    }
    await sleep(5);
  }
}

async function main() {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const pass = async (line) => {
    console.log(JSON.stringify(line));
    await lines.next();
  };
  const connection = await queue.connect();
  let dueOf;
  if (settings.workload === "lateness") {
    settings.jobs = settings.rate * settings.seconds;
    const first = Math.ceil(now()) + LEAD + settings.jobs / 3;
    dueOf = (n) => Math.round(first + (n * 1000) / settings.rate);
  }
  await put(connection, settings.jobs, dueOf);
  await pass({ ready: true });
  const workers = new Workers();
  const result = { version: `${queue.version}, Node ${process.versions.node}` };
  if (settings.workload === "flow") {
    [result.jobs, result.seconds] = await flow(connection, workers);
  } else {
    while (workers.finished < settings.jobs) await sleep(10);
    result.jobs = settings.jobs;
    result.seconds = (workers.last - workers.first) / 1000;
  }
  if (settings.workload === "lateness") {
    const late = Float64Array.from(workers.late).sort();
    const at = (part) => late[Math.floor((late.length - 1) * part)];
    result.early = late.filter((each) => each < 0).length;
    Object.assign(result, { p50: at(0.5), p99: at(0.99), max: at(1) });
  }
  await pass(result);
  await workers.end();
  await connection.end();
  process.exit(0);
}

await (process.env.PEER_WORKS ? workHere() : main());
