package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

var machine = &Machine{Tier: "avx2", Threads: 1, FLOPS: 100e9, Ops: 400e9, Reads: []Read{{16 << 10, 100e9}, {1 << 20, 10e9}}}

// TestLimit: 2 operations a multiply-accumulate, or bytes at the speed of the smallest measured size that holds them.
func TestLimit(t *testing.T) {
	for _, c := range []struct {
		name     string
		row      Row
		integers bool
		want     string
		peak     float64
	}{
		{"product", Row{Calls: 1, NS: 4000, MACs: 100_000, Bytes: 1 << 10}, false, "fma", 0.5},
		{"integers", Row{Calls: 1, NS: 1000, MACs: 100_000, Bytes: 1 << 10}, true, "dot", 0.5},
		{"product in memory", Row{Calls: 1, NS: 20_000, MACs: 1000, Bytes: 100_000}, false, "read", 0.5},
		{"cached", Row{Calls: 1, NS: 100, Bytes: 5000}, false, "read", 0.5},
		{"large", Row{Calls: 1, NS: 1e6, Bytes: 5e6}, false, "read", 0.5},
		{"calls", Row{Calls: 4, NS: 4000, MACs: 50_000, Bytes: 1 << 10}, false, "fma", 1},
		{"unknown", Row{Calls: 1, NS: 4000}, false, "", 0},
	} {
		c.row.limit(c.integers, machine)
		if c.row.Limit != c.want || c.row.Peak != c.peak {
			t.Errorf("%s: %v of %s, want %v of %s", c.name, c.row.Peak, c.row.Limit, c.peak, c.want)
		}
	}
}

// recorded is a call of a kernel, and of a delegate with two steps.
func recorded() (*Recorder, *pte.ExecutionPlan) {
	plan := &pte.ExecutionPlan{
		Name:      "forward",
		Operators: []pte.Operator{{Name: "aten::mm", Overload: "out"}},
		Delegates: []pte.BackendDelegate{{ID: "XnnpackBackend"}},
		Chains:    []pte.Chain{{Instructions: []pte.Instruction{{Type: pte.KernelCall}, {Type: pte.DelegateCall}}}},
	}
	out := executor.Value{Kind: executor.Tensor, Tensor: tensor.Of(make([]float32, 6), 2, 3)}
	r := NewRecorder()
	for range 3 {
		r.CreateEventBlock("Execute")
		r.SetChainDebugHandle(-1, 0)
		whole := r.StartProfiling("Method::execute")
		r.SetChainDebugHandle(0, 0)
		r.EndProfiling(r.StartProfiling("native_call_mm.out"))
		r.LogWork(backend.Work{MACs: 50_000, Bytes: 1 << 10})
		r.LogEvalue(&out, false)
		r.SetChainDebugHandle(0, 1)
		d := r.StartProfiling("DELEGATE_CALL")
		r.EndProfilingDelegate(r.StartProfilingDelegate("", 7), []byte("Conv2d"))
		r.LogWork(backend.Work{Bytes: 2 << 10, Window: backend.Window{Size: [3]int64{0, 3, 3}, Stride: [3]int64{0, 2, 1}, Dilation: [3]int64{0, 1, 1}, Groups: 32}})
		r.EndProfilingDelegate(r.StartProfilingDelegate("Copy", 0), nil)
		r.EndProfiling(d)
		r.SetChainDebugHandle(-1, 0)
		r.EndProfiling(whole)
	}
	// What the clock said: of the first two calls, something interrupted another step of the delegate each.
	for call, took := range [][]time.Duration{{2000, 39_000, 33_000, 5000}, {2000, 39_000, 3000, 35_000}, {2000, 9000, 3000, 5000}} {
		for i, s := range r.steps {
			if s.took = took[i]; call == 0 {
				s.times = nil
			}
		}
		if call < 2 {
			r.finish()
		}
	}
	return r, plan
}

