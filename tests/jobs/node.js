// SPDX-License-Identifier: GPL-2.0-only
// Timers, a child process that is talked to, two worker threads with shared memory, and files, at once.
'use strict';
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const { fork, spawn } = require('child_process');
const crypto = require('crypto');
const fs = require('fs');
const net = require('net');

const steps = Number(process.argv[2] || 100);
const digest = (text) => crypto.createHash('sha256').update(text).digest('hex').slice(0, 16);

if (!isMainThread) {
  const counter = new Int32Array(workerData.shared);
  let text = 'worker ' + workerData.id;
  parentPort.on('message', (step) => {
    for (let i = 0; i < 300; ++i) text = digest(text + i);
    Atomics.add(counter, workerData.id, step);
    parentPort.postMessage(text);
  });
} else if (process.argv[3] === 'child') {
  let sum = 0;
  process.on('message', (m) => {
    if (m.end) { process.disconnect(); return; }
    sum += m.step;
    process.send({ step: m.step, sum });
  });
} else {
  main().catch((e) => { console.error(e); process.exit(1); });
}

function answers(emitter) {
  const waiting = [];
  emitter.on('message', (m) => waiting.shift()(m));
  return (send) => new Promise((resolve) => { waiting.push(resolve); send(); });
}

async function main() {
  const shared = new SharedArrayBuffer(16);
  const counter = new Int32Array(shared);
  const workers = [0, 1].map((id) => new Worker(__filename, { workerData: { shared, id } }));
  const asks = workers.map(answers);
  const child = fork(__filename, [String(steps), 'child']);
  const askChild = answers(child);
  const cat = spawn('cat', { stdio: ['pipe', 'pipe', 'inherit'] });
  let echoed = '';
  cat.stdout.on('data', (d) => { echoed += d; });
  const server = net.createServer((c) => c.pipe(c));
  await new Promise((r) => server.listen(0, '127.0.0.1', r));
  const client = net.connect(server.address().port, '127.0.0.1');
  let bounced = 0;
  client.on('data', (d) => { bounced += d.length; });
  let ticks = 0;
  const interval = setInterval(() => { ++ticks; }, 10);
  let text = '';
  for (let step = 1; step <= steps; ++step) {
    const results = await Promise.all([
      ...workers.map((w, n) => asks[n](() => w.postMessage(step))),
      askChild(() => child.send({ step })),
      new Promise((r) => setTimeout(r, 20, 'timer')),
      fs.promises.readFile(__filename).then((b) => b.length),
      new Promise((r, j) => crypto.pbkdf2('p', 's', 500 + step, 16, 'sha1', (e, k) => e ? j(e) : r(k.toString('hex')))),
    ]);
    cat.stdin.write('line ' + step + '\n');
    client.write('x'.repeat(1000));
    text = digest(text + JSON.stringify(results));
    if (step % 10 === 0) console.log(step, text, Atomics.load(counter, 0), Atomics.load(counter, 1));
  }
  clearInterval(interval);
  cat.stdin.end();
  await new Promise((r) => cat.on('close', r));
  client.end();
  await new Promise((r) => client.on('close', r));
  server.close();
  const left = new Promise((r) => child.on('exit', r));
  child.send({ end: true });
  console.log('child', await left, digest(echoed), bounced, ticks > 0);
  await Promise.all(workers.map((w) => w.terminate()));
}
