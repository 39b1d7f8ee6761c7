package main

import (
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/bench/table"
)

// The page's text before and after where and when it was measured.
const (
	intro = `# Benchmarks

How fast models run, made by

    go run ./bench/models --sets ../shared/zoo/ready:LARGER --python PYTHON --litert LITERT --threads 1,2 --rounds ROUNDS --markdown docs/benchmarks.md --floors bench/models/floors.json

where PYTHON has executorch, torch, onnxruntime and onnxscript ([CONTRIBUTING.md](../CONTRIBUTING.md)), and LARGER the larger models of
the zoo's ` + "`export.py`" + `. The zoo is the project's collection of models, beside the checkout; folders of a ` + "`model.pt2`" + ` and its
` + "`case.json`" + ` will do (` + "`--models NAME`" + `). LITERT is an interpreter of its own:

    uv venv litert && uv pip install --python litert/bin/python litert-torch

Single operators are in [kernels-bench.md](kernels-bench.md); how fast models are lowered is in [lowering.md](lowering.md).

Medians of `

	legend = `
Models get the inputs of their first case. "x" is the other side's time over ours, so more than 1 is faster; in the times ours is the faster of our two programs, except beside the
official portable one; there, and in loads and memory, it is the one without a delegate. Ours and the official runtime are called from Go and C++, ONNX
Runtime and LiteRT from Python with inputs and outputs bound, which costs about as much as ` + "`add`" + ` shows. Memory is the most that
the process had after a load and a call; of ONNX Runtime without what Python and its libraries take. The load
is the first of its process, the median of up to eleven processes of each side in turn, of fewer where they take long to start
and to call (ONNX Runtime and LiteRT have one or two). Our process has the kernels and backends that its program needs, as
` + "`pte_runtime`" + ` links it; the last columns are of our program for XNNPACK, and of the one without a delegate where the process has all
kernels, as ` + "`pte run`" + ` has. The official one has the wheel's libraries,
of which the system reads what is used. Kernels are registered before the load: by the official runtime before its main, by ours, which
does so at the first load, for once as early; that takes some 0.1 ms for all kernels, and next to nothing for those of one program. The reload is the shortest of more loads in one process, which has the
memory of those before at hand. The ratios of loads, reloads and of memory are the official runtime's over ours; "best" has
the ratios of the shortest calls of each side, which a busy machine disturbs less than medians.
`
)

// page is docs/benchmarks.md.
func (rep *report) page() string {
	s := strings.Replace(intro, "ROUNDS", strconv.Itoa(rep.Rounds), 1) + rep.Setup.Text() + legend
	s += "\n## Summary\n\n" + table.Markdown(rep.meanTable()) + "\n## Times\n\n" + table.Markdown(rep.speedTable())
	s += "\n## Loading and memory\n\n" + table.Markdown(rep.loadTable())
	if rows := rep.failures(); len(rows) > 1 {
		s += "\n## Not measured\n\n" + table.Markdown(rows)
	}
	return s
}
