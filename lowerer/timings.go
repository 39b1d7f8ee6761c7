package lowerer

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"time"
)

// Timings are how long the parts of a lowering took, and what it allocated. A nil *Timings measures nothing.
type Timings struct {
	// Parts are, in order: cue (the spec), load (models to graphs), passes (functionalize, decompose, passes), emit (plan
	// memory, make the program), pack (evaluate the constants) and write.
	Parts []Part `json:"parts"`
	// HeapBytes is all that was ever allocated on Go's heap, so an upper bound of its size. Mapped files do not count.
	HeapBytes uint64 `json:"heap_bytes"`

	last time.Time
}

// Part is one part of a lowering.
type Part struct {
	Name string        `json:"name"`
	Time time.Duration `json:"ns"`
}

// NewTimings begins the first part.
func NewTimings() *Timings { return &Timings{last: time.Now()} }

// Mark ends a part and begins the next one.
func (t *Timings) Mark(part string) {
	if t == nil {
		return
	}
	now := time.Now()
	t.Parts = append(t.Parts, Part{part, now.Sub(t.last)})
	t.last = now
}

// WriteJSON notes what was allocated until now and writes t as one JSON object.
func (t *Timings) WriteJSON(w io.Writer) error {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.HeapBytes = m.TotalAlloc
	if err := json.NewEncoder(w).Encode(t); err != nil {
		return fmt.Errorf("write timings: %w", err)
	}
	return nil
}
