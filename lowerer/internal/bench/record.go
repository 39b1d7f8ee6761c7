package bench

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Recorder is a tracer that adds up the time of every instruction, and of every step of a delegate.
type Recorder struct {
	steps  []*step
	byKey  map[key]*step
	open   []open
	last   *step
	at     key
	within int // steps of the delegate so far
	fused  []int
}

// key is an instruction's place, and which step of a delegate it is, from 1; 0 stands for the instruction itself, or what name runs in its
// place, of a delegate's whose parts run with others.
type key struct {
	chain, instruction, step int
	name                     string
}

const delegateCall = "DELEGATE_CALL"

// open is an event that has begun.
type open struct {
	step  *step
	start time.Time
}

// step is an instruction or a step of a delegate.
type step struct {
	key    key
	name   string
	fused  []int  // the instructions that run as this one
	result string // type and sizes of the first result
	work   backend.Work
	times  []time.Duration // of each call of the method
	count  int             // of this call
	took   time.Duration
}

// NewRecorder is a recorder of one instance's calls.
func NewRecorder() *Recorder { return &Recorder{byKey: map[key]*step{}} }

// CreateEventBlock begins a call, or the making of an instance.
func (r *Recorder) CreateEventBlock(string) { r.finish() }

// finish ends a call. What the steps of a delegate took is not its instruction's own time: this holds call by call, not for
// medians, since whatever interrupts a call interrupts one step of it.
func (r *Recorder) finish() {
	for _, s := range r.steps {
		if parent := r.byKey[key{s.key.chain, s.key.instruction, 0, delegateCall}]; s.key.step > 0 && parent != nil {
			parent.took = max(parent.took-s.took, 0)
		}
	}
	for _, s := range r.steps {
		if s.took > 0 {
			s.times = append(s.times, s.took)
		}
		s.took = 0
	}
}

// Reset forgets all times, those of the calls that were a warm-up.
func (r *Recorder) Reset() {
	for _, s := range r.steps {
		s.times, s.took, s.count = nil, 0, 0
	}
}

// SetChainDebugHandle says where the events that follow belong.
func (r *Recorder) SetChainDebugHandle(chain, instruction int) {
	r.at, r.within, r.fused = key{chain, instruction, 0, ""}, 0, nil
}

// LogFused says which instructions run as the one that begins next.
func (r *Recorder) LogFused(instructions []int) { r.fused = instructions }

// StartProfiling begins an instruction. Chain -1 is a method as a whole.
func (r *Recorder) StartProfiling(name string) backend.EventTracerEntry {
	if r.at.chain < 0 {
		return r.begin(nil)
	}
	k := r.at
	k.name = strings.TrimPrefix(name, "native_call_")
	s := r.stepAt(k, k.name)
	if s.fused = r.fused; s.fused == nil {
		s.fused = []int{r.at.instruction}
	}
	return r.begin(s)
}

func (r *Recorder) stepAt(k key, name string) *step {
	s := r.byKey[k]
	if s == nil {
		s = &step{key: k, name: name}
		r.byKey[k] = s
		r.steps = append(r.steps, s)
	}
	return s
}

func (r *Recorder) begin(s *step) backend.EventTracerEntry {
	r.open = append(r.open, open{s, time.Now()})
	return backend.EventTracerEntry(len(r.open) - 1)
}

// EndProfiling ends an instruction.
func (r *Recorder) EndProfiling(e backend.EventTracerEntry) {
	now := time.Now()
	o := r.open[e]
	r.open = r.open[:e]
	if o.step == nil {
		return
	}
	o.step.took += now.Sub(o.start)
	o.step.count++
	r.last = o.step
}

// StartProfilingDelegate begins a step of a delegate.
func (r *Recorder) StartProfilingDelegate(name string, id int64) backend.EventTracerEntry {
	r.within++
	k := r.at
	k.step = r.within
	if name == "" {
		name = strconv.FormatInt(id, 10)
	}
	return r.begin(r.stepAt(k, name))
}

// EndProfilingDelegate ends a step. What the backend says about it, the type of a node, becomes its name.
func (r *Recorder) EndProfilingDelegate(e backend.EventTracerEntry, metadata []byte) {
	r.EndProfiling(e)
	if len(metadata) > 0 && r.last != nil {
		r.last.name = string(metadata)
	}
}

// LogWork takes the work of the step that ended last.
func (r *Recorder) LogWork(w backend.Work) {
	if r.last != nil {
		r.last.work = w
	}
}

// LogEvalue takes a result.
func (r *Recorder) LogEvalue(v *executor.Value, output bool) {
	if !output {
		r.took(v)
	}
}

// LogIntermediateOutputDelegate takes a result of a delegate's step.
func (r *Recorder) LogIntermediateOutputDelegate(_ string, _ int64, v *backend.Value) { r.took(v) }

func (r *Recorder) took(v *executor.Value) {
	if r.last != nil && r.last.result == "" && v.Kind == executor.Tensor && v.Tensor != nil {
		r.last.result = Shape(v.Tensor)
	}
}

// Shape is a tensor's type and sizes: float32[1, 3].
func Shape(t *tensor.Tensor) string {
	var sizes []string
	for _, n := range t.Sizes {
		sizes = append(sizes, strconv.FormatInt(n, 10))
	}
	return t.DType.String() + "[" + strings.Join(sizes, ", ") + "]"
}

// median is the middle one; 0 of none.
func median(list []time.Duration) time.Duration {
	if len(list) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(list))[len(list)/2]
}
