# SPDX-License-Identifier: GPL-2.0-only
"""Fetches pages from nginx in four threads, and looks at every byte."""
import gzip
import hashlib
import http.client
import sys
import threading

STEPS = int(sys.argv[1])
PAGES = [b"".join(b"page %d line %d %x\n" % (n, i, i * i * 7919) for i in range(200 * (n + 1))) for n in range(6)]
failures = []


def fetch(connection, path, zipped):
    headers = {"Accept-Encoding": "gzip"} if zipped else {}
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    if answer.getheader("Content-Encoding") == "gzip":
        body = gzip.decompress(body)
    return answer.status, body


def work(me):
    kept = http.client.HTTPConnection("127.0.0.1", 7380, timeout=300)
    for i in range(STEPS):
        page = (me + i) % len(PAGES)
        through = "/through" if i % 3 == 2 else ""
        new = i % 4 == 3
        connection = http.client.HTTPConnection("127.0.0.1", 7380, timeout=300) if new else kept
        status, body = fetch(connection, "%s/page%d?name=%d" % (through, page, me), i % 2)
        if status != 200 or body != PAGES[page]:
            failures.append((me, i, status, len(body)))
        if new:
            connection.close()


threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("pages", 4 * STEPS, "failures", failures)
print(hashlib.sha256(b"".join(PAGES)).hexdigest())
