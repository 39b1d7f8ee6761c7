package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// Report is what "pte bench" measures. Times are in nanoseconds.
type Report struct {
	// Version is that of pte, Date when it measured.
	Version string    `json:"version"`
	Date    time.Time `json:"date"`
	Program string    `json:"program"`
	Method  string    `json:"method"`
	// Inputs are the types and sizes of the inputs, as in "float32[1, 3]"; Made says that they are not the user's: floats between
	// -1 and 1, and zeros.
	Inputs  []string `json:"inputs"`
	Made    bool     `json:"inputs_made,omitempty"`
	Machine *Machine `json:"machine"`
	// LoadNS is the median of Loads loads.
	LoadNS int64 `json:"load_ns"`
	Loads  int   `json:"loads"`
	// WeightCache is what became of the file of --weight-cache in a load before these.
	WeightCache string `json:"weight_cache,omitempty"`
	Runs        int    `json:"runs"`
	// MinNS, MedianNS and P95NS are of calls without a trace, whose sum over Kernels is a little larger.
	MinNS    int64 `json:"min_ns"`
	MedianNS int64 `json:"median_ns"`
	P95NS    int64 `json:"p95_ns"`
	// Spread is how many times as long as the fastest call the slowest ones took, where that is much: something else may have used
	// the machine.
	Spread float64 `json:"spread,omitempty"`
	// MACs are the multiply-accumulates of a call.
	MACs int64 `json:"macs"`
	// Operators are the kernels by name, the longest first; Kernels are in their order.
	Operators []Row `json:"operators"`
	Kernels   []Row `json:"kernels"`
}

// Row is an instruction, a step of a delegate, or all of one operator.
type Row struct {
	// Place is chain, instruction and the delegate's step; nil in a row of an operator.
	Place []int  `json:"place,omitempty"`
	Name  string `json:"name"`
	// Backend is the id of the backend that it was delegated to.
	Backend string `json:"backend,omitempty"`
	// Result is the type and the sizes of the first result.
	Result string `json:"result,omitempty"`
	// Window is that of a convolution or a pooling, such as "3x3 stride 2 groups 32"; what is 1 is left out.
	Window string `json:"window,omitempty"`
	Calls  int    `json:"calls"`
	NS     int64  `json:"ns"`
	// Share is the part of the time of all kernels.
	Share float64 `json:"share"`
	MACs  int64   `json:"macs"`
	Bytes int64   `json:"bytes"`
	// Integers says that MACs are of int8.
	Integers bool `json:"integers,omitempty"`
	// Limit is what bounds the speed: "fma" or "dot" for products whose operands are read faster than multiplied, "read"
	// for others. Peak is the part of that limit that is reached. Both are empty where the work is not known.
	Limit string  `json:"limit,omitempty"`
	Peak  float64 `json:"peak,omitempty"`

	leastNS float64 // at the limit
}

// Fill sets what r recorded of calls of plan, whose untraced times are given. Report.Machine is there.
func (rep *Report) Fill(r *Recorder, plan *pte.ExecutionPlan, times []time.Duration) {
	slices.Sort(times)
	rep.Runs, rep.MinNS, rep.MedianNS, rep.P95NS = len(times), times[0].Nanoseconds(), median(times).Nanoseconds(), times[len(times)*95/100].Nanoseconds()
	if slow := float64(rep.P95NS) / float64(max(rep.MinNS, 1)); slow > disturbed {
		rep.Spread = slow
	}
	rep.Method = plan.Name
	rep.Kernels = r.rows(plan, rep.Machine)
	rep.Operators = operators(rep.Kernels)
	for i := range rep.Operators {
		rep.MACs += rep.Operators[i].MACs
	}
}

// rows makes the rows of all steps, and the backends' own for what no step of theirs has.
func (r *Recorder) rows(plan *pte.ExecutionPlan, m *Machine) []Row {
	r.finish()
	var rows []Row
	for _, s := range r.steps {
		if len(s.times) == 0 {
			continue
		}
		row := Row{Place: []int{s.key.chain, s.key.instruction, s.key.step}, Name: s.name, Result: s.result, Calls: max(s.count/len(s.times), 1),
			NS: median(s.times).Nanoseconds(), Window: windowText(&s.work.Window), MACs: s.work.MACs, Bytes: s.work.Bytes, Integers: s.work.Integers && s.work.MACs > 0}
		in := &plan.Chains[s.key.chain].Instructions[s.key.instruction]
		switch in.Type {
		case pte.KernelCall:
			row.Name = Operators(plan, s.key.chain, s.fused, s.name)
		case pte.DelegateCall:
			if s.key.step == 0 {
				row.Result = ""
			}
			if s.key.step > 0 || s.key.name == delegateCall {
				row.Backend = plan.Delegates[in.A].ID
			}
		}
		row.limit(s.work.Integers, m)
		rows = append(rows, row)
	}
	share(rows)
	return rows
}

