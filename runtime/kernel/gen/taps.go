package main

// The integer registers of taps; see Taps in package kernel for what they hold.
const (
	tapsOut     = args + 1
	tapsInputs  = args + 2
	tapsWeights = args + 3
	tapsLeft    = args + 4 // taps of a block that are left
	tapsIndex   = args + 5 // bytes into each line
	tapsBlocks  = args + 6
	tapsLine    = args + 7
	tapsStep    = args + 8
)

// Where the fields of kernel.Taps lie.
const (
	fieldInputs  = 0
	fieldWeights = 8
	fieldStep    = 16
	fieldTaps    = 24
	fieldOut     = 32
	fieldStart   = 40
	fieldFrom    = 48
	fieldBlocks  = 56
	fieldLow     = 64
	fieldHigh    = 68
)

// tapsF32 writes sums of lines, each times a weight: one weight for a whole line (Line), or one for each
// element (Each); by blocks of one vector and of more.
func tapsF32(m machine) {
	for _, k := range []taps{{m, "LineX1", 1, false}, {m, "LineX4", 4, false}, {m, "EachX1", 1, true}, {m, "EachX4", 4, true}} {
		k.write()
	}
}

type taps struct {
	machine
	name string
	nv   int
	each bool
}

func (t *taps) width() int     { return t.lanes() * float32Size }
func (t *taps) input() vec     { return vec(t.nv) }
func (t *taps) weight() vec    { return vec(t.nv + 1) }
func (t *taps) bounds() [2]vec { return [2]vec{vec(t.nv + 2), vec(t.nv + 3)} }

func (t *taps) write() {
	t.begin("taps"+t.name+t.tier(), "Taps")
	t.broadcast(t.bounds()[0], args, fieldLow)
	t.broadcast(t.bounds()[1], args, fieldHigh)
	t.get(tapsOut, args, fieldOut)
	t.get(tapsIndex, args, fieldFrom)
	t.get(tapsBlocks, args, fieldBlocks)
	t.get(tapsStep, args, fieldStep)
	t.label("block")
	t.start()
	t.get(tapsInputs, args, fieldInputs)
	t.get(tapsWeights, args, fieldWeights)
	t.get(tapsLeft, args, fieldTaps)
	t.label("tap")
	t.tap()
	t.add(tapsInputs, pointerSize)
	t.addPtr(tapsWeights, tapsStep)
	t.more(tapsLeft, "tap")
	for j := range t.nv {
		t.clamp(vec(j), t.bounds()[0], t.bounds()[1])
		t.storeAt(tapsOut, tapsIndex, j*t.width(), vec(j))
	}
	t.add(tapsIndex, t.nv*t.width())
	t.more(tapsBlocks, "block")
	t.end()
}

// pointerSize is the size of a pointer in bytes.
const pointerSize = 8

// start gives the sums of a block what they start at.
func (t *taps) start() {
	t.get(tapsLine, args, fieldStart)
	for j := range t.nv {
		switch {
		case t.each:
			t.loadAt(vec(j), tapsLine, tapsIndex, j*t.width())
		case j == 0:
			t.broadcast(vec(j), tapsLine, 0)
		default:
			t.copy(vec(j), vec(0))
		}
	}
}

// tap adds one line to the sums.
func (t *taps) tap() {
	t.get(tapsLine, tapsInputs, 0)
	if !t.each {
		t.broadcast(t.weight(), tapsWeights, 0)
	}
	for j := range t.nv {
		t.loadAt(t.input(), tapsLine, tapsIndex, j*t.width())
		if t.each {
			t.loadAt(t.weight(), tapsWeights, tapsIndex, j*t.width())
		}
		t.fma(vec(j), t.input(), t.weight())
	}
}
