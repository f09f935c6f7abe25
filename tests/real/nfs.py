# SPDX-License-Identifier: GPL-2.0-only
# Works with files on a network file system in all the ways that matter to one: appending, mapped, locked, and
# removed while they are open, which such file systems only pretend.
import fcntl
import hashlib
import mmap
import os
import sys
import time

STEPS = int(sys.argv[1])
PAGES = 64

log = open("log", "a+")
lock = open("lock", "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
gone = open("gone", "w+b", buffering=0)
os.remove("gone")
table = open("table", "w+b")
table.truncate(PAGES * mmap.PAGESIZE)
view = mmap.mmap(table.fileno(), 0)

for step in range(STEPS):
    record = hashlib.sha256(b"%d" % step).digest()
    log.write(record.hex() + "\n")
    log.flush()
    gone.seek(step * len(record))
    gone.write(record)
    at = step % PAGES * mmap.PAGESIZE + step % 100 * 32
    view[at:at + 32] = record
    time.sleep(0.02)


def is_locked():
    """To another process."""
    pid = os.fork()
    if pid == 0:
        try:
            fcntl.lockf(open("lock", "w"), fcntl.LOCK_EX | fcntl.LOCK_NB)
            os._exit(0)
        except OSError:
            os._exit(1)
    return os.waitpid(pid, 0)[1] != 0


gone.seek(0)
print("removed file", hashlib.sha256(gone.read()).hexdigest(), os.path.exists("gone"))
print("mapped file", hashlib.sha256(view[:]).hexdigest())
print("locked", is_locked())
