# SPDX-License-Identifier: GPL-2.0-only
"""Prints a digest per step; what it prints depends on every step before it.

python.py STEPS [FILE]: with FILE, it goes on until that is there.
"""
import hashlib
import itertools
import os
import queue
import sys
import threading

steps = int(sys.argv[1])
todo, done = queue.Queue(), queue.Queue()


def worker():
    while (item := todo.get()) is not None:
        done.put(hashlib.sha256(item).digest())


thread = threading.Thread(target=worker)
thread.start()
state, seen = b"start", {}
for step in itertools.count():
    if step >= steps and (len(sys.argv) < 3 or os.path.exists(sys.argv[2])):
        break
    for i in range(400):
        state = hashlib.sha256(state + str(i).encode()).digest()
        seen[state[:4]] = seen.get(state[:2], 0.5) * 1.0000001 + i / 3
    big = sum(int.from_bytes(state, "little") ** 3 % p for p in range(1000003, 1000803))
    todo.put(state + str(big).encode())
    state = done.get()
    print(step, state.hex(), f"{sum(seen.values()):.17g}", flush=True)
todo.put(None)
thread.join()
sys.exit(3)
