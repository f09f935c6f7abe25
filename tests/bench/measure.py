#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Measures checkpoints and restarts of Cryo and of its peers on one machine, in one run.

tests/bench/run starts it inside a virtual machine; on a machine with the module loaded it runs as it is,
as root.  What the workloads do is in workload.c.  Figures, each for RUNS runs:

  pause     longest time that a thread of the job did not run, as it sees it itself, in ms
  total     of the command that makes the checkpoint, from its start to its end, in ms
  bytes     of the context (or of all image files), in MiB
  busy      processor time of the whole machine meanwhile, less what it was before, in ms
  extra     memory that was taken meanwhile beside the context, at its peak, in MiB
  first     from the start of the command that restarts to the first step of the job's last process, in ms
  through   ... until all have read all of their memory once, in ms
  second    total of another checkpoint, after 1 % of the memory has changed, in ms
  second_bytes

and the limits of the machine: a write(2) of the same bytes to the same place (on a disk with O_DIRECT, and synced), a
fork() of the same process.
"""
import argparse
import ctypes
import glob
import json
import mmap
import os
import platform
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))

# name: kind, MiB, threads of each process, processes, huge pages
WORKLOADS = {
    "tiny": ("random", 2, 1, 1, False),
    "random": ("random", 1024, 1, 1, False),
    "large": ("random", 4096, 1, 1, False),
    "huge": ("random", 1024, 1, 1, True),
    "halves": ("halves", 1024, 1, 1, False),
    "sparse": ("sparse", 4096, 1, 1, False),
    "threads": ("random", 256, 64, 1, False),
    "thousand": ("random", 16, 1000, 1, False),
    "tree": ("random", 400, 1, 100, False),
    "one": ("one", 1024, 1, 1, False),
    "python": ("python", 256, 1, 1, False),
}
DEFAULT = ["tiny", "random", "huge", "halves", "threads", "thousand", "tree", "one", "python"]
FIGURES = {
    "pause": "ms", "total": "ms", "bytes": "MiB", "busy": "ms", "extra": "MiB", "first": "ms", "through": "ms",
    "second": "ms", "second_bytes": "MiB",
}


class Failure(Exception):
    pass


class Board:
    """The slots of workload.c, one for each process."""
    FIELDS = ["pid", "ready", "last", "gap", "first", "through", "bad", "fork_ns", "pages"]
    SIZE = 128

    def __init__(self, path, count):
        self.path, self.count = path, count
        with open(path, "wb") as f:
            f.truncate(max(count * self.SIZE, mmap.PAGESIZE))
        with open(path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 0)

    def get(self, field):
        at = self.FIELDS.index(field) * 8
        return [struct.unpack_from("<Q", self.map, i * self.SIZE + at)[0] for i in range(self.count)]

    def set(self, field, value):
        at = self.FIELDS.index(field) * 8
        for i in range(self.count):
            struct.pack_into("<Q", self.map, i * self.SIZE + at, value)

    def wait(self, field, good, seconds, given_up=lambda: False):
        """Until the field is good in all slots."""
        end = time.monotonic() + seconds
        while not all(good(value) for value in self.get(field)):
            if given_up():
                raise Failure("the command has failed")
            if time.monotonic() > end:
                raise Failure(f"'{field}' of the job is not as it should be after {seconds} s")
            time.sleep(0.005)


def command(arguments, **options):
    """Runs it; raises when it fails, with what it said."""
    done = subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", check=False, **options)
    if done.returncode != 0:
        raise Failure(f"{' '.join(arguments)} ended with {done.returncode}: {done.stdout.strip()[-2000:]}")
    return done.stdout


def size_of(path):
    if os.path.isfile(path):
        return os.stat(path).st_blocks * 512
    return sum(os.stat(os.path.join(d, f)).st_blocks * 512 for d, _, files in os.walk(path) for f in files)


def free_port():
    with socket.socket() as s:
        s.bind(("localhost", 0))
        return str(s.getsockname()[1])


# ---- tools: each makes a checkpoint at a path, and restarts from it

class Tool:
    def launcher(self, _directory):
        """What the job's command is to begin with."""
        return []

    def kill(self, job):
        """Until nothing is left of it."""
        pids = [pid for pid in job.board.get("pid") if pid] or [job.process.pid]
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        job.process.wait()
        end = time.monotonic() + 60
        while any(os.path.exists(f"/proc/{pid}") for pid in pids):
            if time.monotonic() > end:
                raise Failure("a process of the job cannot be killed")
            time.sleep(0.01)


