// Package etdump records the events of runs and writes them as ExecuTorch's ETDump, which its Inspector reads.
package etdump

//go:generate go run ../../tools/fbs -schema schema/etdump.fbs -fb internal/fb

import (
	"time"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor/npy"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// DebugLevel says which values a Gen keeps, as ExecuTorch's EventTracerDebugLogLevel does.
type DebugLevel int

// The levels, each with what the one before keeps.
const (
	NoLogging           DebugLevel = iota // no values
	ProgramOutputs                        // the outputs of methods
	IntermediateOutputs                   // also what instructions and steps of delegates make
)

// Kind says what an Event is.
type Kind uint8

// The kinds of events.
const (
	Profile Kind = iota // a span of time
	Logged              // a value
)

// NoDelegateID is the DelegateID of an event of no delegate's step, or of one with a name.
const NoDelegateID = -1

// Event is a span of time or a value.
type Event struct {
	Kind Kind
	// Name is that of the executor's events; "" in events of delegates' steps.
	Name string
	// Chain and Instruction are those of the instruction that ran; Chain is -1 if none did.
	Chain, Instruction int
	// Fused are the instructions that ran as this one, itself too; nil if it ran alone.
	Fused []int
	// DelegateID and DelegateName identify a step of a delegate: one of them is set.
	DelegateID   int64
	DelegateName string
	// Metadata is the delegate's own.
	Metadata []byte
	// Start and End are in nanoseconds since the Gen was made.
	Start, End int64
	// Value is a copy, its tensors in row-major order; Output says that it is an output of the method.
	Value  backend.Value
	Output bool
}

// Delegated reports whether the event belongs to a step of a delegate.
func (e *Event) Delegated() bool { return e.DelegateID != NoDelegateID || e.DelegateName != "" }

// Run is a block of events: "Default" for each method of a new instance, "Execute" for each run.
type Run struct {
	Name   string
	Events []Event
}

// Gen is an executor.EventTracer that keeps all events. The zero Gen is not ready for use. The programs that it traces
// must not run at the same time.
type Gen struct {
	// Runs are the blocks so far.
	Runs []Run

	level              DebugLevel
	epoch              time.Time
	chain, instruction int
	fused              []int // for the event that begins next
}

// New makes a Gen that keeps values as level says.
func New(level DebugLevel) *Gen { return &Gen{level: level, epoch: time.Now(), chain: -1} }

// CreateEventBlock begins a Run.
func (g *Gen) CreateEventBlock(name string) { g.Runs = append(g.Runs, Run{Name: name}) }

// SetChainDebugHandle says which instruction the events that follow belong to.
func (g *Gen) SetChainDebugHandle(chain, instruction int) {
	g.chain, g.instruction, g.fused = chain, instruction, nil
}

// LogFused says that an instruction runs several.
func (g *Gen) LogFused(instructions []int) { g.fused = instructions }

// StartProfiling begins an event of the executor.
func (g *Gen) StartProfiling(name string) backend.EventTracerEntry {
	return g.add(Event{Kind: Profile, Name: name, Fused: g.fused, DelegateID: NoDelegateID})
}

// EndProfiling ends an event of the executor.
func (g *Gen) EndProfiling(e backend.EventTracerEntry) { g.event(e).End = g.now() }

// StartProfilingDelegate begins a step of a delegate.
func (g *Gen) StartProfilingDelegate(name string, id int64) backend.EventTracerEntry {
	return g.add(step(Profile, name, id))
}

// EndProfilingDelegate ends a step of a delegate.
func (g *Gen) EndProfilingDelegate(e backend.EventTracerEntry, metadata []byte) {
	ev := g.event(e)
	ev.End, ev.Metadata = g.now(), append([]byte(nil), metadata...)
}

// TracesIntermediates reports whether LogEvalue keeps values that are no outputs.
func (g *Gen) TracesIntermediates() bool { return g.level >= IntermediateOutputs }

// LogEvalue keeps a copy of v.
func (g *Gen) LogEvalue(v *backend.Value, output bool) {
	if g.level < ProgramOutputs || !output && g.level < IntermediateOutputs {
		return
	}
	g.add(Event{Kind: Logged, DelegateID: NoDelegateID, Value: copyOf(v), Output: output})
}

// LogIntermediateOutputDelegate keeps a copy of v.
func (g *Gen) LogIntermediateOutputDelegate(name string, id int64, v *backend.Value) {
	if g.level < IntermediateOutputs {
		return
	}
	e := step(Logged, name, id)
	e.Value = copyOf(v)
	g.add(e)
}

// step is an event with the name or, if that is "", the id of a step.
func step(kind Kind, name string, id int64) Event {
	if name != "" {
		id = NoDelegateID
	}
	return Event{Kind: kind, DelegateName: name, DelegateID: id}
}

// add appends e to the last block, of which there is one also if nobody made it.
func (g *Gen) add(e Event) backend.EventTracerEntry {
	if len(g.Runs) == 0 {
		g.CreateEventBlock("Default")
	}
	e.Chain, e.Instruction, e.Start = g.chain, g.instruction, g.now()
	e.End = e.Start
	run := &g.Runs[len(g.Runs)-1]
	run.Events = append(run.Events, e)
	return backend.EventTracerEntry(len(run.Events) - 1)
}

// event is the event that began as e, in the last block.
func (g *Gen) event(e backend.EventTracerEntry) *Event {
	return &g.Runs[len(g.Runs)-1].Events[e]
}

func (g *Gen) now() int64 { return time.Since(g.epoch).Nanoseconds() }

// copyOf is a deep copy of v with its tensors in row-major order.
func copyOf(v *backend.Value) backend.Value {
	c := *v
	c.Ints, c.Floats = append([]int64(nil), v.Ints...), append([]float64(nil), v.Floats...)
	if v.Kind == op.Tensor {
		c.Tensor = npy.Ordered(v.Tensor, nil)
	}
	c.Tensors = make([]*tensor.Tensor, len(v.Tensors))
	for i, t := range v.Tensors {
		if t != nil {
			c.Tensors[i] = npy.Ordered(t, nil)
		}
	}
	return c
}
