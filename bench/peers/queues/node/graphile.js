// Graphile Worker. Its settings are those of its own performance test: 24 jobs at once in each process.
import { EventEmitter } from "node:events";
import { createRequire } from "node:module";
import { makeWorkerUtils, run } from "graphile-worker";

export const version = `Graphile Worker ${createRequire(import.meta.url)("graphile-worker/package.json").version}`;

export async function connect() {
  const utils = await makeWorkerUtils({ pgPool: undefined, connectionString: "" });
  await utils.migrate();
  return {
    put: (dues) =>
      utils.addJobs(
        dues.map((due) => ({ identifier: "peer", payload: { due }, runAt: due ? new Date(due) : undefined })),
      ),
    end: () => utils.release(),
  };
}

export async function work(settings, onStart, onFinish) {
  const events = new EventEmitter();
  events.setMaxListeners(0);
  events.on("job:complete", () => onFinish(1)); // when that has been committed
  const silent = { error: console.error, warning: () => {}, info: () => {}, debug: () => {} };
  const { Logger } = await import("graphile-worker");
  const runner = await run({
    connectionString: "",
    noHandleSignals: true,
    events,
    logger: new Logger(() => (level, message) => silent[level]?.(message)),
    taskList: { peer: ({ due }) => onStart(due) },
    preset: {
      worker: {
        concurrentJobs: settings.workers,
        maxPoolSize: settings.workers + 1,
        pollInterval: settings.poll,
        ...(settings.prefetch
          ? { localQueue: { size: settings.prefetch }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }
          : {}),
      },
    },
  });
  return () => runner.stop();
}
