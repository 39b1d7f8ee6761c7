package main

import (
	"strings"
	"testing"
)

func sampleOps() opBoard {
	ok := verdict{state: "ok"}
	return opBoard{
		{"abs", "float32/0", "plain", "float32", true, ok},
		{"abs", "float32/1", "plain", "float32", true, verdict{"fail", "run 0: output 0: element 0: got N, want N"}},
		{"edge_add", "nan", "edge", "float32", false, ok},
		{"cfloat", "bool/0", "complex", "bool", false, verdict{"skip", "complex numbers are not supported"}},
	}
}

func TestOpBoardText(t *testing.T) {
	got := strings.TrimPrefix(sampleOps().String(), opHeader)
	const want = `# class            programs       ok    share  skipped official    share
# complex                 1        0    0.0 %        1        0    0.0 %
# edge                    1        1  100.0 %        0        0    0.0 %
# plain                   2        1   50.0 %        0        2  100.0 %
# all that count          3        2   66.7 %        0        2   66.7 %
#
# float32                 3        2   66.7 %        0        2   66.7 %
#
# pointwise               3        2   66.7 %        0        2   66.7 %

abs                                              1 of 2
    fail float32/1: run 0: output 0: element 0: got N, want N
edge_add                                         1 of 1
cfloat                                           0 of 1
    skip bool/0: complex numbers are not supported
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCompareOps(t *testing.T) {
	better, worse := sampleOps(), sampleOps()
	better[1].verdict = verdict{state: "ok"}
	worse[2].verdict = verdict{"fail", "other values"}
	unlisted := append(sampleOps(), opVerdict{op: "zeta", id: "0", verdict: verdict{state: "ok"}})
	for _, c := range []struct {
		name, prints string
		got          opBoard
		good         bool
	}{
		{"same", "4 passed, 0 failed\n", sampleOps(), true},
		{"part", "2 passed, 0 failed\n", sampleOps()[:2], true},
		{"better", "abs float32/1: listed as fail, but ok now: remake the scoreboard\n3 passed, 1 failed\n", better, false},
		{"worse", "edge_add nan: fail, was ok: other values\n3 passed, 1 failed\n", worse, false},
		{"unlisted", "zeta 0: not listed, now ok\n4 passed, 1 failed\n", unlisted, false},
	} {
		listed, err := parseOps(sampleOps().String())
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if good := compareOps(listed, c.got, &out); good != c.good || out.String() != c.prints {
			t.Errorf("%s: %v\n%s", c.name, good, &out)
		}
	}
}

func TestParseOpsRefuses(t *testing.T) {
	for _, text := range []string{"abs 1 of", "    fail x: y", "abs 1 of many"} {
		if ops, err := parseOps(text); err == nil {
			t.Errorf("%q: %v", text, ops)
		}
	}
}

func TestPanicIsAFailure(t *testing.T) {
	p := &pack{} // without a file: reading from it is a bug of the caller
	if v := (&opJudge{}).inTime(p, &opCase{}); v.state != "fail" || !strings.HasPrefix(v.reason, "bug: panic: ") {
		t.Errorf("got %v", v)
	}
}

// TestUpdateOfSome keeps the committed table from being written with some operators alone.
func TestUpdateOfSome(t *testing.T) {
	var o opOptions
	err := o.parse([]string{"--update", "--ops", "add"})
	if err == nil || !strings.Contains(err.Error(), "--update with --ops") {
		t.Errorf("got %v", err)
	}
	if err := o.parse([]string{"--update", "--ops", "add", "--file", "some.txt"}); err != nil {
		t.Error(err)
	}
}

func TestFamilyOf(t *testing.T) {
	for op, want := range map[string]string{
		"nn_functional_conv2d": "convolution", "edge_pool2d": "pooling", "dyn_lstm": "attention, cells", "masked_sum": "reduction",
		"var_mean": "reduction", "linalg_cross": "products", "linalg_qr": "linear algebra", "index_reduce_prod": "index, scatter",
		"edge_sort": "sorting, search", "dyn_bmm": "products", "unsqueeze_copy": "shape, copy", "edge_batch_norm": "softmax, norms",
		"max_binary": "pointwise", "special_zeta": "special function", "edge_exp": "pointwise", "linspace": "creation, random",
	} {
		if got := familyOf(op); got != want {
			t.Errorf("%s: got %s, want %s", op, got, want)
		}
	}
}
