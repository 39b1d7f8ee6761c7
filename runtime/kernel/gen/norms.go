package main

// The integer registers of rows that are normalized; see norm in package kernel for what they hold.
const (
	normX       = args + 1
	normOut     = args + 2
	normRows    = args + 3
	normMoments = args + 4
	normLeft    = args + 5
	normFrom    = args + 6
	normTo      = args + 7
	normA       = args + 8
	normB       = args + 9
	normStep    = args + 10
	normBStep   = args + 11
)

// Where the fields of kernel.norm lie.
const (
	normXAt       = 0
	normOutAt     = 8
	normAAt       = 16
	normBAt       = 24
	normMomentsAt = 32
	normStrideAt  = 40
	normRowsAt    = 48
	normVectorsAt = 56
	normAStepAt   = 64
	normBStepAt   = 72
	normLastAt    = 80
	normALastAt   = 88
	normBLastAt   = 96
	normMaskAt    = 104
	normCountAt   = 112
	normEpsAt     = 116
	normOneAt     = 120
)

// normSums is how many vectors are added up side by side.
const normSums = 4

// norms writes rows that are normalized by their moments.
type norms struct{ machine }

// The vectors: sums are the first ones, then come as many of elements.
func (n norms) sum(j int) vec  { return vec(j) }
func (n norms) item(j int) vec { return vec(normSums + j) }
func (n norms) mean() vec      { return 2 * normSums }
func (n norms) rstd() vec      { return 2*normSums + 1 }
func (n norms) mask() vec      { return 2*normSums + 2 }
func (n norms) last() vec      { return 2*normSums + 3 } // of the row, as it was
func (n norms) width() int     { return n.lanes() * float32Size }

func normsF32(m machine) {
	n := norms{m}
	n.begin("normF32"+n.tier(), "norm")
	n.get(normX, args, normXAt)
	n.get(normOut, args, normOutAt)
	n.get(normRows, args, normRowsAt)
	n.get(normMoments, args, normMomentsAt)
	n.get(normFrom, args, normMaskAt)
	n.load(n.mask(), normFrom, 0)
	n.label("row")
	n.set(normFrom, normX, 1)
	n.loadLast(n.last(), normFrom, normLastAt)
	n.average("mean", func(int) {}, func(j int) { n.arith('+', n.sum(j), n.sum(j), n.item(j)) })
	n.copy(n.mean(), n.sum(0))
	n.average("square", func(j int) { n.arith('-', n.item(j), n.item(j), n.mean()) }, func(j int) { n.fma(n.sum(j), n.item(j), n.item(j)) })
	n.broadcast(n.item(0), args, normEpsAt)
	n.arith('+', n.sum(0), n.sum(0), n.item(0))
	n.sqrt(n.sum(0), n.sum(0))
	n.broadcast(n.item(0), args, normOneAt)
	n.arith('/', n.rstd(), n.item(0), n.sum(0))
	n.store(normMoments, 0, n.mean())
	n.store(normMoments, n.width(), n.rstd())
	n.add(normMoments, 2*n.width())
	n.results()
	n.get(normStep, args, normStrideAt)
	n.addPtr(normX, normStep)
	n.addPtr(normOut, normStep)
	n.more(normRows, "row")
	n.end()
}

// average makes all lanes of sum 0 the mean of what add adds of item j to sum j, after prepare.
func (n norms) average(name string, prepare, add func(j int)) {
	for j := range normSums {
		n.bitwise('^', n.sum(j), n.sum(j), n.sum(j))
	}
	take := func(count int) {
		for j := range count {
			n.load(n.item(j), normFrom, j*n.width())
		}
		for j := range count {
			prepare(j)
		}
		for j := range count {
			add(j)
		}
		n.add(normFrom, count*n.width())
	}
	n.set(normFrom, normX, 1)
	n.get(normLeft, args, normVectorsAt)
	n.less(normLeft, normSums, name+"Rest")
	n.label(name + "Block")
	take(normSums)
	n.loop(normLeft, normSums, name+"Block")
	n.label(name + "Rest")
	n.add(normLeft, normSums)
	n.less(normLeft, 1, name+"Last")
	n.label(name + "One")
	take(1)
	n.loop(normLeft, 1, name+"One")
	n.label(name + "Last")
	n.copy(n.item(0), n.last())
	prepare(0)
	n.bitwise('&', n.item(0), n.item(0), n.mask())
	add(0)
	for j := 1; j < normSums; j++ {
		n.arith('+', n.sum(0), n.sum(0), n.sum(j))
	}
	for k := n.lanes() / 2; k > 0; k /= 2 {
		n.swapLanes(n.item(0), n.sum(0), k)
		n.arith('+', n.sum(0), n.sum(0), n.item(0))
	}
	n.broadcast(n.item(0), args, normCountAt)
	n.arith('/', n.sum(0), n.sum(0), n.item(0))
}

// results writes a row. Its last vector comes last, with what was there before results were written.
func (n norms) results() {
	n.set(normFrom, normX, 1)
	n.set(normTo, normOut, 1)
	n.get(normA, args, normAAt)
	n.get(normB, args, normBAt)
	n.get(normStep, args, normAStepAt)
	n.get(normBStep, args, normBStepAt)
	n.get(normLeft, args, normVectorsAt)
	n.less(normLeft, 1, "resultLast")
	n.label("result")
	n.load(n.item(0), normFrom, 0)
	n.load(n.item(1), normA, 0)
	n.load(n.item(2), normB, 0)
	n.result(n.item(0))
	n.store(normTo, 0, n.item(2))
	n.add(normFrom, n.width())
	n.add(normTo, n.width())
	n.addPtr(normA, normStep)
	n.addPtr(normB, normBStep)
	n.loop(normLeft, 1, "result")
	n.label("resultLast")
	n.get(normA, args, normAAt)
	n.get(normB, args, normBAt)
	n.loadLast(n.item(1), normA, normALastAt)
	n.loadLast(n.item(2), normB, normBLastAt)
	n.result(n.last())
	n.set(normTo, normOut, 1)
	n.get(normStep, args, normLastAt)
	n.addPtr(normTo, normStep)
	n.store(normTo, 0, n.item(2))
}

// result makes item 2 what x, which changes, becomes with the factor of item 1 and the addend of item 2.
func (n norms) result(x vec) {
	n.arith('-', x, x, n.mean())
	n.arith('*', x, x, n.rstd())
	n.fma(n.item(2), x, n.item(1))
}

// loadLast loads the last vector of a line, which begins field bytes behind from, and moves from there.
func (n norms) loadLast(v vec, from ptr, field int) {
	n.get(normStep, args, field)
	n.addPtr(from, normStep)
	n.load(v, from, 0)
}
