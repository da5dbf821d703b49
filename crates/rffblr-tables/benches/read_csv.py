"""Time and peak memory of reading a numeric CSV file: this crate against pandas.

    cargo build --release --example read_csv
    python crates/rffblr-tables/benches/read_csv.py target/release/examples/read_csv [--rows 1000000] [--columns 20] [--repeats 5]

Both run in processes of their own, in turn, on the same files: one with all 17 digits of a normal draw, one
with four decimals. Memory is the peak resident size of the process; that of an interpreter which only loads
pandas is shown for comparison. pandas from 3.1 on reads large files with several threads, and so does this
crate; RAYON_NUM_THREADS=1 and --pandas-threads 1 compare one thread with one.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

PANDAS = """
import sys, time
import pandas
if sys.argv[2] != "0":
    pandas.set_option("mode.max_threads", int(sys.argv[2]))
start, cpu = time.perf_counter(), time.process_time()
table = pandas.read_csv(sys.argv[1], engine="c")
seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
print(len(table), table.shape[1], repr(float(table.sum().sum())), f"{seconds:.3f}", f"{cpu:.3f}")
"""


# In a process of its own: a child starts with the peak memory of the parent that made it.
MAKE = """
import sys
import numpy, pandas
path, rows, columns, form = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] or None
values = numpy.random.default_rng(1).normal(size=(rows, columns))
frame = pandas.DataFrame(values, columns=[f"x{i}" for i in range(columns)])
frame.to_csv(path, index=False, float_format=form)
"""


def run(command):
    """Output words of a process, its CPU seconds and its peak memory in MB."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    words = child.stdout.read().split()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"failed: {command}")
    return words, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", help="the built example read_csv")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--pandas-threads", type=int, default=0, help="0: as pandas decides")
    parser.add_argument("--folder", default=None, help="where the files are made (default: a temporary folder)")
    options = parser.parse_args()

    version, _, idle = run([sys.executable, "-c", "import pandas; print(pandas.__version__)"])
    print(f"pandas {version[0]}, interpreter with pandas loaded: {idle:.0f} MB")
    print(f"numbers alone: {options.rows * options.columns * 8 / 2**20:.0f} MB")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for kind, form in [("17 digits", ""), ("4 decimals", "%.4f")]:
            path = os.path.join(folder, "table.csv")
            run([sys.executable, "-c", MAKE, path, str(options.rows), str(options.columns), form])
            print(f"{kind}: file of {os.path.getsize(path) / 2**20:.0f} MB")
            results = {"this crate": [], "pandas": []}
            for _ in range(options.repeats):
                words, cpu, peak = run([options.program, path])
                results["this crate"].append((words + [cpu], cpu, peak))
                results["pandas"].append(run([sys.executable, "-c", PANDAS, path, str(options.pandas_threads)]))
            for name, runs in results.items():
                seconds = [float(words[3]) for words, _, _ in runs]
                cpu = [float(words[4]) for words, _, _ in runs]
                peak = max(peak for _, _, peak in runs)
                print(
                    f"  {name:10} wall median {statistics.median(seconds):.2f} s (min {min(seconds):.2f}), "
                    f"CPU median {statistics.median(cpu):.2f} s (min {min(cpu):.2f}), "
                    f"peak {peak:.0f} MB, sum {runs[0][0][2]}"
                )


if __name__ == "__main__":
    main()
