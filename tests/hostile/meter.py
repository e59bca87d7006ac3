"""Runs a command as its only child and reports its process and the most memory that it had: `meter.py REPORT ARGV…`.

A process inherits the peak of the one that started it until it runs a program of its own; this one is small.
"""

import os
import signal
import sys

report, argv = sys.argv[1], sys.argv[2:]
child = os.fork()
if child == 0:
    os.execv(argv[0], argv)  # noqa: S606 - no shell is wanted
for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(each, signal.SIG_IGN)
with open(report, "w", encoding="ascii") as file:  # noqa: PTH123 - no more imports than needed
    file.write(f"{child}\n")
_, status, usage = os.wait4(child, 0)
with open(report, "a", encoding="ascii") as file:  # noqa: PTH123
    file.write(f"{usage.ru_maxrss}\n")
os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
