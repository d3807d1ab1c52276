// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package peers;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;

/** Functions that measure and report figures. */
final class Measure {
  interface Pass {
    void run() throws InterruptedException;
  }

  private static final long WARM_UP_NANOS = 3_000_000_000L;
  private static final long MEASURED_NANOS = 500_000_000L;
  private static final int PAGE_SIZE = 4096;

  static void report(String name, double value, String unit) {
    System.out.printf(Locale.ROOT, "%s\t%.1f\t%s%n", name, value, unit);
  }

  /** Runs the pass for 3 s, which is enough for the compiler to optimize it fully. */
  static void warmUp(Pass pass) throws InterruptedException {
    long start = System.nanoTime();
    while (System.nanoTime() - start < WARM_UP_NANOS) {
      pass.run();
    }
  }

  /** Returns the nanoseconds of one operation. {@code pass} does n operations. */
  static double nsPerOp(long n, Pass pass) throws InterruptedException {
    warmUp(pass);
    long passes = 0;
    long start = begin();
    while (System.nanoTime() - start < MEASURED_NANOS) {
      pass.run();
      ++passes;
    }
    return nsEach(start, n * passes);
  }

  /**
   * Collects the garbage, so that the measurement does not include the collection. Returns the
   * start time of a measurement.
   */
  static long begin() {
    System.gc();
    return System.nanoTime();
  }

  static double nsEach(long start, long n) {
    return (double) (System.nanoTime() - start) / n;
  }

  record Memory(long resident, long heap) {}

  /**
   * Returns the memory of this process, after it has collected its garbage and has returned unused
   * memory to the system.
   */
  static Memory memory() throws IOException {
    var options = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
    options.setVMOption("MinHeapFreeRatio", "0");
    options.setVMOption("MaxHeapFreeRatio", "0");
    // The first collection frees memory. The next ones return it to the system.
    for (int i = 0; i < 3; ++i) {
      System.gc();
    }
    String statm = Files.readString(Path.of("/proc/self/statm"));
    long pages = Long.parseLong(statm.split(" ")[1]);
    return new Memory(
        pages * PAGE_SIZE, ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed());
  }

  /** Observes the idle process for {@code idleTime}, and reports its cost in a minute. */
  static void reportIdle(Duration idleTime) throws IOException, InterruptedException {
    Thread.sleep(1000); // Until the work of starting has ended.
    Activity before = activity();
    Thread.sleep(idleTime.toMillis());
    Activity after = activity();
    double minutes = idleTime.toMillis() / 60e3;
    report("idle_wakeups", (after.wakeups - before.wakeups) / minutes, "1/min");
    report("idle_cpu", (after.cpuNanos - before.cpuNanos) / 1e3 / minutes, "us/min");
  }

  /** The voluntary context switches and the CPU time of all threads of this process. */
  private record Activity(long wakeups, long cpuNanos) {}

  private static Activity activity() throws IOException {
    long wakeups = 0;
    long cpuNanos = 0;
    try (DirectoryStream<Path> threads = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
      for (Path thread : threads) {
        cpuNanos += Long.parseLong(Files.readString(thread.resolve("schedstat")).split(" ")[0]);
        for (String line : Files.readAllLines(thread.resolve("status"))) {
          if (line.startsWith("voluntary_ctxt_switches:")) {
            wakeups += Long.parseLong(line.split("\\s+")[1]);
          }
        }
      }
    }
    return new Activity(wakeups, cpuNanos);
  }

  private Measure() {}
}
