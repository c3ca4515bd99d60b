"""Runs a server, next to a thread `collector-7` that uses CPU time: `background_thread.py COMMAND...`."""

import ctypes
import subprocess
import sys
import threading
import time

PR_SET_NAME = 15


def collect():
    ctypes.CDLL(None).prctl(PR_SET_NAME, b"collector-7", 0, 0, 0)
    while True:
        end = time.thread_time() + 0.002
        while time.thread_time() < end:
            pass
        time.sleep(0.001)


threading.Thread(target=collect, daemon=True).start()
sys.exit(subprocess.call(sys.argv[1:]))
