package op

import (
	"math/rand"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func TestMACs(t *testing.T) {
	type dims = []tensor.Dim
	for _, c := range []struct {
		name       string
		args       []dims
		out        dims
		transposed bool
		want       int64
	}{
		{"aten::mm.out", []dims{{2, 3}, {3, 5}}, dims{2, 5}, false, 30},
		{"aten::bmm.out", []dims{{4, 2, 3}, {4, 3, 5}}, dims{4, 2, 5}, false, 120},
		{"aten::addmm.out", []dims{{5}, {2, 3}, {3, 5}}, dims{2, 5}, false, 30},
		{"aten::linear.out", []dims{{7, 3}, {5, 3}}, dims{7, 5}, false, 105},
		{"aten::convolution.out", []dims{{1, 4, 8, 8}, {6, 2, 3, 3}}, dims{1, 6, 4, 4}, false, 6 * 16 * 18},
		{"aten::convolution.out", []dims{{1, 4, 8, 8}, {4, 2, 3, 3}}, dims{1, 4, 17, 17}, true, 4 * 64 * 18},
		{"aten::add.out", []dims{{2}, {2}}, dims{2}, false, 0},
		{"aten::mm.out", nil, nil, false, 0},
	} {
		arg := func(i int) dims {
			if i < len(c.args) {
				return c.args[i]
			}
			return nil
		}
		if got := MACs(c.name, arg, c.out, c.transposed); got != c.want {
			t.Errorf("%s %v: %d, want %d", c.name, c.args, got, c.want)
		}
	}
}

// TestCachedWork counts what an attention reads of caches, in floats and in int8.
func TestCachedWork(t *testing.T) {
	floats := []any{wave(2, 3, 4, 16), wave(2, 20, 2, 16), wave(2, 20, 2, 16), 5, nil, 0.0, true, nil}
	masked := append([]any(nil), floats...)
	masked[4], masked[6] = wave(3, 20), false
	written := []any{floats[0], wave(2, 3, 2, 16), wave(2, 3, 2, 16), floats[1], floats[2], 5, 3, nil, 0.0, true, nil}
	r := rand.New(rand.NewSource(1))
	quantized := quantizedArgs(quantizedRows(r, 2, 4, 3, 16), quantizedRows(r, 2, 2, 20, 16), quantizedRows(r, 2, 2, 20, 16), 5, nil, true, nil, true)
	q, cached := int64(2*3*4*16), int64(2*8*2*16)
	for _, c := range []struct {
		name        string
		args        []any
		macs, bytes int64
	}{
		{"llama::custom_sdpa.out", floats, 2 * q * 8, 2 * (q + cached) * 4},
		{"llama::custom_sdpa.out", masked, 2 * q * 20, 3*20*4 + 2*(q+2*20*2*16)*4},
		{"llama::sdpa_with_kv_cache.out", written, 2 * q * 8, 2*(q+cached)*4 + 2*2*2*3*2*16*4},
		{"llama::custom_quantized_sdpa.out", quantized, 2 * q * 8, q*(1+4) + 2*cached + (q+2*cached)/16*5},
	} {
		if macs, bytes, ok := CachedWork(c.name, vals(c.args...)); macs != c.macs || bytes != c.bytes || !ok {
			t.Errorf("%s: got %d and %d, %v, want %d and %d", c.name, macs, bytes, ok, c.macs, c.bytes)
		}
	}
	if _, _, ok := CachedWork("aten::mm.out", vals(wave(2, 3), wave(3, 2))); ok {
		t.Error("aten::mm.out reads no cache")
	}
}
