package main

// The integer registers of rows of softmax; see soft in package kernel for what they hold. The table is where functions of
// lines have it.
const (
	softX     = args + 1
	softOut   = args + 2
	softRows  = args + 3
	softLeft  = args + 4
	softState = args + 6
	softFrom  = args + 7
	softTo    = args + 8
	softStep  = args + 9
)

// Where the fields of kernel.soft lie.
const (
	softXAt         = 0
	softOutAt       = 8
	softXStrideAt   = 16
	softOutStrideAt = 24
	softRowsAt      = 32
	softVectorsAt   = 40
	softStateAt     = 48
	softTableAt     = 56
	softScaleAt     = 64
)

// softs writes rows of softmax for a machine. Whole ones have no state and no scale, and are divided by their sums.
type softs struct {
	maps
	whole bool
}

// softF32 writes the exponentials of rows and their sums.
func softF32(m machine) {
	for _, whole := range []bool{false, true} {
		(&softs{maps{m}, whole}).write()
	}
}

func (s softs) write() {
	name := "softF32"
	if s.whole {
		name = "softWholeF32"
	}
	s.begin(name+s.tier(), "soft")
	s.get(softX, args, softXAt)
	s.get(softOut, args, softOutAt)
	s.get(softRows, args, softRowsAt)
	s.get(lineTable, args, softTableAt)
	if !s.whole {
		s.get(softState, args, softStateAt)
		s.broadcast(s.scale(), args, softScaleAt)
	}
	s.label("row")
	s.top()
	s.exponentials()
	s.quotients()
	for _, p := range []struct {
		at    ptr
		field int
	}{{softX, softXStrideAt}, {softOut, softOutStrideAt}} {
		s.get(softStep, args, p.field)
		s.addPtr(p.at, softStep)
	}
	if !s.whole {
		s.add(softState, 3*s.width())
	}
	s.more(softRows, "row")
	s.end()
}

func (s softs) width() int { return s.lanes() * float32Size }

// block is how many vectors are taken at a time; each has a sum, and registers of its own.
func (s softs) block() int {
	return sideBySide(s.machine, s.vectors()-2, softRegisters+1, softConstants)
}

// softRegisters is how many vectors an exponential needs, and softConstants the one of them that has constants.
const softRegisters, softConstants = 4, 3

func (s softs) sum(j int) vec { return vec(j) }
func (s softs) shift() vec    { return vec(s.block()) }
func (s softs) scale() vec    { return vec(s.block() + 1) }
func (s softs) registers(j int) []vec {
	return registersOf(s.machine, vec(s.block()+2), j, softRegisters, softConstants)
}

// row writes emit for all vectors of a row, in blocks and one by one, with pointers to where they are and go.
func (s softs) row(name string, emit func(vectors int)) {
	s.set(softFrom, softX, 1)
	s.set(softTo, softOut, 1)
	s.get(softLeft, args, softVectorsAt)
	s.less(softLeft, s.block(), name+"Rest")
	s.label(name + "Block")
	emit(s.block())
	s.loop(softLeft, s.block(), name+"Block")
	s.label(name + "Rest")
	s.add(softLeft, s.block())
	s.less(softLeft, 1, name+"End")
	s.label(name + "One")
	emit(1)
	s.loop(softLeft, 1, name+"One")
	s.label(name + "End")
}

// top makes shift the larger of the state's top, and scale times the largest element.
func (s softs) top() {
	for j := range s.block() {
		s.bits(s.sum(j), infBits|signBit)
	}
	s.row("top", func(n int) {
		for j := range n {
			v := s.registers(j)[0]
			s.load(v, softFrom, j*s.width())
			s.larger(s.sum(j), s.sum(j), v)
		}
		s.machine.add(softFrom, n*s.width())
	})
	s.join(func(to, x vec) { s.larger(to, to, x) })
	t := s.registers(0)[0]
	if s.whole {
		s.copy(s.shift(), s.sum(0))
	} else {
		s.arith('*', s.shift(), s.sum(0), s.scale())
		s.load(t, softState, 0)
		s.larger(s.shift(), s.shift(), t)
	}
	s.bits(t, lowestBits) // infinity less infinity is no number
	s.larger(s.shift(), s.shift(), t)
}

// lowestBits are the bits of the least number that is finite.
const lowestBits = 0xff7fffff

// join makes all lanes of sum 0 what op makes of all lanes of the sums.
func (s softs) join(op func(to, x vec)) {
	for j := 1; j < s.block(); j++ {
		op(s.sum(0), s.sum(j))
	}
	t := s.registers(0)[0]
	for n := s.lanes() / 2; n > 0; n /= 2 {
		s.swapLanes(t, s.sum(0), n)
		op(s.sum(0), t)
	}
}

// exponentials writes exp(scale·x - shift), and brings the state up to date.
func (s softs) exponentials() {
	for j := range s.block() {
		s.constant(s.sum(j), 0)
	}
	s.row("exp", func(n int) {
		s.beside(n, func(j int) {
			r := s.registers(j)
			s.load(r[0], softFrom, j*s.width())
			if !s.whole {
				s.arith('*', r[0], r[0], s.scale())
			}
			s.arith('-', r[0], r[0], s.shift())
			s.expNormal(r)
			s.store(softTo, j*s.width(), r[0])
			s.arith('+', s.sum(j), s.sum(j), r[0])
		})
		s.machine.add(softFrom, n*s.width())
		s.machine.add(softTo, n*s.width())
	})
	s.join(func(to, x vec) { s.arith('+', to, to, x) })
	if s.whole {
		return
	}
	r := s.registers(0)
	s.load(r[0], softState, 0)
	s.arith('-', r[0], r[0], s.shift())
	s.expNormal(r)
	s.load(r[1], softState, s.width())
	s.fma(s.sum(0), r[1], r[0])
	s.store(softState, 0, s.shift())
	s.store(softState, s.width(), s.sum(0))
	s.store(softState, 2*s.width(), r[0])
}

// quotients divides a whole row by the sum.
func (s softs) quotients() {
	if !s.whole {
		return
	}
	r := s.registers(0)
	s.constant(r[1], 1)
	s.arith('/', r[1], r[1], s.sum(0))
	s.row("quotient", func(n int) {
		for j := range n {
			v := s.sum(j)
			s.load(v, softTo, j*s.width())
			s.arith('*', v, v, r[1])
			s.store(softTo, j*s.width(), v)
		}
		s.machine.add(softTo, n*s.width())
	})
}

// softGo is the function that calls the rows of softmax of an architecture.
func softGo(arch string) []byte {
	b := goFile(arch)
	runsGo(b, arch, "soft", "run", "computes rows", "softF32")
	runsGo(b, arch, "soft", "whole", "computes rows that are divided by their sums", "softWholeF32")
	return formatted(b.Bytes())
}
