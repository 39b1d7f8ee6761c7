package lowerer

import (
	"context"
	"io"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rules-pte/rules_pte/bench/bigmodel"
)

// allocated is what lowering a model with weights of about size bytes allocates on the heap, in all.
func allocated(t *testing.T, size int64) uint64 {
	t.Helper()
	model := filepath.Join(t.TempDir(), "model.pt2")
	if _, err := bigmodel.Write(model, size); err != nil {
		t.Fatal(err)
	}
	spec := defaultSpec(t, model)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := LowerFile(context.Background(), spec, nil, io.Discard, Options{}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestHeapFollowsGraph checks that larger weights in the same graph allocate no more, though some of them are folded.
func TestHeapFollowsGraph(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("folded weights lie on the heap here")
	}
	small := allocated(t, 1<<20) // the first lowering also fills caches
	small = max(small, allocated(t, 1<<20))
	large := allocated(t, 64<<20)
	if large > small+4<<20 {
		t.Errorf("64 MiB of weights allocate %d bytes, 1 MiB %d", large, small)
	}
}
