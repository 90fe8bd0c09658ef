// queues.mjs: the client side of bench/peers for queues that are libraries for Node.js.
//
// usage: node queues.mjs graphile-worker|pg-boss|bullmq ADDRESS VERB...
//   one SECONDS, many SECONDS CLIENTS, bulk SECONDS, fill COUNT, latency SAMPLES SECONDS STAMP FIFO, drain COUNT AT_ONCE, queued:
//   as peer_client (client.c); prints one JSON object.
//   rates BULK SINGLE RUNS AT_ONCE: for bench/daemon/postgres.c. Prints one line of four rates per second: jobs added in batches of 1,000,
//   jobs added one by one, jobs whose handler does nothing, jobs whose handler starts /bin/true and waits for it.
//
// ADDRESS: the URL of a PostgreSQL database, which is created if it does not exist (`rates` creates its own), or the path of the
// socket of a Redis server. Each queue is used by the fastest method in its documentation, with one call per batch. Durability is that of
// the server. Runs are measured before submits: a queue that is full of other jobs would slow them down.
import { spawn } from 'node:child_process'
import { closeSync, openSync, read } from 'node:fs'
import process from 'node:process'
import { promisify } from 'node:util'

let [name, address, verb, ...words] = process.argv.slice(2)
const BATCH = 1000
const CONNECTIONS = 66
const REST_MS = 5 // between two measurements of latency, so that the queue is idle

const payload = (i) => ({ argv: ['/bin/true'], title: `task number ${i}`, cwd: '/' })
const payloads = (first, count) => Array.from({ length: count }, (_, i) => payload(first + i))

function runProcess(program, ...args) {
  return new Promise((resolve, reject) => {
    spawn(program, args, { stdio: 'ignore' })
      .on('error', reject)
      .on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`${program}: ${code}`))))
  })
}

// Milliseconds of the monotonic clock.
const now = () => Number(process.hrtime.bigint()) / 1e6
const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

// Counts completed handlers, and resolves after the last one.
function counter(count) {
  let left = count
  let over
  const all = new Promise((resolve) => (over = resolve))
  return { all, one: () => --left === 0 && over() }
}

// --- the queues --------------------------------------------------------------------------------
//
// addMany(queue, first, count), addOne(queue, i); work(queue, atOnce, handler): starts workers, the result stops them;
// drain(queue, count, atOnce, handler): runs `count` jobs that are queued; queued(): number of jobs; close().

async function pgPool() {
  const pg = (await import('pg')).default
  return new pg.Pool({ connectionString: address, max: CONNECTIONS })
}

async function graphileWorker() {
  const { Logger, makeWorkerUtils, run, runMigrations } = await import('graphile-worker')
  const pool = await pgPool()
  const logger = new Logger(() => () => {})
  await runMigrations({ pgPool: pool, logger })
  const utils = await makeWorkerUtils({ pgPool: pool, logger })

  const work = async (queue, atOnce, handler) => {
    const runner = await run({
      pgPool: pool, logger, concurrency: atOnce, pollInterval: 50, noHandleSignals: true, taskList: { [queue]: handler },
    })
    return () => runner.stop()
  }
  return {
    work,
    addMany: (queue, first, count) => pool.query(
      `select count(*) from graphile_worker.add_jobs(array(select ($2::text, p::json, null, null, null, null, null, null)
       ::graphile_worker.job_spec from unnest($1::text[]) p))`,
      [payloads(first, count).map((p) => JSON.stringify(p)), queue]),
    addOne: (queue, i) => utils.addJob(queue, payload(i)),
    drain: (queue, count, atOnce, handler) => drainByWorkers(work, queue, count, atOnce, handler),
    queued: async () => Number((await pool.query('select count(*) from graphile_worker.jobs')).rows[0].count),
    close: async () => { await utils.release(); await pool.end() },
  }
}

async function pgBoss() {
  const PgBoss = (await import('pg-boss')).default
  const boss = new PgBoss({ connectionString: address, max: CONNECTIONS, supervise: false, schedule: false })
  boss.on('error', (err) => { console.error(err.message); process.exit(1) })
  await boss.start()
  for (const queue of ['later', 'nothing', 'process']) await boss.createQueue(queue)

  return {
    addMany: (queue, first, count) => boss.insert(payloads(first, count).map((data) => ({ name: queue, data }))),
    addOne: (queue, i) => boss.send(queue, payload(i)),
    // Its workers poll at most twice a second, however many jobs wait.
    work: async (queue, atOnce, handler) => {
      await boss.work(queue, { pollingIntervalSeconds: 0.5 }, handler)
      return () => boss.offWork(queue)
    },
    // So jobs are fetched and completed manually, as its documentation shows, by concurrent loops.
    drain: (queue, count, atOnce, handler) => Promise.all(Array.from({ length: atOnce }, async () => {
      for (let jobs; (jobs = await boss.fetch(queue)).length > 0;) {
        await handler()
        await boss.complete(queue, jobs[0].id)
      }
    })),
    queued: () => boss.getQueueSize('later'),
    close: () => boss.stop({ graceful: false, close: true }),
  }
}

