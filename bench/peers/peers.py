#!/usr/bin/env python3
"""peers.py: measures Sluice beside other queues on this machine; scripts/bench starts it (make bench-peers).

Each measurement starts its server in a new folder, on a Unix socket or a free port of loopback, lets a client
(peer_client, queues.mjs) measure it, and stops it. All systems do one measurement after the other, then the next round
follows: load of the machine that changes slowly affects all of them. A system takes part in a row only if it can do that work.
The result is a JSON file for bench/report.py.
"""
import argparse
import array
import contextlib
import ctypes
import datetime
import fcntl
import json
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE.parent.parent / 'scripts'
CLIENTS = 64
AT_ONCE = 8
RUNS = 800  # task-spooler cannot hold 1,000: each waiting job is a process with a connection
SAMPLES = 100
DEPTH = 100_000
FILL_LIMIT = 30  # seconds to accept DEPTH jobs
PATIENCE = 60  # seconds until a server answers

# name, title, unit, whether more is better
ROWS = [
    ('submit-one', 'submit, one client', 'jobs/s', True),
    ('submit-many', f'submit, {CLIENTS} clients', 'jobs/s', True),
    ('submit-bulk', 'submit in batches of 1,000', 'jobs/s', True),
    ('submit-command', 'submit with a command, one after the other', 'jobs/s', True),
    ('latency-p50', 'submit to started, connected client, p50', 'ms', False),
    ('latency-p99', 'submit to started, connected client, p99', 'ms', False),
    ('latency-command', 'submit to started, with a command, p50', 'ms', False),
    ('drain', f'runs of /bin/true, {AT_ONCE} at once', 'jobs/s', True),
    ('restart', f'kill -9 to serving, {DEPTH:,} waiting', 's', False),
    ('memory', 'memory per waiting job', 'bytes', False),
    ('disk', 'disk per waiting job', 'bytes', False),
]

EACH = 'synced'  # an acknowledged job survives a power cut
LATER = 'later'  # an acknowledged job survives the death of the server, and a power cut some time later
NONE = 'memory'  # waiting jobs are lost with the server


class Failed(Exception):
    pass


