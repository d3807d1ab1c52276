// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package peers;

import io.netty.util.Version;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/** Runs a case of the benchmark on a peer that is written in Java. See bench/peers/README.md. */
public final class Main {
  private record Peer(String version, Map<String, Case> cases) {}

  interface Case {
    void run() throws Exception;
  }

  private static Duration idleTime = Duration.ofMinutes(1);

  public static void main(String[] args) throws Exception {
    Map<String, Peer> peers = peers();
    if (args.length == 1 && args[0].equals("--list")) {
      peers.forEach((peer, p) -> p.cases.forEach((c, run) -> System.out.println(peer + "\t" + c)));
    } else if (args.length == 1 && args[0].equals("--versions")) {
      peers.forEach((peer, p) -> System.out.println(peer + "\t" + p.version));
    } else if (args.length >= 2 && args.length % 2 == 0) {
      int reps = 1;
      for (int i = 2; i < args.length; i += 2) {
        switch (args[i]) {
          case "--reps" -> reps = Integer.parseInt(args[i + 1]);
          case "--seconds" -> idleTime = Duration.ofSeconds(Long.parseLong(args[i + 1]));
          default -> fail("unknown option: " + args[i]);
        }
      }
      Peer peer = peers.get(args[0]);
      if (peer == null || !peer.cases.containsKey(args[1])) {
        fail(args[0] + " does not run " + args[1] + "; --list prints all peers and cases");
      }
      for (int i = 0; i < reps; ++i) {
        peer.cases.get(args[1]).run();
      }
    } else {
      fail("usage: run PEER CASE [--reps N] [--seconds N] | --list | --versions");
    }
    System.exit(0); // Threads that wait must not keep the process running.
  }

  private static Map<String, Peer> peers() {
    String java = "Java " + Runtime.version();
    String netty = Version.identify().get("netty-common").artifactVersion() + ", " + java;

    Map<String, Case> delayQueue = cases(JavaDelayQueue::new);
    delayQueue.put("lateness", () -> DelayCases.lateness(JavaDelayQueue::new));
    delayQueue.put("push_take", JavaDelayQueue::pushTake);
    // The removal of a value takes O(n), so the case has fewer values.
    delayQueue.put("schedule_cancel", () -> CancelCases.run(JavaDelayQueue::new, 10_000));

    // No lateness: with a tick of 100 ms, the figure would only show the tick.
    Map<String, Case> wheel = cases(NettyWheel::new);
    wheel.put("schedule_cancel", () -> CancelCases.run(NettyWheel::new, CancelCases.TASKS));

    Delayer.Maker newFineWheel = () -> new NettyWheel(Duration.ofMillis(1));
    Map<String, Case> fineWheel = cases(newFineWheel);
    fineWheel.put("lateness", () -> DelayCases.lateness(newFineWheel));
    fineWheel.put("schedule_cancel", () -> CancelCases.run(newFineWheel, CancelCases.TASKS));

    Map<String, Peer> peers = new LinkedHashMap<>();
    peers.put("java-delayqueue", new Peer(java, delayQueue));
    peers.put("netty", new Peer(netty, wheel));
    peers.put("netty-1ms", new Peer(netty, fineWheel));
    peers.put("jvm-runtime", new Peer(java, Map.of("idle", () -> Measure.reportIdle(idleTime))));
    return peers;
  }

  private static Map<String, Case> cases(Delayer.Maker maker) {
    Map<String, Case> cases = new LinkedHashMap<>();
    cases.put("add_after_far", () -> DelayCases.addAfterFar(maker));
    cases.put("pending_memory", () -> DelayCases.pendingMemory(maker));
    cases.put("idle", () -> DelayCases.idle(maker, idleTime));
    cases.put("growth", () -> DelayCases.growth(maker));
    return cases;
  }

  private static void fail(String message) {
    System.err.println(message);
    System.exit(2);
  }
}