class Cryo(Tool):
    def __init__(self, options=(), restart_options=()):
        self.options, self.restart_options = list(options), list(restart_options)

    def checkpoint(self, pid, path, before=None):
        parent = ["--parent", before] if before else ["--track"] if before == "" else []
        command(["cr_checkpoint", "--tree", *self.options, *parent, "-f", path, str(pid)])

    def restart(self, path):
        return subprocess.Popen(["cr_restart", *self.restart_options, path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


class Criu(Tool):
    def __init__(self, durable):
        self.durable = durable

    def checkpoint(self, pid, path, before=None):
        os.mkdir(path)
        arguments = ["criu", "dump", "-t", str(pid), "-D", path, "--leave-running", "-o", "dump.log", "-v1"]
        if before == "":
            arguments += ["--track-mem"]
        elif before:
            arguments += ["--track-mem", "--prev-images-dir", os.path.relpath(before, path)]
        command(arguments)
        if self.durable:
            os.sync()

    def restart(self, path):
        return subprocess.Popen(["criu", "restore", "-d", "-D", path, "-o", "restore.log", "-v1"],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


class Dmtcp(Tool):
    """A coordinator for each job and each restart.  Pids are virtual to the job, so that only the coordinator can end it."""

    def __init__(self, durable):
        self.durable = durable
        self.port = self.images = None

    def launcher(self, directory):
        self.port, self.images = free_port(), os.path.join(directory, "images")
        os.mkdir(self.images)
        return ["dmtcp_launch", "--new-coordinator", "-p", self.port, "--no-gzip", "--ckptdir", self.images]

    def checkpoint(self, _pid, path, before=None):
        command(["dmtcp_command", "-p", self.port, "--bcheckpoint"])
        os.mkdir(path)
        for image in glob.glob(os.path.join(self.images, "ckpt_*.dmtcp")):
            os.rename(image, os.path.join(path, os.path.basename(image)))
        if self.durable:
            os.sync()

    def restart(self, path):
        self.port = free_port()
        return subprocess.Popen(["dmtcp_restart", "--new-coordinator", "-p", self.port, "--ckptdir", self.images,
                                 *sorted(glob.glob(os.path.join(path, "ckpt_*.dmtcp")))],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def kill(self, job):
        try:
            command(["dmtcp_command", "-p", self.port, "--quit"])
        except Failure:
            # The coordinator has gone with the last process, or never was.
            if job.process.poll() is None:
                job.process.kill()
                raise
        job.process.wait()


PEERS = {"criu": (Criu, "criu"), "dmtcp": (Dmtcp, "dmtcp_launch")}


def tools(peers, durable):
    """Durable: what they write is on the disk when they are done."""
    sync = [] if durable else ["--nosync"]
    found = {"cryo": Cryo(sync)}
    if "--no-snapshot" in command(["cr_checkpoint", "--help"]):
        found = {"cryo": Cryo([*sync, "--snapshot"]), "cryo, stopped": Cryo([*sync, "--no-snapshot"])}
    if "--no-map" in command(["cr_restart", "--help"]):
        found["cryo, read"] = Cryo([*sync, "--no-snapshot"], ["--no-map"])
    if durable:
        found["cryo, cache"] = Cryo([*sync, "--no-snapshot", "--direct=never"])
    for peer in peers:
        kind, program = PEERS[peer]
        if not shutil.which(program):
            raise Failure(f"{peer} is not installed")
        found[peer] = kind(durable)
    return found


# ---- the machine

def busy_ms():
    """Processor time since boot that was not idle."""
    with open("/proc/stat", encoding="ascii") as f:
        user, nice, system, _, _, irq, softirq = (int(word) for word in f.readline().split()[1:8])
    return (user + nice + system + irq + softirq) * 1000 / os.sysconf("SC_CLK_TCK")


def available_mib():
    with open("/proc/meminfo", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("MemAvailable")) / 1024


class Watch(threading.Thread):
    """The least memory that was available."""

    def __init__(self):
        super().__init__(daemon=True)
        self.before = self.least = available_mib()
        self.end = threading.Event()

    def run(self):
        while not self.end.wait(0.02):
            self.least = min(self.least, available_mib())


# ---- one job

class Job:
    def __init__(self, name, directory, tool):
        self.tool = tool
        # On a disk: what is in memory would be part of the context, and be set back.
        self.files = tempfile.mkdtemp(dir="/var/tmp")
        kind, self.mib, threads, processes, huge = WORKLOADS[name]
        self.board = Board(os.path.join(self.files, "board"), processes)
        environment = dict(os.environ)
        if huge:
            environment["WORKLOAD_HUGE"] = "1"
        if kind == "python":
            program = [sys.executable, os.path.join(HERE, "heap.py"), str(self.mib), self.board.path]
        else:
            program = [os.path.join(HERE, "workload"), kind, str(self.mib), str(threads), str(processes),
                       self.board.path]
        self.process = subprocess.Popen([*tool.launcher(directory), *program], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, cwd="/", env=environment, start_new_session=True)
        self.pid = self.process.pid
        try:
            self.board.wait("ready", lambda value: value == 1, 600)
            # It has read all of its memory once.
            self.board.wait("through", lambda value: value != 0, 600)
        except Failure:
            self.kill()
            raise
        time.sleep(1)

    def kill(self):
        self.tool.kill(self)

    def remove(self):
        shutil.rmtree(self.files)

    def fork_ms(self):
        self.board.set("fork_ns", 1)
        self.board.wait("fork_ns", lambda value: value > 1, 120)
        return max(self.board.get("fork_ns")) / 1e6

    def checkpoint(self, path, before=None):
        """The figures of one checkpoint."""
        begin = busy_ms()
        time.sleep(0.5)
        idle = (busy_ms() - begin) / 0.5
        self.board.set("gap", 0)
        watch = Watch()
        watch.start()
        begin, busy = time.monotonic(), busy_ms()
        self.tool.checkpoint(self.pid, path, before)
        seconds = time.monotonic() - begin
        busy = busy_ms() - busy
        watch.end.set()
        watch.join()
        time.sleep(0.3)
        size = size_of(path) / 2**20
        return {"pause": max(self.board.get("gap")) / 1e6, "total": seconds * 1e3, "bytes": size,
                "busy": max(busy - idle * seconds, 0), "extra": max(watch.before - watch.least - size, 0)}

    def restart(self, path):
        """After kill(): the figures of a restart."""
        self.board.set("through", 0)
        self.board.set("first", 0)
        begin = time.time_ns()
        process = self.tool.restart(path)

        def failed():
            return process.poll() not in (None, 0)
        try:
            self.board.wait("first", lambda value: value != 0, 300, failed)
            self.board.wait("through", lambda value: value != 0, 300, failed)
            if any(self.board.get("bad")):
                raise Failure("memory is not as it was before the checkpoint")
            return {"first": (max(self.board.get("first")) - begin) / 1e6,
                    "through": (max(self.board.get("through")) - begin) / 1e6}
        finally:
            self.process = process
            self.kill()


def use_all(directory):
    """Each free block has been written once: the image of an emulated disk has grown to its full size before
    anything is measured, which takes several times as long as to write."""
    left = os.statvfs(directory)
    direct_ms(directory, max(left.f_bavail * left.f_frsize // 2**20 - 64, 0))


def warm_up(all_tools, directory):
    """What the tools consist of is in memory before anything is measured."""
    for tool in all_tools.values():
        one_run("tiny", tool, directory)


def one_run(name, tool, directory):
    """A fresh job, its checkpoint, its restart."""
    work = os.path.join(directory, "work")
    shutil.rmtree(work, ignore_errors=True)
    os.mkdir(work)
    job = Job(name, work, tool)
    figures, path = {}, os.path.join(work, "context")
    alive = True
    try:
        figures["fork"] = job.fork_ms() if job.board.count == 1 and WORKLOADS[name][0] != "python" else None
        changes = WORKLOADS[name][0] == "one"
        figures.update(job.checkpoint(path, "" if changes else None))
        if changes:
            time.sleep(1)
            again = job.checkpoint(path + "2", path)
            figures.update(second=again["total"], second_bytes=again["bytes"])
            path += "2"
        job.kill()
        alive = False
        figures.update(job.restart(path))
    finally:
        if alive:
            job.kill()
        job.remove()
        shutil.rmtree(work, ignore_errors=True)
    return figures


def write_ms(directory, mib):
    """write(2) of as many bytes that do not compress."""
    block = os.urandom(1 << 20)
    path = os.path.join(directory, "limit")
    begin = time.monotonic()
    with open(path, "wb", buffering=0) as f:
        for _ in range(mib):
            f.write(block)
    seconds = time.monotonic() - begin
    os.unlink(path)
    return seconds * 1e3


def direct_ms(directory, mib):
    """The same with O_DIRECT, until it is on the disk."""
    block = mmap.mmap(-1, 2 << 20)
    block.write(os.urandom(2 << 20))
    path = os.path.join(directory, "limit")
    begin = time.monotonic()
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DIRECT, 0o600)
    for _ in range(max(mib // 2, 1)):
        os.write(fd, block)
    os.fsync(fd)
    os.close(fd)
    seconds = time.monotonic() - begin
    os.unlink(path)
    return seconds * 1e3


def copy_ms(mib):
    """memcpy(3) of memory that is there already."""
    source, target = (ctypes.create_string_buffer(mib << 20) for _ in range(2))
    ctypes.memset(source, 1, mib << 20)
    ctypes.memset(target, 2, mib << 20)
    begin = time.monotonic()
    ctypes.memmove(target, source, mib << 20)
    return (time.monotonic() - begin) * 1e3


# ---- output

def median(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def show(name, results, limits):
    kind, mib, threads, processes, huge = WORKLOADS[name]
    print(f"\n{name}: {kind}, {mib} MiB{' in huge pages' if huge else ''}, {processes} processes, "
          f"{threads} threads each")
    own = results["cryo"]
    for figure, unit in FIGURES.items():
        if not median(own.get(figure, [])) and figure not in ("extra", "busy"):
            continue
        for tool, values in results.items():
            known = [value for value in values.get(figure, []) if value is not None]
            if not known:
                continue
            line = f"  {figure:13}{tool:15}{min(known):11.2f}{median(known):11.2f}{max(known):11.2f} {unit:4}"
            if not tool.startswith("cryo") and median(known):
                line += f"  cryo is {median(own[figure]) / median(known):.3f} of it"
            elif figure == "total":
                line += f"  {median(known) / limits['write'][name]:.2f} times a write"
            elif figure == "pause" and median(own.get("fork", [])):
                line += f"  {median(known) / median(values['fork']):.2f} times fork()"
            elif figure == "bytes" and mib:
                line += f"  {median(known) / mib:.3f} of the memory"
            print(line)
    sys.stdout.flush()


def plot(results, directory):
    """A bar chart for each of the figures that matter most, by gnuplot."""
    for figure in ("pause", "total", "first"):
        names = [name for name in results if median(results[name]["cryo"].get(figure, []))]
        columns = list(results[names[0]]) if names else []
        lines = ["workload\t" + "\t".join(columns)]
        for name in names:
            medians = (median(results[name][tool].get(figure, [])) for tool in columns)
            lines.append(name + "\t" + "\t".join("NaN" if m is None else f"{m:.3f}" for m in medians))
        data = os.path.join(directory, figure + ".tsv")
        with open(data, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        script = f"""
            set terminal svg size 900,420 font 'sans,12' background '#ffffff'
            set output '{os.path.join(directory, figure)}.svg'
            set title '{figure}, median, in {FIGURES[figure]}'
            set datafile separator '\\t'
            set style data histogram
            set style histogram cluster gap 1
            set style fill solid 0.8
            set logscale y
            set grid y
            set key outside top
            plot for [i=2:{len(columns) + 1}] '{data}' using i:xtic(1) title columnheader(i)
            """
        subprocess.run(["gnuplot"], input=script, text=True, check=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--peer", action="append", choices=sorted(PEERS), default=[])
    parser.add_argument("--workload", action="append", choices=sorted(WORKLOADS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json")
    parser.add_argument("--plot")
    parser.add_argument("--directory", default="/dev/shm", help="where contexts go")
    parser.add_argument("--path", help="where else programs are looked for")
    parser.add_argument("--durable", action="store_true", help="they are on the disk when the time is taken")
    arguments = parser.parse_args()
    if arguments.runs < 1:
        parser.error("--runs wants a number of at least 1")
    return arguments


def measure(arguments):
    """Runs of the tools, and writes, take turns: what changes on the machine meanwhile happens to all."""
    results, limits, failed = {}, {"write": {}}, 0
    all_tools = tools(arguments.peer, arguments.durable)
    write = direct_ms if arguments.durable else write_ms
    if arguments.durable:
        use_all(arguments.directory)
    warm_up(all_tools, arguments.directory)
    for name in arguments.workload or DEFAULT:
        results[name] = {tool: {} for tool in all_tools}
        writes = []
        for _ in range(arguments.runs):
            writes.append(write(arguments.directory, WORKLOADS[name][1]))
            for tool, how in all_tools.items():
                try:
                    figures = one_run(name, how, arguments.directory)
                except Failure as error:
                    failed += 1
                    print(f"{name}, {tool}: {error}", file=sys.stderr)
                    continue
                for figure, value in figures.items():
                    results[name][tool].setdefault(figure, []).append(value)
        limits["write"][name] = median(writes)
        show(name, results[name], limits)
    limits["memcpy of 1 GiB"] = median([copy_ms(1024) for _ in range(3)])
    limits["write of 1 GiB"] = median([write(arguments.directory, 1024) for _ in range(3)])
    return results, limits, failed


def main():
    arguments = parse()
    if arguments.path:
        os.environ["PATH"] += ":" + arguments.path
    print(f"Linux {platform.release()}, {os.cpu_count()} processors, contexts in {arguments.directory}; "
          f"minimum, median, maximum of {arguments.runs}")
    try:
        results, limits, failed = measure(arguments)
    except Failure as error:
        sys.exit(f"measure: {error}")
    print(f"\nmemcpy of 1 GiB {limits['memcpy of 1 GiB']:.0f} ms, write(2) of 1 GiB{' with O_DIRECT' if arguments.durable else ''} {limits['write of 1 GiB']:.0f} ms")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as f:
            json.dump({"kernel": platform.release(), "processors": os.cpu_count(), "directory": arguments.directory,
                       "results": results, "limits": limits}, f, indent=1)
    if arguments.plot:
        plot(results, arguments.plot)
    if failed:
        sys.exit(f"measure: {failed} runs failed")


if __name__ == "__main__":
    main()