class Absent(Exception):
    """The system cannot do this work; the message says why."""


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def output_of(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def package_version(package):
    """Without the epoch and the revision of the distribution."""
    version = output_of('dpkg-query', '-W', '-f', '${Version}', package).stdout.strip()
    return version.split(':')[-1].rsplit('-', 1)[0] or 'unknown'


def descendants(pid):
    found = [pid]
    for parent in found:
        for tasks in Path(f'/proc/{parent}/task').glob('*/children'):
            with contextlib.suppress(OSError):
                found += map(int, tasks.read_text().split())
    return found


def memory_of(pids):
    """Proportional memory of processes in bytes."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            text = Path(f'/proc/{pid}/smaps_rollup').read_text()
            total += int(re.search(r'^Pss: +(\d+)', text, re.M).group(1)) * 1024
    return total


def disk_of(folder):
    return sum(path.lstat().st_blocks * 512 for path in Path(folder).rglob('*'))


def spread_folders(folder):
    """Each new folder is made in its own block group (FS_TOPDIR_FL): an ext4 without journal examines every recently deleted inode nearby
    before it creates a file, so one measurement would slow down the next."""
    flags = array.array('i', [0])
    with contextlib.suppress(OSError):  # other file systems
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(fd, 0x80086601, flags)  # FS_IOC_GETFLAGS
            flags[0] |= 0x00020000
            fcntl.ioctl(fd, 0x40086602, flags)  # FS_IOC_SETFLAGS
        finally:
            os.close(fd)


def settle_disk():
    """What an earlier measurement wrote must not be synced in the next one."""
    os.sync()


class System:
    name = label = durability = ''
    level = EACH
    programs = ()
    package = None
    rows = ()

    def __init__(self, bench):
        self.bench = bench
        self.folder = None
        self.server = None
        self.address = None

    def missing(self):
        absent = [program for program in self.programs if not shutil.which(program)]
        return f'{absent[0]} is not installed: scripts/setup --peers' if absent else None

    def version(self):
        return package_version(self.package)

    # --- life of a server -------------------------------------------------------------------------

    def command(self):
        raise NotImplementedError

    def environment(self):
        return {}

    def launch(self):
        with open(self.folder / 'log', 'ab') as log:
            self.server = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
                                           env={**os.environ, **self.environment()}, preexec_fn=die_with_parent)
        self.wait_ready()

    def wait_ready(self):
        """Until it accepts connections."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self.server.poll() is None:
            by_path = str(self.address).startswith('/')
            with socket.socket(socket.AF_UNIX if by_path else socket.AF_INET) as probe:
                if probe.connect_ex(str(self.address) if by_path else ('127.0.0.1', int(self.address))) == 0:
                    return
            time.sleep(0.002)
        raise Failed(f'it does not start: {(self.folder / "log").read_text()[-300:]}')

    def prepare(self):
        """Makes the files of a new server in self.folder."""

    def start(self, folder):
        self.folder = folder
        self.prepare()
        self.launch()

    def kill(self):
        if self.server:
            self.server.kill()
            self.server.wait()
            self.server = None

    def stop(self):
        self.kill()

    # --- what is measured -------------------------------------------------------------------------

    def client(self, *words, limit=None):
        return self.bench.client(self.client_command(*words), limit=limit, env=self.environment())

    def client_command(self, *words):
        raise NotImplementedError

    def rate(self, *words, **options):
        result = self.client(*words, **options)
        return result['count'] / result['seconds']

    def submit_one(self):
        return self.rate('one', self.bench.seconds)

    def submit_many(self):
        return self.rate('many', self.bench.seconds, CLIENTS)

    def submit_bulk(self):
        return self.rate('bulk', self.bench.seconds)

    def latency(self):
        return self.client('latency', SAMPLES, 3 * self.bench.seconds, self.bench.stamp, self.bench.fifo)['samples_ms']

    def drain(self):
        return self.rate('drain', RUNS, AT_ONCE)

    def memory(self):
        return memory_of(descendants(self.server.pid))

    def disk(self):
        return disk_of(self.folder)

    def fill(self):
        limit = FILL_LIMIT * self.bench.seconds
        try:
            self.client('fill', DEPTH, limit=limit)
        except subprocess.TimeoutExpired as late:
            raise Absent(f'it did not accept {DEPTH:,} jobs in {limit:g} s') from late
        return DEPTH

    def queued(self):
        return self.client('queued')['queued']

    def restart(self):
        self.kill()
        began = time.monotonic()
        self.launch()
        queued = self.queued()
        seconds = time.monotonic() - began
        if queued != DEPTH:
            raise Failed(f'{queued} of {DEPTH} jobs are left after a kill')
        return seconds


SERVER_ROWS = ('submit-one', 'submit-many', 'submit-bulk', 'latency', 'drain', 'restart', 'memory', 'disk')


class Wire(System):
    """A server whose protocol peer_client speaks."""
    protocol = ''
    rows = SERVER_ROWS

    def client_command(self, *words):
        return [self.bench.peer_client, self.protocol, self.address, *words]


class Commands(System):
    """A queue that is used with a command. `submit` queues the words that follow it."""
    submit = ()

    def submit_words(self):
        return [shutil.which(self.submit[0]), *self.submit[1:]]

    def submit_command(self):
        return self.command_rate(self.submit_words(), self.most())

    def command_rate(self, submit, most):
        result = self.bench.client([self.bench.peer_client, 'command', self.bench.fifo, 'one', self.bench.seconds, most,
                                    *submit, '/bin/true'], env=self.environment())
        return result['count'] / result['seconds']

    def most(self):
        return RUNS

    def latency_command(self):
        return self.bench.client([self.bench.peer_client, 'command', self.bench.fifo, 'latency', SAMPLES, 3 * self.bench.seconds,
                                  *self.submit_words(), self.bench.stamp, self.bench.fifo], env=self.environment())['samples_ms']


class Sluice(Wire, Commands):
    name, label, protocol = 'sluice', 'Sluice', 'sluice'
    durability = 'each acknowledged task is synced to disk (SQLite, one sync for all requests of a turn), and each start before its process'
    rows = (*SERVER_ROWS, 'submit-command', 'latency-command')
    config = ''

    def missing(self):
        return None

    def version(self):
        return output_of(self.bench.build / 'sluice', '--version').stdout.split()[-1]

    def environment(self):
        return {'SLUICE_HOME': str(self.folder)}

    def prepare(self):
        (self.folder / 'sluice.yaml').write_text(
            'host: {disk_free_gb: 0}\nqueue: {soft: unlimited, hard: unlimited}\n'
            f'limits: {{runs: {AT_ONCE}}}\n' + (self.config or 'store: {min_free_mb: 1}\n'))
        self.address = self.folder / 'sluice.sock'

    def launch(self):
        ready, theirs = os.pipe()
        with open(self.folder / 'log', 'ab') as log:
            self.server = subprocess.Popen(
                [self.bench.build / 'sluiced', '--home', self.folder, '--ready-fd', str(theirs)], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, cwd=self.folder, pass_fds=[theirs], preexec_fn=die_with_parent)
        os.close(theirs)
        with os.fdopen(ready) as pipe:
            text = pipe.read()
        if text != 'ready\n':
            raise Failed(f'it does not start: {text}')

    def stop(self):
        if self.server:
            self.server.terminate()
            self.server.wait()
            self.server = None

    def paused(self, measure):
        self.client('pause')
        return measure()

    def submit_one(self):
        return self.paused(super().submit_one)

    def submit_many(self):
        return self.paused(super().submit_many)

    def submit_bulk(self):
        return self.paused(super().submit_bulk)

    def fill(self):
        return self.paused(super().fill)

    def submit_words(self):
        return [self.bench.build / 'sluice', 'add', '--']

    def submit_command(self):
        return self.paused(super().submit_command)


class SluicePostgres(Sluice):
    name, label = 'sluice-postgresql', 'Sluice on PostgreSQL'
    durability = 'each acknowledged task is committed by PostgreSQL (fsync and synchronous_commit on), and each start before its process'
    rows = ('submit-one', 'submit-many', 'submit-bulk', 'latency', 'drain')

    def missing(self):
        return None if self.bench.postgres else 'there is no PostgreSQL server: run it by make bench-peers'

    def prepare(self):
        self.config = f'store: {{url: "{self.bench.postgres}?schema={self.bench.unique()}"}}\n'
        super().prepare()


class Beanstalkd(Wire):
    name, label, protocol = 'beanstalkd', 'beanstalkd -f0', 'beanstalkd'
    durability = 'each acknowledged job is synced to its log; it keeps all jobs in memory'
    programs, package = ('beanstalkd',), 'beanstalkd'
    sync = ('-f', '0')

    def prepare(self):
        (self.folder / 'log.d').mkdir()
        self.address = self.folder / 'socket'

    def command(self):
        self.address.unlink(missing_ok=True)
        return ['beanstalkd', '-l', f'unix:{self.address}', '-b', self.folder / 'log.d', *self.sync]


class BeanstalkdNoSync(Beanstalkd):
    name, label = 'beanstalkd-nosync', 'beanstalkd -F'
    durability = 'each acknowledged job is in its log, which is never synced'
    level, sync = LATER, ('-F',)


class Gearman(Wire):
    name, label, protocol = 'gearmand', 'gearmand', 'gearmand'
    durability = 'jobs are in memory'
    level = NONE
    programs, package = ('gearmand',), 'gearman-job-server'
    queue = ()
    rows = tuple(row for row in SERVER_ROWS if row not in ('restart', 'disk'))

    def command(self):
        self.address = free_port()
        user = ('--user', 'root') if os.geteuid() == 0 else ()
        return ['gearmand', '--listen', '127.0.0.1', '--port', str(self.address), '--log-file', 'stderr', '--pid-file',
                self.folder / 'pid', *user, *self.queue]


class GearmanSqlite(Gearman):
    name, label = 'gearmand-sqlite', 'gearmand, SQLite queue'
    durability = 'each acknowledged job is committed to SQLite with a rollback journal; it keeps all jobs in memory, too'
    level = EACH
    rows = SERVER_ROWS

    def missing(self):
        reason = super().missing()
        if not reason and 'libsqlite3' not in output_of('gearmand', '--help').stdout:
            reason = 'this build of gearmand has no SQLite queue'
        return reason

    def prepare(self):
        self.queue = ('--queue-type', 'libsqlite3', '--libsqlite3-db', self.folder / 'queue.db')


class NodeQueue(System):
    rows = SERVER_ROWS

    def missing(self):
        if not shutil.which('node'):
            return 'node is not installed: scripts/setup --peers'
        if not (self.bench.queues and (self.bench.queues / 'node_modules' / self.name).is_dir()):
            return 'npm could not fetch it'
        return super().missing()

    def node_version(self):
        return json.loads((self.bench.queues / 'node_modules' / self.name / 'package.json').read_text())['version']

    def client_command(self, *words):
        return ['node', self.bench.queues / 'queues.mjs', self.name, self.address, *words]


class BullMQ(NodeQueue):
    name, label = 'bullmq', 'BullMQ on Redis'
    durability = 'each acknowledged job is synced to the log of Redis (appendfsync always), with one sync for all requests of a turn'
    programs, package = ('redis-server',), 'redis-server'

    def version(self):
        return f'{self.node_version()}, Redis {package_version(self.package)}'

    def prepare(self):
        self.address = self.folder / 'socket'

    def command(self):
        self.address.unlink(missing_ok=True)
        return ['redis-server', '--port', '0', '--unixsocket', self.address, '--dir', self.folder, '--appendonly', 'yes', '--appendfsync',
                'always', '--save', '', '--daemonize', 'no']


class PostgresQueue(NodeQueue):
    rows = tuple(row for row in SERVER_ROWS if row != 'memory')
    durability = 'each acknowledged job is committed by PostgreSQL (fsync and synchronous_commit on)'

    def missing(self):
        return super().missing() if self.bench.postgres else 'there is no PostgreSQL server: run it by make bench-peers'

    def version(self):
        return f'{self.node_version()}, PostgreSQL {output_of("psql", "--version").stdout.split()[2]}'

    def start(self, folder):
        self.folder = folder
        self.database = self.bench.unique()
        self.address = re.sub(r'/[^/]*$', f'/{self.database}', self.bench.postgres)

    def launch(self):
        self.bench.postgres_server('start')

    def kill(self):
        self.bench.postgres_server('kill')

    def stop(self):
        pass

    def disk(self):
        self.client('queued')  # creates the database
        admin = self.bench.postgres_server('admin')
        size = output_of('psql', '-qAtX', admin, '-c',
                         f"SELECT coalesce(sum(pg_database_size(datname)), 0) FROM pg_database WHERE datname = '{self.database}'")
        if size.returncode != 0:
            raise Failed(size.stderr)
        return int(size.stdout)

    def memory(self):
        return 0


class GraphileWorker(PostgresQueue):
    name = label = 'graphile-worker'


class PgBoss(PostgresQueue):
    name = label = 'pg-boss'


class TaskSpooler(Commands):
    name = label = 'task-spooler'
    durability = 'jobs are in memory, and each waiting job is a process'
    level = NONE
    programs, package = ('tsp',), 'task-spooler'
    submit = ('tsp',)
    rows = ('submit-command', 'latency-command', 'drain', 'memory')

    def environment(self):
        return {'TS_SOCKET': str(self.folder / 'socket'), 'TMPDIR': str(self.folder), 'TS_SLOTS': '1'}

    def tsp(self, *words):
        result = output_of('tsp', *map(str, words), env={**os.environ, **self.environment()})
        if result.returncode != 0:
            raise Failed(f'tsp {words}: {result.stderr}')
        return result.stdout.strip()

    def start(self, folder):
        self.folder = folder
        self.gate = folder / 'gate'
        os.mkfifo(self.gate)
        self.tsp('-S', 1)

    def close_gate(self):
        """Later jobs wait behind one that waits for the gate."""
        self.tsp('-n', 'sh', '-c', f': <{self.gate}')

    def open_gate(self):
        os.close(os.open(self.gate, os.O_WRONLY))

    def submit_command(self):
        self.close_gate()
        rate = super().submit_command()
        self.tsp('-C')
        self.open_gate()
        return rate

    def queue_runs(self):
        self.close_gate()
        for _ in range(RUNS):
            last = self.tsp('/bin/true')
        return last

    def drain(self):
        last = self.queue_runs()
        self.tsp('-S', AT_ONCE)
        began = time.monotonic()
        self.open_gate()
        self.tsp('-w', last)
        while re.search(r'^\d+ +(running|queued)', self.tsp('-l'), re.M):
            time.sleep(0.001)
        return RUNS / (time.monotonic() - began)

    def all_processes(self):
        return [int(path.name) for path in Path('/proc').glob('[0-9]*')
                if f'TS_SOCKET={self.folder / "socket"}' in environment_of(path)]

    def memory(self):
        return memory_of(self.all_processes())

    def fill(self):
        self.queue_runs()
        return RUNS

    def stop(self):
        with contextlib.suppress(Failed):
            self.tsp('-C')
            self.tsp('-K')
        for pid in self.all_processes():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def environment_of(process):
    try:
        return (process / 'environ').read_text(errors='replace').split('\0')
    except OSError:
        return []


class Nq(Commands):
    name = label = 'nq'
    durability = 'files that are not synced; waiting jobs are processes, and are lost with them'
    level = NONE
    programs, package = ('nq',), 'nq'
    submit = ('nq', '-q')
    rows = ('submit-command', 'latency-command')

    def environment(self):
        return {'NQDIR': str(self.folder)}

    def start(self, folder):
        self.folder = folder

    def submit_command(self):
        gate = self.folder / 'gate'
        os.mkfifo(gate)
        output_of('nq', '-q', 'sh', '-c', f': <{gate}', env={**os.environ, **self.environment()})
        rate = super().submit_command()
        os.close(os.open(gate, os.O_WRONLY))
        return rate

    def most(self):
        return 100  # each job waits for all before it, and costs more the more there are

    def stop(self):
        output_of('nq', '-w', env={**os.environ, **self.environment()})


class Parallel(System):
    name, label = 'parallel', 'GNU parallel'
    durability = 'no queue: a list that is run now; --joblog notes what has ended, without a sync'
    level = NONE
    programs, package = ('parallel',), 'parallel'
    rows = ('drain',)

    def start(self, folder):
        self.folder = folder

    def drain(self):
        numbers = '\n'.join(map(str, range(RUNS)))
        began = time.monotonic()
        result = output_of('parallel', f'-j{AT_ONCE}', '--joblog', str(self.folder / 'joblog'), '/bin/true', input=numbers,
                           env={**os.environ, 'HOME': str(self.folder)})
        if result.returncode != 0:
            raise Failed(result.stderr)
        return RUNS / (time.monotonic() - began)


class Slurm(Commands):
    name, label = 'slurm', 'Slurm'
    durability = 'accepted jobs are written some seconds later'
    level = LATER
    programs, package = ('slurmctld', 'sbatch', 'munged'), 'slurm-wlm'
    rows = ('submit-command', 'latency-command', 'drain')
    runs = 100  # each needs about a second of a slot

    def cluster(self, verb):
        result = output_of(SCRIPTS / 'slurm-cluster', verb, str(self.folder))
        if result.returncode != 0:
            raise Failed(result.stderr)

    def environment(self):
        return {'SLURM_CONF': str(self.folder / 'slurm.conf')}

    def start(self, folder):
        self.folder = folder
        (folder / 'job').write_text('#!/bin/sh\nexec "$@"\n')
        self.cluster('start')

    def submit_words(self):
        return [shutil.which('sbatch'), '--parsable', '--no-requeue', '--chdir=/', '--output=/dev/null', self.folder / 'job']

    def ended(self):
        return (self.folder / 'log/jobs').read_text().count('JobId=')

    def drain(self):
        before, began = self.ended(), time.monotonic()
        result = output_of(*map(str, self.submit_words()[:-1]), f'--array=1-{self.runs}%{AT_ONCE}', str(self.folder / 'job'),
                           '/bin/true', env={**os.environ, **self.environment()})
        if result.returncode != 0:
            raise Failed(result.stderr)
        while self.ended() < before + self.runs:
            time.sleep(0.05)
        return self.runs / (time.monotonic() - began)

    def stop(self):
        self.cluster('stop')


SYSTEMS = [Sluice, SluicePostgres, Beanstalkd, BeanstalkdNoSync, BullMQ, Gearman, GearmanSqlite, GraphileWorker, PgBoss, TaskSpooler, Nq,
           Parallel, Slurm]
ON_REQUEST = {'slurm'}


class Bench:
    def __init__(self, options, folder):
        self.build = Path(options.build).resolve()
        self.peer_client = self.build / 'bench/peers/peer_client'
        self.stamp = self.build / 'bench/daemon/stamp'
        self.seconds = options.seconds
        self.rounds = options.rounds
        self.folder = folder
        self.fifo = folder / 'fifo'
        self.queues = Path(os.environ['BENCH_PEERS']) if os.environ.get('BENCH_PEERS') else None
        self.postgres = os.environ.get('BENCH_POSTGRES')
        self.number = 0
        os.mkfifo(self.fifo)
        spread_folders(folder)

    def unique(self):
        self.number += 1
        return f'peers_{os.getpid()}_{self.number}'

    def postgres_server(self, verb):
        result = output_of(SCRIPTS / 'postgres-server', verb, os.environ['BENCH_POSTGRES_DIR'])
        if result.returncode != 0:
            raise Failed(result.stderr)
        return result.stdout.strip()

    def client(self, command, limit=None, env=None):
        result = output_of(*map(str, command), env={**os.environ, **(env or {})}, timeout=limit or 4 * PATIENCE,
                           preexec_fn=die_with_parent)
        if result.returncode != 0:
            raise Failed((result.stderr or result.stdout).strip()[-300:])
        return json.loads(result.stdout)

    @contextlib.contextmanager
    def running(self, system):
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            system.start(folder)
            yield
        finally:
            system.stop()
            shutil.rmtree(folder, ignore_errors=True)

    # --- one measurement: figures by row --------------------------------------------------------

    def measure(self, system, row):
        settle_disk()
        with self.running(system):
            if row == 'depth':
                return self.measure_depth(system)
            value = getattr(system, row.replace('-', '_'))()
        if row == 'latency':
            value.sort()
            return {'latency-p50': [percentile(value, 0.5)], 'latency-p99': [percentile(value, 0.99)]}
        if row == 'latency-command':
            return {row: [percentile(sorted(value), 0.5)]}
        return {row: [value]}

    def measure_depth(self, system):
        wants = [row for row in ('memory', 'disk', 'restart') if row in system.rows]
        memory, disk = system.memory(), system.disk() if 'disk' in wants else 0
        count = system.fill()
        found = {'memory': [(system.memory() - memory) / count]}
        if 'disk' in wants:
            found['disk'] = [(system.disk() - disk) / count]
        if 'restart' in wants:
            found['restart'] = [system.restart() for _ in range(self.rounds)]
        return {row: found[row] for row in wants}


def percentile(values, part):
    return values[int((len(values) - 1) * part + 0.5)]


def measurements_of(system):
    """What is measured at once: some rows come from one measurement."""
    deep = {'restart', 'memory', 'disk'}
    return list(dict.fromkeys('depth' if row in deep else row for row in system.rows))


def rows_of(measurement, system):
    if measurement == 'latency':
        return ['latency-p50', 'latency-p99']
    if measurement == 'depth':
        return [row for row in ('restart', 'memory', 'disk') if row in system.rows]
    return [measurement]


def measure_all(bench, systems, wanted, figures):
    order = [row for row in ('submit-one', 'submit-many', 'submit-bulk', 'submit-command', 'latency', 'latency-command', 'drain', 'depth')
             if not wanted or row in wanted]
    for measurement in order:
        for turn in range(1 if measurement == 'depth' else bench.rounds):
            for system in systems:
                rows = rows_of(measurement, system)
                if measurement not in measurements_of(system) or any('absent' in figures[row].get(system.name, {}) for row in rows):
                    continue
                try:
                    for row, values in bench.measure(system, measurement).items():
                        figures[row].setdefault(system.name, {'values': []})['values'] += values
                        print(f'  {row:16} {system.label:24} {", ".join(f"{value:,.2f}" for value in values)}', flush=True)
                except (Absent, Failed, subprocess.TimeoutExpired) as reason:
                    for row in rows:
                        figures[row][system.name] = {'absent': str(reason), 'failed': not isinstance(reason, Absent)}
                    print(f'  {measurement:16} {system.label:24} {reason}', file=sys.stderr, flush=True)


def machine():
    memory = re.search(r'MemTotal: +(\d+)', Path('/proc/meminfo').read_text())
    model = re.search(r'^model name\s*: (.*)', Path('/proc/cpuinfo').read_text(), re.M)
    return {'processors': os.cpu_count(), 'model': model.group(1) if model else platform.machine(),
            'memory_gib': round(int(memory.group(1)) / 2**20), 'kernel': platform.release(), 'load': round(os.getloadavg()[0], 1)}


def main():
    parser = argparse.ArgumentParser(description='Measures Sluice beside other queues; run it by make bench-peers.')
    parser.add_argument('build', help='the folder of a release build')
    parser.add_argument('--json', required=True, metavar='FILE', help='where the result is written')
    parser.add_argument('--seconds', type=float, default=1, help='duration of each measurement of a rate (default: 1)')
    parser.add_argument('--rounds', type=int, default=3, help='number of rounds (default: 3)')
    parser.add_argument('--systems', default='', help='only these, separated by commas; slurm is measured only on request')
    parser.add_argument('--rows', default='', help='only these measurements, separated by commas')
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    wanted = [word for word in options.systems.split(',') if word]
    unknown = set(wanted) - {kind.name for kind in SYSTEMS}
    if unknown:
        parser.error(f'there is no system {", ".join(sorted(unknown))}; there are {", ".join(kind.name for kind in SYSTEMS)}')
    kinds = [kind for kind in SYSTEMS if (kind.name in wanted if wanted else kind.name not in ON_REQUEST)]
    # A path of a socket has at most 107 bytes, the folder of a cluster of Slurm at most 60.
    folder = Path(tempfile.mkdtemp(prefix='p-'))
    try:
        began, before = time.monotonic(), machine()
        bench = Bench(options, folder)
        systems = [kind(bench) for kind in kinds]
        described = [{'name': system.name, 'label': system.label, 'level': system.level, 'durability': system.durability,
                      'missing': system.missing()} for system in systems]
        figures = {name: {} for name, *_ in ROWS}
        for entry, system in zip(described, systems):
            entry['version'] = None if entry['missing'] else system.version()
            if entry['missing']:
                print(f'  {system.label} is not measured: {entry["missing"]}', file=sys.stderr)
        present = [system for entry, system in zip(described, systems) if not entry['missing']]
        measure_all(bench, present, [word for word in options.rows.split(',') if word], figures)
        result = {
            'kind': 'peers', 'date': datetime.date.today().isoformat(), 'took_s': round(time.monotonic() - began),
            'seconds': options.seconds, 'rounds': options.rounds, 'machine': {**before, 'load_after': machine()['load']},
            'systems': described,
            'rows': [{'name': name, 'title': title, 'unit': unit, 'more': more, 'figures': figures[name]}
                     for name, title, unit, more in ROWS if figures[name]],
        }
        Path(options.json).write_text(json.dumps(result, indent=1) + '\n')
        failed = any(figure.get('failed') for row in figures.values() for figure in row.values())
        return 1 if failed else 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == '__main__':
    sys.exit(main())
