# SPDX-License-Identifier: GPL-2.0-only
"""A client of redis that notes each write that the server has acknowledged, and looks for all of them at the
end.  Writes go out in batches, so that requests and answers are under way at any moment."""
import hashlib
import random
import socket
import sys

BATCH = 24


def connect(where):
    if where.startswith("/"):
        s = socket.socket(socket.AF_UNIX)
        s.connect(where)
        return s
    return socket.create_connection(("127.0.0.1", int(where)))


class Client:
    def __init__(self, where):
        self.socket = connect(where)
        self.answers = self.socket.makefile("rb")

    def send(self, commands):
        out = []
        for words in commands:
            out.append(b"*%d\r\n" % len(words))
            for word in words:
                data = word if isinstance(word, bytes) else str(word).encode()
                out.append(b"$%d\r\n%s\r\n" % (len(data), data))
        self.socket.sendall(b"".join(out))

    def answer(self):
        line = self.answers.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest
        if kind == b":":
            return int(rest)
        if kind == b"$":
            if int(rest) < 0:
                return None
            return self.answers.read(int(rest) + 2)[:-2]
        raise RuntimeError("the server says %r" % line)

    def do(self, *words):
        self.send([words])
        return self.answer()


def main():
    rounds, where = int(sys.argv[1]), sys.argv[2:]
    clients = [Client(w) for w in where]
    rng = random.Random(42)
    acknowledged = {}
    counters = {}
    for i in range(rounds):
        batches = []
        for n, client in enumerate(clients):
            batch = []
            for _ in range(BATCH):
                key = "c%d:%d" % (n, rng.randrange(2000))
                batch.append(("SET", key, "%d:%s" % (i, "x" * rng.randrange(200))))
            batch.append(("INCR", "counter%d:%d" % (n, i % 7)))
            client.send(batch)
            batches.append(batch)
        for client, batch in zip(clients, batches):
            for command in batch:
                got = client.answer()
                if command[0] == "SET":
                    assert got == b"OK", got
                    acknowledged[command[1]] = command[2].encode()
                else:
                    counters[command[1]] = counters.get(command[1], 0) + 1
                    assert got == counters[command[1]], (command, got)
        if i % 100 == 0:
            print("round", i, flush=True)
    for key, value in acknowledged.items():
        assert clients[0].do("GET", key) == value, key
    for key, value in counters.items():
        assert int(clients[-1].do("GET", key)) == value, key
    digest = hashlib.sha256(repr(sorted(acknowledged.items())).encode()).hexdigest()
    print("keys", clients[0].do("DBSIZE"), "digest", digest)


main()
