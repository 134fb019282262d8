// Work for a server with jackd of npm: `node work.mjs PORT alone|producer|worker`. clients_test.py describes it.
// The file must lie beside the folder node_modules that has jackd.
import { createHash } from 'node:crypto'
import { createInterface } from 'node:readline'
import jackd from 'jackd'

const Client = jackd.default ?? jackd
const say = (...words) => process.stdout.write(JSON.stringify(words) + '\n')
const connect = async (port) => {
  const client = new Client()
  await client.connect({ host: '127.0.0.1', port: Number(port) })
  return client
}

async function worker(port, ...tubes) {
  const client = await connect(port)
  for (const tube of tubes) await client.watch(tube)
  await client.ignore('default')
  return client
}

const text = (job) => job.payload.toString()
const digest = (job) => [job.payload.length, createHash('md5').update(job.payload).digest('hex')]
const number = (statistics, key) => Number(statistics.match(new RegExp(`^${key}: (\\d+)$`, 'm'))[1])

async function priorities(producer, one, two) {
  await producer.use('work')
  for (const [body, priority] of [['low', 30], ['high', 10], ['middle', 20]]) {
    await producer.put(body, { priority, ttr: 600 })
  }
  const first = await one.reserve()
  say('first', text(first))
  const second = await two.reserve()
  say('second', text(second))
  await one.release(first.id, { priority: 5 })
  const again = await two.reserve()
  say('released', text(again))
  await two.bury(again.id, 7)
  const counts = await producer.statsTube('work')
  say('counts', ...['ready', 'reserved', 'buried'].map((state) => number(counts, `current-jobs-${state}`)))
  say('kicked', await producer.kick(10))
  const kicked = await one.reserve()
  await one.touch(kicked.id)
  say('kicked', text(kicked), number(await one.statsJob(kicked.id), 'pri'))
  await one.delete(kicked.id)
  await two.delete(second.id)
  const last = await one.reserve()
  say('last', text(last))
  await one.delete(last.id)
}

async function tubesAndDelays(producer, one) {
  await producer.use('other')
  await producer.put('elsewhere', { ttr: 600 })
  let job = await one.reserve()
  say('other', text(job), (await one.statsJob(job.id)).match(/^tube: "?([^"\n]*)"?$/m)[1])
  await one.delete(job.id)
  const begun = process.hrtime.bigint()
  await producer.put('late', { delay: 1, ttr: 600 })
  job = await one.reserveWithTimeout(3600)
  say('late', text(job), process.hrtime.bigint() - begun >= 999_000_000n)
  await one.delete(job.id)
}

async function bodies(producer, one) {
  const long = 'é\r\n\0'.repeat(13107) + 'x'
  await producer.use('work')
  await producer.put(long, { ttr: 600 })
  let job = await one.reserve()
  say('text', ...digest(job))
  await one.delete(job.id)
  await producer.put(long + 'x').catch((error) => {
    if (error.message === 'JOB_TOO_BIG') say('too big')
  })
  await one.watch('given')
  job = await one.reserve()
  say('given', ...digest(job))  // jackd 2.2 cannot put it back: it turns bytes into JSON
  await one.delete(job.id)
}

async function restart(producer) {
  await producer.use('work')
  await producer.put('kept', { priority: 1, ttr: 600 })
  await producer.put('kept and late', { priority: 2, delay: 1, ttr: 600 })
  say('restart')
  const { value: port } = await createInterface({ input: process.stdin })[Symbol.asyncIterator]().next()
  const after = await worker(port, 'work')
  for (let count = 0; count < 2; ++count) {
    const job = await after.reserveWithTimeout(3600)
    say('kept', text(job))
    await after.delete(job.id)
  }
  const counts = await after.stats()
  say('left', ...['ready', 'reserved', 'delayed', 'buried'].map((state) => number(counts, `current-jobs-${state}`)))
}

const [port, role] = process.argv.slice(2)
if (role === 'producer') {
  const producer = await connect(port)
  await producer.use('many')
  for (let number = 0; number < 200; ++number) await producer.put(`job ${number}`, { priority: 10, ttr: 600 })
  for (let count = 0; count < 2; ++count) await producer.put('end', { priority: 20, ttr: 600 })
  await producer.quit()
} else if (role === 'worker') {
  const client = await worker(port, 'many')
  let body
  do {
    const job = await client.reserve()
    body = text(job)
    say('got', body)
    await client.delete(job.id)
  } while (body !== 'end')
  await client.quit()
} else {
  const producer = await connect(port)
  const one = await worker(port, 'work', 'other')
  const two = await worker(port, 'work', 'other')
  await priorities(producer, one, two)
  await tubesAndDelays(producer, one)
  await bodies(producer, one)
  await restart(producer)
  process.stdout.write('', () => process.exit(0))  // open connections would keep the process alive
}
