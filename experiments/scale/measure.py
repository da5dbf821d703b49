"""Seconds and peak memory of a command, as the system accounts for them.

    python measure.py REPORT.json LIMIT COMMAND...

Linux counts the memory that a process had before it became another program. So the command is started by this small
program, not by a caller that holds tables: what is reported is never less than the 10 MB of a bare interpreter.
"""

import json
import os
import signal
import sys
import time


def main() -> None:
    report, limit, *command = sys.argv[1:]
    start = time.perf_counter()
    child = os.posix_spawnp(command[0], command, os.environ)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    signal.alarm(int(limit))
    _, status, used = os.wait4(child, 0)
    seconds = time.perf_counter() - start
    with open(report, "w") as file:
        json.dump({
            "seconds": round(seconds, 3),
            "cpu_seconds": round(used.ru_utime + used.ru_stime, 3),
            "peak_mb": round(used.ru_maxrss * 1024 / 1e6, 1),
            "exit": os.waitstatus_to_exitcode(status),
        }, file)


if __name__ == "__main__":
    main()