const text = `avx2, 1 thread
float32 multiply-add   100  GFLOP/s
int8 dot product       400    GOP/s
read 16 KiB            100     GB/s
read 1 MiB            10.0     GB/s

net.pte, forward: load 1.00 ms (median of 5), 3 calls, min 10.0 µs, median 20.0 µs, p95 30.0 µs, 5.00 GFLOP/s
inputs made, of the largest sizes: float32[2, 3], int; --input or --case give others
times vary: the slowest calls took 3.00 times as long as the fastest; if something else runs, wait for it and try again

operator                      calls    µs  share %  speed           limit  peak %
XnnpackBackend Copy               1  5.00     45.5      -                       -
XnnpackBackend Conv2d             1  3.00     27.3  0.683     GB/s   read     0.7
aten::mm.out                      1  2.00     18.2   50.0  GFLOP/s    fma    50.0
XnnpackBackend DELEGATE_CALL      1  1.00      9.1      -                       -

4 kernels

kernel                        at   result         window                    calls    µs  share %  speed           limit  peak %
XnnpackBackend Copy           1.2                                               1  5.00     45.5      -                       -
XnnpackBackend Conv2d         1.1                 3x3 stride 2x1 groups 32      1  3.00     27.3  0.683     GB/s   read     0.7
aten::mm.out                  0    float32[2, 3]                                1  2.00     18.2   50.0  GFLOP/s    fma    50.0
XnnpackBackend DELEGATE_CALL  1                                                 1  1.00      9.1      -                       -
`

func TestReport(t *testing.T) {
	r, plan := recorded()
	rep := &Report{Program: "net.pte", Machine: machine, LoadNS: 1e6, Loads: 5, Inputs: []string{"float32[2, 3]", "int"}, Made: true}
	rep.Fill(r, plan, []time.Duration{30e3, 10e3, 20e3})
	if d := cmp.Diff(text, rep.text()); d != "" {
		t.Errorf("text (-want +got):\n%s", d)
	}
	var page strings.Builder
	rep.Program = "</script>.pte"
	if err := rep.WritePage(&page); err != nil {
		t.Fatal(err)
	}
	if s := page.String(); !strings.Contains(s, `"name":"aten::mm.out"`) || strings.Count(s, "</script>") != 2 {
		t.Error("the page does not hold the report, or a name ends its script")
	}
}

// TestOperators names what runs as one.
func TestOperators(t *testing.T) {
	plan := &pte.ExecutionPlan{Operators: []pte.Operator{{Name: "aten::mm", Overload: "out"}, {Name: "aten::relu"}},
		Chains: []pte.Chain{{Instructions: make([]pte.Instruction, 9)}}}
	for i := range plan.Chains[0].Instructions {
		plan.Chains[0].Instructions[i].Type = pte.KernelCall
	}
	plan.Chains[0].Instructions[1].A = 1
	plan.Chains[0].Instructions[8] = pte.Instruction{Type: pte.DelegateCall, A: 2}
	for _, c := range []struct {
		want   string
		list   []int
		kernel string
	}{
		{"aten::mm.out", []int{0}, "mm.out"}, {"aten::mm.out + aten::relu", []int{0, 1}, "mm.out"}, {"sdpa", []int{0, 1, 2, 3, 4}, "sdpa"},
		{"mm.out", []int{0, 8}, "mm.out"}, {"aten::mm.out", []int{8, 0}, "mm.out"}, {"m.out", []int{8, 0}, "m.out"},
		{"aten::mm.out", []int{1, 2, 3, 4, 5, 0}, "mm.out"},
	} {
		if got := Operators(plan, 0, c.list, c.kernel); got != c.want {
			t.Errorf("%v: %q, want %q", c.list, got, c.want)
		}
	}
}