// windowText is a window with what is not 1 of its strides, dilations and groups.
func windowText(w *backend.Window) string {
	s := strings.Join(sizesOf(w.Size), "x")
	if s == "" {
		return ""
	}
	for _, part := range []struct {
		name  string
		sizes [3]int64
	}{{"stride", w.Stride}, {"dilation", w.Dilation}} {
		list := sizesOf(part.sizes)
		if all := slices.Compact(slices.Clone(list)); len(all) == 1 {
			list = all
		}
		if slices.ContainsFunc(list, func(n string) bool { return n != "1" }) {
			s += " " + part.name + " " + strings.Join(list, "x")
		}
	}
	if w.Groups > 1 {
		s += fmt.Sprintf(" groups %d", w.Groups)
	}
	return s
}

// sizesOf are those of the dimensions that there are.
func sizesOf(sizes [3]int64) (list []string) {
	for _, n := range sizes {
		if n > 0 {
			list = append(list, strconv.FormatInt(n, 10))
		}
	}
	return list
}

// namesMost is how many operators that run as one are named; more have the name of their kernel.
const namesMost = 4

// Operators names what instructions of a chain call that run as one, in their order. If they are too many, or delegates' among them, it is the kernel,
// with its namespace where it is that of the last of them.
func Operators(plan *pte.ExecutionPlan, chain int, instructions []int, kernel string) string {
	list := plan.Chains[chain].Instructions
	names := make([]string, 0, len(instructions))
	for _, k := range instructions {
		if in := &list[k]; in.Type == pte.KernelCall {
			names = append(names, plan.Operators[in.A].FullName())
		}
	}
	if len(names) == len(instructions) && len(names) <= namesMost {
		return strings.Join(names, " + ")
	}
	if n := len(names); n > 0 && list[instructions[len(instructions)-1]].Type == pte.KernelCall && strings.HasSuffix(names[n-1], "::"+kernel) {
		return names[n-1]
	}
	return kernel
}

// limit finds what bounds the row, and how near it comes.
func (row *Row) limit(integers bool, m *Machine) {
	if row.Bytes == 0 || row.NS == 0 {
		return
	}
	calls := float64(row.Calls)
	row.Limit, row.leastNS = "read", calls*1e9*float64(row.Bytes)/m.read(row.Bytes)
	compute, name := m.FLOPS, "fma"
	if integers {
		compute, name = m.Ops, "dot"
	}
	if least := calls * 2e9 * float64(row.MACs) / compute; row.MACs > 0 && least >= row.leastNS {
		row.Limit, row.leastNS = name, least
	}
	row.Peak = row.leastNS / float64(row.NS)
}

func share(rows []Row) {
	total := int64(0)
	for i := range rows {
		total += rows[i].NS
	}
	for i := range rows {
		rows[i].Share = float64(rows[i].NS) / float64(max(total, 1))
	}
}

// operators are the rows by name and backend, the longest first.
func operators(kernels []Row) []Row {
	type id struct{ name, backend string }
	at := map[id]int{}
	var rows []Row
	for i := range kernels {
		k := &kernels[i]
		j, ok := at[id{k.Name, k.Backend}]
		if !ok {
			j = len(rows)
			at[id{k.Name, k.Backend}] = j
			rows = append(rows, Row{Name: k.Name, Backend: k.Backend, Limit: k.Limit, Integers: k.Integers})
		}
		rows[j].add(k)
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(b.NS, a.NS) })
	return rows
}

// add counts k's calls, time and work as the row's, in all calls; a row of several limits has none's name.
func (row *Row) add(k *Row) {
	row.Calls += k.Calls
	row.NS += k.NS
	row.Share += k.Share
	row.MACs += k.MACs * int64(k.Calls)
	row.Bytes += k.Bytes * int64(k.Calls)
	row.leastNS += k.leastNS
	if row.Limit != k.Limit {
		row.Limit = "mixed"
	}
	if row.NS > 0 {
		row.Peak = row.leastNS / float64(row.NS)
	}
}

// speed is the row's speed with its unit.
func (row *Row) speed(perCall bool) (string, string) {
	if row.NS == 0 || row.Bytes == 0 {
		return "-", ""
	}
	calls := 1.0
	if perCall {
		calls = float64(row.Calls)
	}
	if row.MACs > 0 {
		unit := "GFLOP/s"
		if row.Integers {
			unit = "GOP/s"
		}
		return three(calls * 2 * float64(row.MACs) / float64(row.NS)), unit
	}
	return three(calls * float64(row.Bytes) / float64(row.NS)), "GB/s"
}
