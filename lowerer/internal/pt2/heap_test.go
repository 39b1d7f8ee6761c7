package pt2

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
)

// TestHeap loads programs that are made to cost memory: what stays, and what is allocated at once, is at most 32 MiB and
// 64 bytes for each byte of the archive's tables.
func TestHeap(t *testing.T) {
	const n = 1 << 19
	head := `{"graph_module": {"graph": {"inputs": [], "outputs": [], "nodes": [`
	tail := `], "tensor_values": {}}, "signature": {"input_specs": [], "output_specs": []}}, "schema_version": {"major": 8, "minor": 0}}`
	list := func(item string) string { return strings.TrimSuffix(strings.Repeat(item+",", n/(len(item)+1)), ",") }
	nodes := strings.Replace(head, `"nodes": [`, "", 1)
	for name, text := range map[string]string{
		"empty nodes":     head + list("{}") + tail,
		"null nodes":      head + list("null") + tail,
		"empty inputs":    head + `{"target": "torch.ops.aten.add.Tensor", "inputs": [` + list("{}") + `]}` + tail,
		"empty outputs":   head + `{"target": "torch.ops.aten.add.Tensor", "outputs": [` + list("{}") + `]}` + tail,
		"unknown nodes":   head + list(`{"target":"x"}`) + tail,
		"values":          strings.Replace(nodes, `"inputs": []`, `"inputs": [`+list("{}")+`]`, 1) + `"nodes": [` + tail,
		"signature":       strings.Replace(head+tail, `"input_specs": []`, `"input_specs": [`+list("{}")+`]`, 1),
		"sizes":           strings.Replace(head+tail, `"tensor_values": {}`, `"tensor_values": {"x": {"sizes": [`+list("{}")+`]}}`, 1),
		"nested brackets": head + `{"target": "x", "inputs": [{"arg": {"as_ints": ` + strings.Repeat("[", n/2) + strings.Repeat("]", n/2) + `}}]}` + tail,
	} {
		t.Run(name, func(t *testing.T) {
			data := edit(t, "add", func(record string, b []byte) []byte {
				if record == "models/model.json" {
					return []byte(text)
				}
				return b
			})
			limit := uint64(32<<20 + 64*len(text))
			peak := peakHeap(func() {
				a, err := OpenBytes(data)
				if err != nil {
					t.Fatal(err)
				}
				_, _, err = a.Load("forward", symint.NewTable())
				t.Logf("%.100v", err)
			})
			t.Logf("%d bytes of JSON: peak %d MiB", len(text), peak>>20)
			if peak > limit {
				t.Errorf("%d bytes of JSON take %d MiB of heap, want at most %d MiB", len(text), peak>>20, limit>>20)
			}
		})
	}
}

// peakHeap is the most that the collector finds alive while f runs, beyond what was alive before; it runs whenever the
// heap has grown by a tenth.
func peakHeap(f func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	before := live()
	peak, stop, done := before, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			peak = max(peak, live())
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Microsecond):
			}
		}
	}()
	f()
	close(stop)
	<-done
	return peak - before
}

// live is what the last cycle of the collector found.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
