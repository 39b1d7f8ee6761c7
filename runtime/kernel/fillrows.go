package kernel

import "unsafe"

// fillRows is what a kernel of rows that each have one number all over gets. Its layout is known to the generator.
type fillRows struct {
	x, out unsafe.Pointer
	rows   uintptr
	step   uintptr // bytes from a number to the next one
	last   uintptr // a row's bytes less one
}

// FillRoom is how many elements behind its rows FillRowsF32 may write.
const FillRoom = maxLanes

// FillRowsF32 sets each of so many rows of width elements, which follow one another in o, to a number: x has one for each row, step
// elements apart. It may change FillRoom elements behind them, and reports whether t has a kernel for it.
func FillRowsF32(t Tier, o []float32, rows, width int, x []float32, step int) bool {
	if t == Scalar {
		return false
	}
	if rows == 0 || width == 0 {
		return true
	}
	_, _ = o[rows*width+FillRoom-1], x[(rows-1)*step]
	most := max(1, mapMost/width)
	for lo := 0; lo < rows; lo += most {
		f := fillRows{x: unsafe.Pointer(&x[lo*step]), out: unsafe.Pointer(&o[lo*width]), rows: uintptr(min(most, rows-lo)),
			step: uintptr(step) * unsafe.Sizeof(x[0]), last: uintptr(width)*unsafe.Sizeof(o[0]) - 1}
		f.run(t)
	}
	return true
}
