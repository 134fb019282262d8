// pg-boss, with batches. A loop that fetches and completes is what its own speed test does; its work() waits for the
// next poll after each batch, which the jobs of the lateness wait for, too.
import { createRequire } from "node:module";
import PgBoss from "pg-boss";

export const version = `pg-boss ${createRequire(import.meta.url)("pg-boss/package.json").version}`;
const QUEUE = "peer";

async function start(more) {
  const boss = new PgBoss({ host: process.env.PGHOST, user: process.env.PGUSER, database: process.env.PGDATABASE, ...more });
  boss.on("error", (error) => console.error(error));
  await boss.start();
  return boss;
}

export async function connect() {
  const boss = await start({ supervise: false, schedule: false });
  await boss.createQueue(QUEUE);
  return {
    put: (dues) =>
      boss.insert(
        dues.map((due) => ({ name: QUEUE, data: { due }, startAfter: due ? new Date(due).toISOString() : undefined })),
      ),
    end: () => boss.stop({ graceful: false }),
  };
}

export async function work(settings, onStart, onFinish) {
  const boss = await start({ max: settings.workers });
  const options = { batchSize: settings.batch };
  if (settings.workload === "lateness") {
    for (let i = 0; i < settings.workers; i++) {
      await boss.work(QUEUE, { ...options, pollingIntervalSeconds: 0.5 }, async (jobs) => {
        for (const job of jobs) onStart(job.data.due);
        onFinish(jobs.length); // it is completed when this returns
      });
    }
    return () => boss.stop({ graceful: false });
  }
  let ends = false;
  const loop = async () => {
    while (!ends) {
      const jobs = await boss.fetch(QUEUE, options);
      if (jobs.length === 0) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        continue;
      }
      for (const job of jobs) onStart(job.data.due);
      await boss.complete(
        QUEUE,
        jobs.map((job) => job.id),
      );
      onFinish(jobs.length);
    }
  };
  const loops = Array.from({ length: settings.workers }, loop);
  return async () => {
    ends = true;
    await Promise.all(loops);
    await boss.stop({ graceful: false });
  };
}
