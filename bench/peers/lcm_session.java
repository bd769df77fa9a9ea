// LCM over all pairs of items: LCMFreq of SPMF, which finds all itemsets. A session as in peer_session.py; the statement is
// "pairs". lcm.sh builds it.
//
// The transactions become a data set of SPMF when loaded. The itemsets of at most two items are kept in memory as objects. The
// pairs are counted and their supports summed outside of the time.
import ca.pfv.spmf.algorithms.frequentpatterns.lcm.AlgoLCMFreq;
import ca.pfv.spmf.algorithms.frequentpatterns.lcm.Dataset;
import ca.pfv.spmf.patterns.itemset_array_integers_with_count.Itemset;
import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeSet;

class LcmSession {
  // One transaction a line, its items in order; the rows of a transaction follow each other.
  static Dataset read(String path) throws IOException {
    Path transactions = Files.createTempFile(Path.of(System.getenv().getOrDefault("TMPDIR", "/tmp")), "lcm", null);
    try {
      try (BufferedReader rows = Files.newBufferedReader(Path.of(path));
          PrintWriter out = new PrintWriter(Files.newBufferedWriter(transactions))) {
        TreeSet<Integer> items = new TreeSet<>();
        String last = null;
        for (String row; (row = rows.readLine()) != null;) {
          String[] values = row.split("\t");
          if (!values[0].equals(last)) {
            print(items, out);
            last = values[0];
          }
          items.add(Integer.valueOf(values[1]));
        }
        print(items, out);
      }
      return new Dataset(transactions.toString());
    } finally {
      Files.delete(transactions);
    }
  }

  static void print(TreeSet<Integer> items, PrintWriter out) {
    if (items.isEmpty()) return;
    StringBuilder line = new StringBuilder();
    for (int item : items) line.append(line.length() == 0 ? "" : " ").append(item);
    out.println(line);
    items.clear();
  }

  public static void main(String[] arguments) throws IOException {
    Thread.setDefaultUncaughtExceptionHandler((thread, error) -> {
      System.err.println("lcm: " + error);
      Runtime.getRuntime().halt(1);
    });
    OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    Dataset dataset = null;
    for (String line; (line = in.readLine()) != null;) {
      long cpuNs = 0, wallNs = 0;
      if (line.startsWith("\\echo ")) {
        System.out.println(line.substring(6));
        continue;
      } else if (line.startsWith("load ")) {
        dataset = read(line.substring(5));
      } else if (line.equals("version")) {
        System.out.println(arguments[0]);
      } else {
        AlgoLCMFreq lcm = new AlgoLCMFreq();
        lcm.setMaximumPatternLength(2);
        // A fraction of the transactions, rounded up: a support of one.
        double support = 0.5 / dataset.getTransactions().size();
        cpuNs = -system.getProcessCpuTime();
        wallNs = -System.nanoTime();
        List<List<Itemset>> levels = lcm.runAlgorithm(support, dataset, null).getLevels();
        cpuNs += system.getProcessCpuTime();
        wallNs += System.nanoTime();
        List<Itemset> pairs = levels.size() > 2 ? levels.get(2) : List.of();
        System.out.println(pairs.size() + "|" + pairs.stream().mapToLong(Itemset::getAbsoluteSupport).sum());
      }
      System.out.printf("CPU: %.3f ms%nTime: %.3f ms%n", cpuNs / 1e6, wallNs / 1e6);
    }
  }
}
