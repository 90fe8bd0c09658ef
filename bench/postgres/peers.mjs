// peers.mjs: measures another queue on the same PostgreSQL server with the workload of bench/daemon/postgres.c.
//
// usage: node peers.mjs graphile-worker|pg-boss URL BULK SINGLE RUNS AT_ONCE
//
// URL: of a role that may create databases; each call creates its own.
// Prints one line of four rates per second: jobs added in batches of 1,000, jobs added one by one, jobs whose handler does
// nothing, jobs whose handler starts /bin/true and waits for it. Each uses the fastest method in the documentation of the
// queue, with one call per batch. Durability is that of the server. Runs are measured first: a
// queue that is full of other jobs would slow them down.
import { spawn } from 'node:child_process'
import process from 'node:process'

let [name, url, ...numbers] = process.argv.slice(2)
const [bulk, single, runs, atOnce] = numbers.map(Number)
const BATCH = 1000

const payload = (i) => ({ argv: ['/bin/true'], title: `task number ${i}`, cwd: '/' })

function trueProcess() {
  return new Promise((resolve, reject) => {
    spawn('/bin/true', { stdio: 'ignore' })
      .on('error', reject)
      .on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`/bin/true: ${code}`))))
  })
}

// Jobs per second of `work`, which processes `count` jobs.
async function rate(count, work) {
  const began = process.hrtime.bigint()
  await work()
  return Math.round(count / (Number(process.hrtime.bigint() - began) / 1e9))
}

// Counts completed handlers, and resolves after the last one.
function counter(count) {
  let left = count
  let over
  const all = new Promise((resolve) => (over = resolve))
  return { all, one: () => --left === 0 && over() }
}

async function graphileWorker() {
  const { Logger, makeWorkerUtils, run, runMigrations } = await import('graphile-worker')
  const pg = (await import('pg')).default
  const pool = new pg.Pool({ connectionString: url, max: atOnce + 2 })
  const logger = new Logger(() => () => {})
  await runMigrations({ pgPool: pool, logger })
  const utils = await makeWorkerUtils({ pgPool: pool, logger })

  const addMany = async (task, count) => {
    for (let i = 0; i < count; i += BATCH) {
      const texts = Array.from({ length: Math.min(BATCH, count - i) }, (_, k) => JSON.stringify(payload(i + k)))
      await pool.query(
        `select count(*) from graphile_worker.add_jobs(array(select ($2::text, p::json, null, null, null, null, null, null)
         ::graphile_worker.job_spec from unnest($1::text[]) p))`, [texts, task])
    }
  }
  const addOne = async (count) => {
    for (let i = 0; i < count; i++) await utils.addJob('later', payload(i))
  }
  const work = async (task, handler) => {
    const done = counter(runs)
    await addMany(task, runs)
    return rate(runs, async () => {
      const runner = await run({
        pgPool: pool, logger, concurrency: atOnce, pollInterval: 50, noHandleSignals: true,
        taskList: { [task]: async () => { await handler(); done.one() } },
      })
      await done.all
      await runner.stop()
    })
  }
  const ran = [await work('nothing', async () => {}), await work('process', trueProcess)]
  const figures = [await rate(bulk, () => addMany('later', bulk)), await rate(single, () => addOne(single)), ...ran]
  await utils.release()
  await pool.end()
  return figures
}

async function pgBoss() {
  const PgBoss = (await import('pg-boss')).default
  const boss = new PgBoss({ connectionString: url, max: atOnce + 2, supervise: false, schedule: false })
  boss.on('error', (err) => { console.error(err.message); process.exit(1) })
  await boss.start()
  for (const queue of ['later', 'nothing', 'process']) await boss.createQueue(queue)

  const addMany = async (queue, count) => {
    for (let i = 0; i < count; i += BATCH)
      await boss.insert(Array.from({ length: Math.min(BATCH, count - i) }, (_, k) => ({ name: queue, data: payload(i + k) })))
  }
  const addOne = async (count) => {
    for (let i = 0; i < count; i++) await boss.send('later', payload(i))
  }
  // Its workers poll at most twice a second, however many jobs wait. So jobs are fetched and completed manually, as its
  // documentation shows, by AT_ONCE concurrent loops.
  const work = async (queue, handler) => {
    await addMany(queue, runs)
    return rate(runs, () => Promise.all(Array.from({ length: atOnce }, async () => {
      for (let jobs; (jobs = await boss.fetch(queue)).length > 0;) {
        await handler()
        await boss.complete(queue, jobs[0].id)
      }
    })))
  }
  const ran = [await work('nothing', async () => {}), await work('process', trueProcess)]
  const figures = [await rate(bulk, () => addMany('later', bulk)), await rate(single, () => addOne(single)), ...ran]
  await boss.stop({ graceful: false, close: true })
  return figures
}

// Runs `work` with `url` naming a new database, which is deleted with the server.
async function inDatabase(work) {
  const pg = (await import('pg')).default
  const own = `peers_${process.pid}_${Date.now()}`
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  await admin.query(`CREATE DATABASE ${own}`)
  url = Object.assign(new URL(url), { pathname: `/${own}` }).toString()
  await admin.end()
  return work()
}

const peers = { 'graphile-worker': graphileWorker, 'pg-boss': pgBoss }
if (!peers[name] || numbers.length !== 4) {
  console.error('usage: node peers.mjs graphile-worker|pg-boss URL BULK SINGLE RUNS AT_ONCE')
  process.exit(2)
}
console.log((await inDatabase(peers[name])).join(' '))
process.exit(0)
