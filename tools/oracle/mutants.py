"""Compares the verdicts of tools/mutants with the official loader's.

    go run ./tools/mutants -out DIR FILE.pte... > verdicts.jsonl
    python tools/oracle/mutants.py DIR verdicts.jsonl [taken]

With `taken` only the files that we take are loaded.

Each file is loaded with InternalConsistency and all its methods are loaded, in worker processes, since a damaged file
may crash the official runtime: a crash counts as a refusal. Exits with 1 when we take a file that the loader refuses,
other than for a kernel or backend that it lacks, a delegate's payload, or memory, which are not the reader's to judge.
"""

import json
import subprocess
import sys

# "constant_buffer path" is what the official wheel says of the older form of constants, which we read.
LATER = ("0x:14", "0x:20", "0x:30", "std::bad_alloc", "constant_buffer path")

WORKER = """
import os, sys, tempfile
log = tempfile.TemporaryFile()
os.dup2(log.fileno(), 2)
from executorch.runtime import Runtime, Verification
runtime = Runtime.get()
for line in sys.stdin:
    stage = "program"
    os.ftruncate(2, 0)
    os.lseek(2, 0, os.SEEK_SET)
    try:
        program = runtime.load_program(line.strip(), verification=Verification.InternalConsistency)
        stage = "method"
        for name in program.method_names:
            program.load_method(name)
        print("verdict ok", flush=True)
    except BaseException as e:
        said = os.pread(log.fileno(), 1 << 16, 0)
        why = "constant_buffer path" if b"constant_buffer path" in said else str(e).replace(chr(10), " ")[:200]
        print("verdict", stage, why, flush=True)
"""


class Official:
    """A worker process that is started again after a crash."""

    def __init__(self):
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, errors="replace")

    def verdict(self, path):
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(path + "\n")
            self.process.stdin.flush()
            for line in self.process.stdout:
                if line.startswith("verdict "):
                    return line[8:].strip()
        except BrokenPipeError:
            pass
        code = self.process.wait()
        self.process = None
        return f"crash {code}"


def main(folder, verdicts, only=None):
    official = Official()
    counts = {}
    bad = 0
    for line in open(verdicts):
        ours = json.loads(line)
        if only == "taken" and not ours["ok"]:
            continue
        theirs = official.verdict(f"{folder}/{ours['file']}")
        key = ("take" if ours["ok"] else "refuse", theirs.split()[0])
        counts[key] = counts.get(key, 0) + 1
        if ours["ok"] and theirs != "ok" and not theirs.endswith(LATER):
            bad += 1
            print(ours["file"], theirs)
        elif not ours["ok"] and theirs == "ok":
            print(ours["file"], "stricter:", ours["error"])
    for (we, they), n in sorted(counts.items()):
        print(f"we {we}, official {they}: {n}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
