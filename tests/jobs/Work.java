// SPDX-License-Identifier: GPL-2.0-only
import java.util.ArrayList;
import java.util.Map;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;

/** Twenty threads that compute, make garbage, wait for each other, and time out. */
public class Work {
    static final int THREADS = 20;
    static final AtomicLong sum = new AtomicLong();
    static final ConcurrentHashMap<Integer, Long> table = new ConcurrentHashMap<>();

    static long work(int me, int step) {
        ArrayList<byte[]> garbage = new ArrayList<>();
        long digest = me * 31L + step;
        for (int i = 0; i < 40; i++) {
            byte[] block = new byte[4096 + (i * 97) % 2000];
            for (int k = 0; k < block.length; k += 16) {
                digest = digest * 6364136223846793005L + 1442695040888963407L;
                block[k] = (byte) (digest >>> 56);
            }
            garbage.add(block);
            if (i % 5 == 4) garbage.remove(0);
        }
        for (byte[] block : garbage) digest = digest * 31 + block[block.length / 16 * 16 - 16];
        return digest;
    }

    public static void main(String[] args) throws Exception {
        int steps = Integer.parseInt(args[0]);
        CyclicBarrier barrier = new CyclicBarrier(THREADS);
        SynchronousQueue<String> lines = new SynchronousQueue<>();
        Thread[] threads = new Thread[THREADS];
        for (int t = 0; t < THREADS; t++) {
            int me = t;
            threads[t] = new Thread(() -> {
                try {
                    for (int step = 1; step <= steps; step++) {
                        long digest = work(me, step);
                        sum.addAndGet(digest);
                        table.merge(me, digest, (a, b) -> a * 31 + b);
                        if (me == 3) Thread.sleep(5);
                        if (me == 4) new LinkedBlockingQueue<String>().poll(3, TimeUnit.MILLISECONDS);
                        barrier.await();
                        if (me == 0 && step % 10 == 0)
                            lines.put("step " + step + " " + Long.toHexString(sum.get()));
                        barrier.await();
                    }
                } catch (Exception e) {
                    e.printStackTrace();
                    System.exit(1);
                }
            }, "worker-" + t);
            threads[t].start();
        }
        for (int i = 0; i < steps / 10; i++) System.out.println(lines.take());
        for (Thread t : threads) t.join();
        long all = 0;
        for (Map.Entry<Integer, Long> e : table.entrySet()) all = all * 17 + e.getKey() * 31 + e.getValue();
        System.out.println("threads " + table.size() + " " + Long.toHexString(all));
        Process child = new ProcessBuilder("cat").start();
        child.getOutputStream().write("through a child\n".getBytes());
        child.getOutputStream().close();
        System.out.print(new String(child.getInputStream().readAllBytes()));
        System.exit(child.waitFor());
    }
}
