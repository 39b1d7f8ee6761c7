package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/rules-pte/rules_pte/bench/table"
)

// newReport says where and when, and with which versions.
func newReport(k *kit, o *options) *report {
	rep := &report{Machine: machine(), Date: time.Now().UTC().Format(time.DateOnly), Rounds: o.rounds, Versions: map[string]string{"go": runtime.Version()}}
	if rev, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output(); err == nil {
		rep.Versions["rules_pte"] = string(bytes.TrimSpace(rev))
	}
	if k.python == "" {
		return rep
	}
	for _, name := range []string{"executorch", "torch", "onnxruntime", "onnxscript"} {
		out, err := exec.Command(k.python, "-c", "import importlib.metadata as m; print(m.version('"+name+"'))").Output()
		if err == nil {
			rep.Versions[name] = string(bytes.TrimSpace(out))
		}
	}
	return rep
}

// machine is the processor's name and the number of cores.
func machine() string {
	name := runtime.GOARCH
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			name = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%s, %d cores, %s", name, runtime.NumCPU(), runtime.GOOS)
}

// intro says what the page's tables are; the verbs are rounds, machine, load average, date and versions.
const intro = `# Benchmarks

How fast models run, made by

    go run ./bench/models --sets ../shared/zoo/ready:LARGER --python PYTHON --threads 1,2 --markdown docs/benchmarks.md --floors bench/models/floors.json

where LARGER has the larger models of the zoo's ` + "`export.py`" + `. How fast they are lowered is in [lowering.md](lowering.md).

Medians of %d turns, the sides one after the other, on %s.
The load average was %s at the end, on %s. Versions: %s.

"x" is the other side's time over ours, so more than 1 is faster; ours is the faster of our two programs, except beside the
official portable one, where it is the one without a delegate. Ours and the official runtime are called from Go and C++, ONNX
Runtime from Python with inputs and outputs bound, which costs about as much as ` + "`add`" + ` shows. Memory is the most that
the process had after a load and a call; of ONNX Runtime without what Python and its libraries take.
`

// page is docs/benchmarks.md.
func (rep *report) page() string {
	var versions []string
	for _, name := range sortedKeys(rep.Versions) {
		versions = append(versions, name+" "+rep.Versions[name])
	}
	s := fmt.Sprintf(intro, rep.Rounds, rep.Machine, rep.Load, rep.Date, strings.Join(versions, ", "))
	s += "\n## Summary\n\n" + table.Markdown(rep.meanTable()) + "\n## Times\n\n" + table.Markdown(rep.speedTable())
	s += "\n## Loading and memory\n\n" + table.Markdown(rep.loadTable())
	if rows := rep.failures(); len(rows) > 1 {
		s += "\n## Not measured\n\n" + table.Markdown(rows)
	}
	return s
}