// TestInlined counts steps of a delegate that run by themselves as the delegate's, and those that run with other instructions as a kernel's.
func TestInlined(t *testing.T) {
	_, plan := recorded()
	r := NewRecorder()
	r.CreateEventBlock("Execute")
	r.SetChainDebugHandle(0, 1)
	r.EndProfilingDelegate(r.StartProfilingDelegate("", 7), []byte("aten::mm.out"))
	r.EndProfilingDelegate(r.StartProfilingDelegate("", 8), []byte("aten::mm.out"))
	for _, name := range []string{"gru_cell.out", "pointwise.out"} {
		r.SetChainDebugHandle(0, 1)
		r.LogFused([]int{0, 1})
		r.EndProfiling(r.StartProfiling("native_call_" + name))
	}
	for i, s := range r.steps {
		s.took = time.Duration(i+1) * time.Microsecond
	}
	var got []string
	for _, row := range r.rows(plan, machine) {
		got = append(got, fmt.Sprintf("%s %s %s %d", row.place(), row.Backend, row.Name, row.NS))
	}
	if want := []string{"1.1 XnnpackBackend aten::mm.out 1000", "1.2 XnnpackBackend aten::mm.out 2000", "1  gru_cell.out 3000", "1  pointwise.out 4000"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAbout tells inputs that the user gave, and times that vary, apart; JSON, which the page holds, has it, too.
func TestAbout(t *testing.T) {
	for _, test := range []struct {
		slowest time.Duration
		want    string
	}{
		{140, ""},
		{230, "times vary: the slowest calls took 2.30 times as long as the fastest; if something else runs, wait for it and try again\n"},
	} {
		rep := &Report{Inputs: []string{"float32[2]"}, Machine: &Machine{}}
		rep.Fill(&Recorder{}, &pte.ExecutionPlan{}, []time.Duration{test.slowest, 100})
		if s := rep.about(); s != test.want {
			t.Errorf("%d: got %q, want %q", test.slowest, s, test.want)
		}
		rep.WeightCache = "used"
		if s, want := rep.about(), "weight cache: used\n"+test.want; s != want {
			t.Errorf("%d: got %q, want %q", test.slowest, s, want)
		}
		var b strings.Builder
		if err := rep.WritePage(&b); err != nil || strings.Contains(b.String(), `"spread":2.3`) != (test.want != "") {
			t.Errorf("%d: %v in %s", test.slowest, err, b.String())
		}
	}
}

// TestTook is of times from nothing to minutes.
func TestTook(t *testing.T) {
	for ns, want := range map[int64]string{0: "0 ns", 82: "82.0 ns", 999: "999 ns", 1000: "1.00 µs", 650_828: "651 µs", 999_600: "1.00 ms", 1_767_304: "1.77 ms", 75e9: "75.0 s"} {
		if got := Took(ns); got != want {
			t.Errorf("%d: %q, want %q", ns, got, want)
		}
	}
}

// TestMeasure measures, with no regard to what comes out but that it is there.
func TestMeasure(t *testing.T) {
	m := meter{2, 1, time.Microsecond}.measure(kernel.Scalar, 1)
	if m.Tier != "scalar" || m.Threads != 1 || m.FLOPS <= 0 || m.Ops <= 0 || len(m.Reads) != len(readSizes) {
		t.Errorf("measured %+v", m)
	}
}

// TestLimitsVary says that rounds differ.
func TestLimitsVary(t *testing.T) {
	rounds := 0
	s := &speed{work: 1, run: func(_, steps int) {
		if rounds > 0 {
			time.Sleep(time.Duration(steps) * time.Millisecond)
		}
	}}
	mt := meter{2, 1, 0}
	mt.round(s, 1)
	rounds++
	mt.round(s, 1)
	if len(s.rounds) != 2 || s.best() != s.rounds[0] {
		t.Errorf("rounds gave %v, the best is %v", s.rounds, s.best())
	}
	m := *machine
	m.Spread = 2
	if want := "limits vary: one was 2.00 times as high in one round as in another"; !strings.Contains(m.text(), want) || strings.Contains(machine.text(), "vary") {
		t.Errorf("%q lacks %q, or %q has it", m.text(), want, machine.text())
	}
}

// TestWindowText leaves out what is 1.
func TestWindowText(t *testing.T) {
	for want, w := range map[string]backend.Window{
		"":                                   {},
		"5":                                  {Size: [3]int64{0, 0, 5}, Stride: [3]int64{0, 0, 1}, Dilation: [3]int64{0, 0, 1}, Groups: 1},
		"11x11 stride 11":                    {Size: [3]int64{0, 11, 11}, Stride: [3]int64{0, 11, 11}},
		"1x3x3 stride 1x2x2":                 {Size: [3]int64{1, 3, 3}, Stride: [3]int64{1, 2, 2}},
		"7x7 stride 2 dilation 1x3 groups 4": {Size: [3]int64{0, 7, 7}, Stride: [3]int64{0, 2, 2}, Dilation: [3]int64{0, 1, 3}, Groups: 4},
	} {
		if got := windowText(&w); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{5: "5 B", 1536: "1.5 KiB", 256 << 20: "256 MiB", 5 << 40: "5120 GiB"} {
		if got := Size(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
