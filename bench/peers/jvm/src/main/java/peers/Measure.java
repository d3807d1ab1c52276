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

/** Taking and reporting figures. */
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

  /** Runs the pass for as long as the compiler takes to have compiled it as well as it can. */
  static void warmUp(Pass pass) throws InterruptedException {
    long start = System.nanoTime();
    while (System.nanoTime() - start < WARM_UP_NANOS) {
      pass.run();
    }
  }

  /** Returns how many nanoseconds one of the n operations of a pass takes. */
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

  /** What was allocated before the time is taken is not collected while it is. */
  static long begin() {
    System.gc();
    return System.nanoTime();
  }

  static double nsEach(long start, long n) {
    return (double) (System.nanoTime() - start) / n;
  }

  record Memory(long resident, long heap) {}

  /** What this process uses when it has collected its garbage and given back what it can. */
  static Memory memory() throws IOException {
    var options = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
    options.setVMOption("MinHeapFreeRatio", "0");
    options.setVMOption("MaxHeapFreeRatio", "0");
    // What one collection empties, the next ones give back.
    for (int i = 0; i < 3; ++i) {
      System.gc();
    }
    String statm = Files.readString(Path.of("/proc/self/statm"));
    long pages = Long.parseLong(statm.split(" ")[1]);
    return new Memory(
        pages * PAGE_SIZE, ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed());
  }

  /** Reports what the process costs a minute when nobody asks it for anything. */
  static void reportIdle(Duration idleTime) throws IOException, InterruptedException {
    Thread.sleep(1000); // For what starting it leaves to be done.
    Activity before = activity();
    Thread.sleep(idleTime.toMillis());
    Activity after = activity();
    double minutes = idleTime.toMillis() / 60e3;
    report("idle_wakeups", (after.wakeups - before.wakeups) / minutes, "1/min");
    report("idle_cpu", (after.cpuNanos - before.cpuNanos) / 1e3 / minutes, "us/min");
  }

  /** How often the threads of this process went to sleep of themselves, and their CPU time. */
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
