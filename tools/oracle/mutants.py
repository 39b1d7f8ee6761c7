"""Compares the verdicts of tools/mutants with the official loader's.

    go run ./tools/mutants -out DIR FILE.pte... > verdicts.jsonl
    python tools/oracle/mutants.py DIR verdicts.jsonl [LISTING]

Each file is loaded with InternalConsistency, then all its methods, in a forked child that is made anew when a damaged
file kills it: a crash counts as a refusal. Every difference has a class, by the rules below. The classes are counted,
and LISTING, if given, gets every file that differs. Exits with 1 when a difference has no class: when we take what the
official loader refuses for a structural reason, or refuse what it takes for a reason that is not listed.
"""

import collections
import json
import os
import re
import sys

# What we take though the official loader refuses it: a name, and what the official loader says.
LOOSER = [
    ("the official loader crashes", r"^crash"),
    ("the wheel has no such kernel", r"^method .*0x:14"),
    ("the wheel has no such backend", r"^method .*0x:20"),
    ("memory of the machine", r"0x:21|bad_alloc"),
    ("the wheel lacks the older form of constants", r"constant_buffer path"),
]

# What we refuse though the official loader takes it: a name, and what we say.
STRICTER = [
    ("text that is not UTF-8", r"is not UTF-8"),
    ("index of a value that is not there", r"index -?\d+, want"),
    ("segment outside of the file", r"outside of the file|in a segment of"),
    ("malformed flatbuffer", r"bad vtable|bad offset|member without a value"),
    ("negative size", r"size -\d+ is negative"),
    ("kernel with too few arguments", r"has \d+ arguments, want"),
    ("operator whose name goes on after a zero byte", r"no kernel for .*OperatorMissing"),
    ("list of mixed values", r"item \d+ has type"),
    ("kernel that writes a constant or no tensor", r"no writable tensor"),
    ("tensor that no kernel could read", r"element type, offset, rank or layout|is not a multiple of \d+ bytes"),
    # The official runtime finds these when the kernel runs, ours when it prepares the kernel.
    ("call that would fail", r"load instruction \d+: (prepare \S+: |\S+: argument |\S+: output \d+ does not have|move of )"),
    ("more memory than allowed", r"MemoryAllocationFailed"),
]


class Official:
    """A child process that loads files, made anew after a crash."""

    def __init__(self):
        self.pid = None

    def start(self):
        ask, self.ask = os.pipe()
        self.tell, tell = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.ask)
            os.close(self.tell)
            serve(ask, tell)
            os._exit(0)
        os.close(ask)
        os.close(tell)

    def verdict(self, path):
        if self.pid is None:
            self.start()
        os.write(self.ask, path.encode() + b"\n")
        answer = os.read(self.tell, 4096)  # a line is shorter than what a pipe writes at once
        if answer:
            return answer.decode(errors="replace").strip()
        _, status = os.waitpid(self.pid, 0)
        os.close(self.ask)
        os.close(self.tell)
        self.pid = None
        return f"crash {status}"


def serve(ask, tell):
    """Answers every path of ask with a line on tell."""
    log = os.memfd_create("log")
    os.dup2(log, 1)
    os.dup2(log, 2)
    with os.fdopen(ask) as paths:
        for path in paths:
            os.ftruncate(log, 0)
            os.lseek(log, 0, os.SEEK_SET)
            answer = load(path.strip(), log)
            os.write(tell, answer.replace("\n", " ").encode()[:1000] + b"\n")


def load(path, log):
    """ "ok", or the stage that fails and why."""
    stage = "program"
    try:
        program = RUNTIME.load_program(path, verification=Verification.InternalConsistency)
        stage = "method"
        for name in program.method_names:
            program.load_method(name)
        return "ok"
    except BaseException as e:
        said = os.pread(log, 1 << 16, 0).decode(errors="replace")
        if "constant_buffer path" in said:
            return stage + " constant_buffer path"
        return f"{stage} {e} | {reason(said)}"


def reason(log):
    """The first complaint in the runtime's log, without place and numbers of the thread."""
    for line in log.splitlines():
        text = re.sub(r"^.*?\[[\w.]+:\d+\] ?", "", line).strip()
        if text and "cpuinfo" not in line:
            return text[:200]
    return ""


def class_of(rules, text):
    """The name of the first rule that fits, or None."""
    return next((name for name, pattern in rules if re.search(pattern, text)), None)


def main(folder, verdicts, listing=os.devnull):
    official = Official()
    counts = collections.Counter()
    bad = 0
    with open(verdicts) as lines, open(listing, "w") as out:
        for line in lines:
            ours = json.loads(line)
            theirs = official.verdict(f"{folder}/{ours['file']}")
            if ours["ok"] == (theirs == "ok"):
                counts["both take it" if ours["ok"] else "both refuse it"] += 1
                continue
            side, rules, text = ("looser", LOOSER, theirs) if ours["ok"] else ("stricter", STRICTER, ours["error"])
            name = class_of(rules, text)
            counts[f"{side}: {name or 'NO CLASS'}"] += 1
            print(f"{ours['file']} {side}: {name}: {text}", file=out)
            if name is None:
                bad += 1
                print(f"{ours['file']} {side}, without a class: {text}")
    for name, n in sorted(counts.items()):
        print(f"{n:6} {name}")
    return 1 if bad else 0


if __name__ == "__main__":
    from executorch.runtime import Runtime, Verification
    import executorch.extension.llm.custom_ops.custom_ops  # noqa: F401 registers the llama operators
    import executorch.kernels.quantized  # noqa: F401 registers the quantized_decomposed operators

    RUNTIME = Runtime.get()
    sys.exit(main(*sys.argv[1:]))
