package runcmd

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	lowered "github.com/rules-pte/rules_pte/lowerer/internal/report"
)

// explain prints from the report at path, of a program of size bytes, which nodes backends took and why others were left.
func explain(path string, size int64, w io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return fault(path, err)
	}
	defer f.Close()
	r, err := lowered.Read(f)
	if err != nil {
		return diag.New(diag.StaleStep, path, "%w", err).WithHint("it is what `pte lower --report` writes")
	}
	if r.Packed && r.FileBytes != size {
		return diag.New(diag.StaleStep, path, "it is of another program: of %d bytes, not %d", r.FileBytes, size).
			WithHint("write it again with `pte lower --report`")
	}
	for _, id := range slices.Sorted(maps.Keys(r.Delegation)) {
		d := r.Delegation[id]
		fmt.Fprintf(w, "taken by %s: %.4g %% of the nodes, %.4g %% of the macs\n", id, 100*d.Nodes, 100*d.Macs)
		printCounts(w, d.Operators, nil)
	}
	left, nodes := map[string]int{}, map[string][]*lowered.Fallback{}
	for i := range r.Fallback {
		n := &r.Fallback[i]
		left[n.Op]++
		nodes[n.Op] = append(nodes[n.Op], n)
	}
	if len(left) == 0 {
		return nil
	}
	fmt.Fprintln(w, "left")
	printCounts(w, left, func(op string) {
		for _, n := range nodes[op] {
			fmt.Fprintf(w, "         %s %s %s: %s\n", n.Method, n.Node, cmp.Or(n.Where, "-"), n.Text())
		}
	})
	return nil
}

// printCounts prints how many nodes there are of each operator, and what more does for it.
func printCounts(w io.Writer, counts map[string]int, more func(op string)) {
	for _, op := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(w, "    %4d %s\n", counts[op], op)
		if more != nil {
			more(op)
		}
	}
}