async function bullmq() {
  const { Queue, Worker } = await import('bullmq')
  const connection = { path: address, maxRetriesPerRequest: null }
  const queues = new Map()
  const queueOf = (queue) => queues.get(queue) ?? queues.set(queue, new Queue(queue, { connection })).get(queue)
  const opts = { removeOnComplete: true }
  const work = async (queue, atOnce, handler) => {
    const worker = new Worker(queue, handler, { connection, concurrency: atOnce })
    worker.on('error', (err) => { console.error(err.message); process.exit(1) })
    await worker.waitUntilReady()
    return () => worker.close(true)
  }
  return {
    work,
    addMany: (queue, first, count) => queueOf(queue).addBulk(payloads(first, count).map((data) => ({ name: 'run', data, opts }))),
    addOne: (queue, i) => queueOf(queue).add('run', payload(i), opts),
    drain: (queue, count, atOnce, handler) => drainByWorkers(work, queue, count, atOnce, handler),
    queued: () => queueOf('later').getWaitingCount(),
    close: () => Promise.all([...queues.values()].map((queue) => queue.close())),
  }
}

async function drainByWorkers(work, queue, count, atOnce, handler) {
  const done = counter(count)
  const stop = await work(queue, atOnce, async () => { await handler(); done.one() })
  await done.all
  return stop
}

// --- verbs ------------------------------------------------------------------------------------

async function addInBatches(queue, name, count) {
  for (let i = 0; i < count; i += BATCH) await queue.addMany(name, i, Math.min(BATCH, count - i))
}

async function addSingly(queue, name, count) {
  for (let i = 0; i < count; i++) await queue.addOne(name, i)
}

// Seconds that `work` takes; what it returns is called afterwards.
async function timed(work) {
  const began = now()
  const after = await work()
  const seconds = (now() - began) / 1000
  if (typeof after === 'function') await after()
  return seconds
}

// Calls `add` until the time is over, in `loops` concurrent loops.
async function addFor(seconds, loops, size, add) {
  const end = now() + seconds * 1000
  let count = 0
  const took = await timed(() => Promise.all(Array.from({ length: loops }, async () => {
    for (; now() < end; count += size) await add(count)
  })))
  return { count, seconds: took }
}

async function drained(queue, name, count, atOnce, handler) {
  await addInBatches(queue, name, count)
  return { count, seconds: await timed(() => queue.drain(name, count, atOnce, handler)) }
}

async function latencies(queue, samples, seconds, stamp, fifo) {
  const fd = openSync(fifo, 'r+')
  const readLine = promisify(read)
  const samples_ms = []
  const stop = await queue.work('process', 1, () => runProcess(stamp, fifo))
  const buffer = Buffer.alloc(32)
  for (const end = now() + seconds * 1000; samples_ms.length < samples && now() < end;) {
    await rest(REST_MS)
    const began = now()
    await queue.addOne('process', samples_ms.length)
    const { bytesRead } = await readLine(fd, buffer, 0, buffer.length, null)
    samples_ms.push(Number(buffer.toString('utf8', 0, bytesRead)) / 1000 - began)
  }
  await stop()
  closeSync(fd)
  return { samples_ms }
}

const startTrue = () => runProcess('/bin/true')

async function rates(queue, bulk, single, runs, atOnce) {
  const rate = ({ count, seconds }) => Math.round(count / seconds)
  const ran = [await drained(queue, 'nothing', runs, atOnce, async () => {}), await drained(queue, 'process', runs, atOnce, startTrue)]
  const added = [
    { count: bulk, seconds: await timed(() => addInBatches(queue, 'later', bulk)) },
    { count: single, seconds: await timed(() => addSingly(queue, 'later', single)) },
  ]
  return [...added, ...ran].map(rate).join(' ')
}

const verbs = {
  one: (queue, seconds) => addFor(seconds, 1, 1, (i) => queue.addOne('later', i)),
  many: (queue, seconds, clients) => addFor(seconds, clients, 1, (i) => queue.addOne('later', i)),
  bulk: (queue, seconds) => addFor(seconds, 1, BATCH, (i) => queue.addMany('later', i, BATCH)),
  fill: async (queue, count) => ({ count, seconds: await timed(() => addInBatches(queue, 'later', count)) }),
  latency: latencies,
  drain: (queue, count, atOnce) => drained(queue, 'process', count, atOnce, startTrue),
  queued: async (queue) => ({ queued: await queue.queued() }),
  rates,
}

async function createDatabase() {
  const pg = (await import('pg')).default
  const admin = new pg.Client({ connectionString: Object.assign(new URL(address), { pathname: '/sluice' }).toString() })
  const database = verb === 'rates' ? `peers_${process.pid}_${Date.now()}` : new URL(address).pathname.slice(1)
  address = Object.assign(new URL(address), { pathname: `/${database}` }).toString()
  await admin.connect()
  const { rowCount } = await admin.query('SELECT 1 FROM pg_database WHERE datname = $1', [database])
  if (rowCount === 0) await admin.query(`CREATE DATABASE ${database}`)
  await admin.end()
}

const libraries = { 'graphile-worker': graphileWorker, 'pg-boss': pgBoss, bullmq }
if (!libraries[name] || !verbs[verb]) {
  console.error('usage: node queues.mjs graphile-worker|pg-boss|bullmq ADDRESS VERB...; see the head of this file')
  process.exit(2)
}
if (name !== 'bullmq') await createDatabase()
const queue = await libraries[name]()
const result = await verbs[verb](queue, ...words.map((word) => (word.startsWith('/') ? word : Number(word))))
console.log(typeof result === 'string' ? result : JSON.stringify(result))
process.exit(0)
