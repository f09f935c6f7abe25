#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""heap.py MIB BOARD: Python with a large heap, half of it in arrays and half in small objects.

Ticks as workload.c does, in the first slot of BOARD.
"""
import array
import mmap
import os
import struct
import sys
import time
import zlib

PID, READY, LAST, GAP, FIRST, THROUGH, BAD = range(7)


def main():
    mib = int(sys.argv[1])
    with open(sys.argv[2], "r+b") as f:
        board = mmap.mmap(f.fileno(), 0)

    def get(field):
        return struct.unpack_from("<Q", board, field * 8)[0]

    def put(field, value):
        struct.pack_into("<Q", board, field * 8, value)

    put(PID, os.getpid())
    # An emulator takes minutes to make each number by itself.
    numbers = array.array("d", (i * 0.5 for i in range(131072)))
    arrays = [numbers[n:] + numbers[:n] for n in range(mib // 2)]
    objects = {f"key{i}": [i, str(i * 7919)] for i in range(mib * 2000)}
    sums = [zlib.crc32(values) for values in arrays]
    put(READY, 1)
    last = first = 0
    while True:
        now = time.time_ns()
        if last and now - last > get(GAP):
            put(GAP, now - last)
        last = now
        put(LAST, now)
        if not get(FIRST):
            put(FIRST, time.time_ns())  # `now` may be from before a checkpoint
        if get(FIRST) != first:
            first = get(FIRST)
            bad = sum(zlib.crc32(values) != want for values, want in zip(arrays, sums))
            bad += sum(value[1] != str(value[0] * 7919) for value in objects.values())
            put(BAD, get(BAD) + bad)
            put(THROUGH, time.time_ns())
            last = 0
        time.sleep(0.001)


main()
