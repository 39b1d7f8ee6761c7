package main

// The integer registers of fillRows, in the order of the fields of kernel.fillRows.
const (
	fillX = args + 1 + iota
	fillOut
	fillRows
	fillStep
	fillLast // a row's bytes less one
	fillAt
	fillLeft
)

// fillRowsF32 writes rows that each have one number all over. A row's last vector may reach into the next row, which is written later.
func fillRowsF32(m machine) {
	m.begin("fillRowsF32"+m.tier(), "fillRows")
	for p := fillX; p <= fillLast; p++ {
		m.get(p, args, int(p-fillX)*pointerSize)
	}
	width := m.lanes() * float32Size
	m.label("row")
	m.broadcast(0, fillX, 0)
	m.set(fillAt, fillOut, 1)
	m.set(fillLeft, fillLast, 1)
	m.label("vector")
	m.store(fillAt, 0, 0)
	m.add(fillAt, width)
	m.loop(fillLeft, width, "vector")
	m.addPtr(fillX, fillStep)
	m.addPtr(fillOut, fillLast)
	m.add(fillOut, 1)
	m.more(fillRows, "row")
	m.end()
}
