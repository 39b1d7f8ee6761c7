package main

// The integer registers of a where, in the order of the fields of kernel.where.
const (
	whereCond = args + 1 + iota
	whereX
	whereY
	whereOut
	whereBlocks
	whereXStep
	whereYStep
)

// whereF32 writes a choice between two lines, vector by vector.
func whereF32(m machine) {
	const cond, no, none = 0, 1, 2
	m.begin("whereF32"+m.tier(), "where")
	for p := whereCond; p <= whereYStep; p++ {
		m.get(p, args, int(p-whereCond)*pointerSize)
	}
	m.bitwise('^', none, none, none)
	m.label("vector")
	m.(integers).loadBytes(cond, whereCond, 0, false)
	m.toFloat(cond, cond)
	m.compare('=', no, cond, none)
	m.load(cond, whereX, 0)
	m.load(cond+3, whereY, 0)
	m.choose(cond, no, cond+3)
	m.store(whereOut, 0, cond)
	m.add(whereCond, m.lanes())
	m.add(whereOut, m.lanes()*float32Size)
	m.addPtr(whereX, whereXStep)
	m.addPtr(whereY, whereYStep)
	m.more(whereBlocks, "vector")
	m.end()
}
