package op

import "testing"

// TestTableOf gives one table for a list, and another one for another list.
func TestTableOf(t *testing.T) {
	list, other := []*Kernel{&AddF32, &MulF32}, []*Kernel{&AddF32, &SubF32}
	first := TableOf(list)
	if TableOf(list) != first {
		t.Error("two tables of one list")
	}
	if TableOf(list[:1]).Lookup("aten::mul.out", MulF32.DType) != nil || TableOf(other).Lookup("aten::sub.out", SubF32.DType) != &SubF32 {
		t.Error("a table of another list")
	}
	if TableOf(list).Lookup("aten::mul.out", MulF32.DType) != &MulF32 || TableOf(nil) == nil {
		t.Error("a table lacks a kernel")
	}
}
